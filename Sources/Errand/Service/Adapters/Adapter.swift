/// A closure or a method of the app that changes the parameters, requests, responses, data or failures of loads.
///
/// ```swift
/// service.adapters.request = [Adapter { request, context in request.headers["X-Attempt"] = "\(context.attempt)" }]
/// ```
///
/// See ``Adapters`` for the subjects, and for when each is adapted.
public struct Adapter<Subject>: Sendable {
    package typealias Change = @Sendable (inout Subject, AdapterContext) async throws -> Void

    /// The name of the adapter in the reason of an error; must not contain secrets.
    public let name: String
    /// Finds the adapter again; `nil` for a closure.
    package let owner: (any Sendable)?
    package let adapt: Change

    /// Creates an adapter.
    ///
    /// - Parameters:
    ///   - name: The name of the adapter in the reason of an error; must not contain secrets.
    ///   - adapt: Changes the subject; called on any thread, for each attempt. Throw an ``APIError`` to fail the attempt as if the
    ///     exchange had failed with that error, or ``AdapterRetry`` to have the load sent again. Any other error becomes the
    ///     underlying error of an `APIError`: of `invalidRequest` for parameters and requests, of `decoding` for responses and
    ///     data, and of the failure's own type for failures.
    public init(
        _ name: String = "an adapter",
        _ adapt: @escaping @Sendable (inout Subject, AdapterContext) async throws -> Void
    ) {
        (self.name, self.adapt, owner) = (name, adapt, nil)
    }

    package init<Owner: Sendable>(of owner: Owner, _ adapt: @escaping Change) {
        (name, self.adapt, self.owner) = ("\(Owner.self)", adapt, owner)
    }
}

extension Adapter: RedactedDescription {
    /// The name alone, because a closure may have captured a key.
    public var description: String { name }
}

/// An error that an adapter throws to have the load sent again, whatever its method, at most once for each load, and for each
/// connection of an event stream.
///
/// That a load is sent again with a corrected clock or a new session key of `ErrandSigning`, or for the whole of a download that
/// cannot be continued, does not count.
///
/// The load waits by the clock of the proxy, without a place in the queue, and can be cancelled meanwhile. The new attempt counts
/// neither as a retry of the ``RetryPolicy`` nor as the attempt after a relogin. Thrown a second time in one load, this error
/// fails the load: with `invalidRequest` from an adapter of parameters or requests, with `decoding` from an adapter of responses
/// or data. From an adapter of failures, it is then ignored.
public struct AdapterRetry: Error, Sendable {
    /// How long to wait before the load is sent again.
    package let delay: Duration
    package let cause: Cause

    /// Returns the error that has the load sent again after a delay; without delay by default.
    public static func again(after delay: Duration = .zero) -> AdapterRetry { AdapterRetry(delay: delay, cause: .app) }

    package static func again(for cause: Cause) -> AdapterRetry { AdapterRetry(delay: .zero, cause: cause) }

    /// Why loads are sent again: once for each cause.
    package struct Cause: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let app = Cause(rawValue: 1)
        package static let clock = Cause(rawValue: 2)
        package static let key = Cause(rawValue: 4)
        /// What is left of a download.
        static let part = Cause(rawValue: 8)
    }
}
