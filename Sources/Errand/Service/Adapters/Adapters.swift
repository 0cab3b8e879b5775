public import Foundation

/// The adapters of a service or a request, which change what each attempt of a load sends and receives.
///
/// For each attempt of a load, also after a relogin and before a retry, the adapters of ``APIService/adapters`` are called in
/// order, then those of ``APIRequestOptions/adapters``. They run in the task of the load, which is cancelled with the load;
/// ``APIEnvironment/current`` is the environment of the load. Adapters may wait for other loads, as ``APIService/commonHeaders``
/// may. While ``params`` and ``request`` adapters run, the load counts against ``QueueLimits``, but ``APIService/timeout`` does
/// not run. With a cache, they are also called before a stored response is looked for, and then once more for a load that has to
/// queue.
///
/// No adapters are called for ``APIProxy/send(_:progress:)``. For a link from the server to another origin
/// (``PageStrategy/allowedOrigins``), neither ``params`` nor ``request`` adapters are called.
public struct Adapters: Sendable {
    /// Change the merged parameters before they are encoded: ``APIService/commonParams``, those of the load, and those that a
    /// list adds for a page; `nil` if there are none.
    ///
    /// Each `{name}` in the path is replaced by an adapted parameter. Not called for ``APIProxy/send(_:to:progress:)``.
    public var params: [Adapter<APIParams?>]
    /// Change each request as the last step, for instance to sign it.
    ///
    /// The request has its headers and its body, but not yet its cookies. Redirects are not adapted. A load with
    /// ``APIRequestOptions/coalescesIdentical`` is adapted before it queues, and shares an exchange only if its adapted request
    /// is identical. An adapter that makes each request different, for instance with a nonce, prevents sharing.
    public var request: [Adapter<HTTPRequest>]
    /// Change each response, for instance to verify and decrypt it.
    ///
    /// Called after redirects, for a response with any status, before a relogin or a retry is decided, and before the envelope is
    /// read. A response that is stored in a file has its ``APIResponse/file`` and no body. If loads share an exchange, the
    /// response is adapted for each load separately. Also called for a response from another origin, to which a link of the
    /// server or a redirect leads, so that no response evades verification; ``APIResponse/url`` is the URL that sent it. The load
    /// has no place in the queue during the call.
    public var response: [Adapter<APIResponse>]
    /// Change the JSON under the envelope's data key, or the whole body without an envelope, before it is decoded.
    ///
    /// Called for a success whose JSON is decoded. Not called for `Data`, `Void`, a ``DownloadedFile``, a `String` outside of an
    /// envelope, a response without content, or ``APIProxy/send(_:to:progress:)``. Called for an app's ``ResponseSerializer`` if
    /// the response is JSON. A missing value under the envelope's data key is not adapted; `null` is. Afterwards,
    /// ``APIResponse/body`` contains the changed data.
    public var data: [Adapter<Data>]
    /// Receive each failure, with or without a response; may replace it, or throw ``AdapterRetry`` to have the load sent again.
    ///
    /// Called when an attempt has failed, also if its login could not be renewed, before ``RetryPolicy`` handles the resulting
    /// failure. Its ``APIError/message`` is the final text: the server's, or that of ``APIService/errorMessages``. An error
    /// that an adapter throws replaces the failure for the following adapters. A second ``AdapterRetry`` in the same load is
    /// ignored, so that the failure ends the load.
    ///
    /// Not called for a load that is cancelled, fails before its turn, exceeds its deadline, or has its response refused by a
    /// validator; nor for a failure that a relogin repairs, or for a lost connection of an event stream that connects again.
    /// Not called for the status of ``APIProxy/send(_:to:progress:)``, where no status is a failure.
    public var failure: [Adapter<APIError>]

    /// Creates adapters, none by default.
    public init(
        params: [Adapter<APIParams?>] = [],
        request: [Adapter<HTTPRequest>] = [],
        response: [Adapter<APIResponse>] = [],
        data: [Adapter<Data>] = [],
        failure: [Adapter<APIError>] = []
    ) {
        (self.params, self.request, self.response) = (params, request, response)
        (self.data, self.failure) = (data, failure)
    }

    var isEmpty: Bool { params.isEmpty && request.isEmpty && !adaptsResponses && failure.isEmpty }

    /// Whether some of them change what has arrived.
    var adaptsResponses: Bool { !response.isEmpty || !data.isEmpty }

    mutating func append(_ other: Adapters) {
        params += other.params
        request += other.request
        response += other.response
        data += other.data
        failure += other.failure
    }
}

extension APIService {
    func adapt(_ params: APIParams?, in context: AdapterContext) async throws(APIError) -> APIParams? {
        try await adapt(params, "the parameters", by: adapters.params, context, or: .invalidRequest)
    }

    func adapt(_ request: HTTPRequest, in context: AdapterContext) async throws(APIError) -> HTTPRequest {
        try await adapt(request, "the request", by: adapters.request, context, or: .invalidRequest)
    }

    func adapt(_ response: APIResponse, in context: AdapterContext) async throws(APIError) -> APIResponse {
        let adapted = try await adapt(response, "the response", by: adapters.response, context, or: .decoding)
        guard adapted.file == nil || adapted.body.isEmpty else {
            let reason = "a response adapter has set the body of a response that is stored in a file"
            throw APIError(.decoding, reason: reason, response: response)
        }
        return adapted.withFile(of: response)
    }

    func adapt(_ data: Data, of response: APIResponse, in context: AdapterContext) async throws(APIError) -> Data {
        try await adapt(data, "the data", by: adapters.data, context, or: .decoding, of: response)
    }

    /// `failure` is the type of an error that is not one of this library.
    private func adapt<Subject>(
        _ subject: Subject,
        _ what: String,
        by adapters: [Adapter<Subject>],
        _ context: AdapterContext,
        or failure: APIErrorType,
        of response: APIResponse? = nil
    ) async throws(APIError) -> Subject {
        var subject = subject
        for adapter in adapters {
            do {
                guard !Task.isCancelled else { throw APIError(.cancelled) }
                subject = try await apply(adapter, to: subject, context)
            } catch let retry as AdapterRetry {
                let reason = "\(adapter.name) has thrown AdapterRetry, the second one of this load"
                throw APIError(failure, reason: reason, underlying: RequestedRetry(retry: retry))
                    .withResponse(ifMissing: subject as? APIResponse ?? response)
            } catch {
                throw self.failure(from: error, reason: "\(adapter.name) could not adapt \(what)", as: failure)
                    .withResponse(ifMissing: subject as? APIResponse ?? response)
            }
        }
        return subject
    }

    private func apply<Subject>(
        _ adapter: Adapter<Subject>,
        to subject: Subject,
        _ context: AdapterContext
    ) async throws -> Subject {
        try await EnvironmentScope.runForLoad(in: environment) {
            var changed = subject
            try await adapter.adapt(&changed, context)
            return changed
        }
    }

    /// An adapter may have the load sent again if `mayRetry` allows that, which counts it.
    func adapt(
        _ failure: APIError,
        in context: AdapterContext,
        mayRetry: (AdapterRetry.Cause) -> Bool
    ) async throws(APIError) -> (APIError, AdapterRetry?) {
        var error = failure
        for adapter in adapters.failure {
            guard !Task.isCancelled else { throw APIError(.cancelled) }
            do {
                error = try await apply(adapter, to: error, context)
            } catch let retry as AdapterRetry {
                if mayRetry(retry.cause) { return (error, retry) }
            } catch let thrown {
                let reason = "\(adapter.name) could not adapt the failure"
                error = self.failure(from: thrown, reason: reason, as: error.type)
                    .withResponse(ifMissing: failure.response)
            }
        }
        return (error, nil)
    }
}

/// Below a failure after which the load is to be sent again.
private struct RequestedRetry: Error {
    let retry: AdapterRetry
}

extension TransportError {
    /// This error, after which the load is sent again once.
    var askingForRetry: TransportError {
        TransportError(kind, reason, underlying: RequestedRetry(retry: .again(for: .part)))
    }
}

extension APIError {
    var requestedRetry: AdapterRetry? {
        ((underlying as? RequestedRetry) ?? (underlying as? TransportError)?.underlying as? RequestedRetry)?.retry
    }

    var withoutRequestedRetry: APIError {
        guard let retry = requestedRetry else { return self }
        // No adapter of the app has asked for that of a part.
        return caused(by: APIError(type, reason: reason, underlying: retry.cause == .part ? nil : retry))
    }
}

/// Why an adapter has refused a content: it is another one than was announced, or none of the kind that was requested.
package struct DigestMismatch: Error {
    package init() {}
}
