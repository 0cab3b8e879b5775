public import Foundation

/// Changes the merged parameters of a load before they are encoded.
///
/// Called at every send, in the order of ``APIService/paramAdapters``, then in that of the request; on any thread.
public protocol ParamAdapter: Sendable {
    /// Changes the parameters.
    ///
    /// - Parameters:
    ///   - params: Those of the load and of the service, merged; `nil` for none.
    ///   - context: The send for which they are changed.
    /// - Throws: An ``APIError``, as if the exchange had failed with it; ``AdapterRetry`` for another try; anything else is `invalidRequest`.
    func adapt(_ params: inout APIParams?, context: AdapterContext) async throws
}

/// Changes a request that is complete except for its cookies, for example to sign it.
///
/// Called at every send, in the order of ``APIService/requestAdapters``, then in that of the request; on any thread.
public protocol RequestAdapter: Sendable {
    /// Changes the request.
    ///
    /// - Throws: An ``APIError``, as if the exchange had failed with it; ``AdapterRetry`` for another try; anything else is `invalidRequest`.
    func adapt(_ request: inout HTTPRequest, context: AdapterContext) async throws
}

/// Changes an answer before its envelope is read, for example to verify and decrypt it.
///
/// Called for every answer, in the order of ``APIService/responseAdapters``, then in that of the request; on any thread.
public protocol ResponseAdapter: Sendable {
    /// Changes the answer.
    ///
    /// - Throws: An ``APIError``, as if the exchange had failed with it; ``AdapterRetry`` for another try; anything else is `decoding`.
    func adapt(_ response: inout APIResponse, context: AdapterContext) async throws
}

/// Changes the data under the envelope before it is decoded.
///
/// Called for every success of which something is decoded, in the order of ``APIService/dataAdapters``, then in that of the
/// request; on any thread.
public protocol DataAdapter: Sendable {
    /// Changes the data.
    ///
    /// - Parameters:
    ///   - data: The JSON under the envelope, or the whole body without one.
    ///   - context: The send that it answers.
    /// - Throws: An ``APIError``, as if the exchange had failed with it; ``AdapterRetry`` for another try; anything else is `decoding`.
    func adapt(_ data: inout Data, context: AdapterContext) async throws
}

/// Thrown by an adapter to have the load sent again, whatever its method, at most once for each load.
///
/// The load waits by the clock of the proxy, without a place in the queue, and can be cancelled meanwhile. It is neither a retry
/// of the ``RetryPolicy`` nor the replay after a relogin. The second time in one load it is a failure: `invalidRequest` from an
/// adapter of parameters or requests, `decoding` from one of answers or data.
public struct AdapterRetry: Error, Sendable {
    /// How long to wait before the load is sent again.
    public let delay: Duration

    /// Returns the error that has the load sent again after a delay, none by default.
    public static func again(after delay: Duration = .zero) -> AdapterRetry { AdapterRetry(delay: delay) }
}
