/// Changes the parameters, the requests, the responses, the data or the failures of loads, as a closure or by a method of the app.
///
/// ```swift
/// service.adapters.request = [Adapter { request, context in request.headers["X-Attempt"] = "\(context.attempt)" }]
/// ```
///
/// ``Adapters`` has the subjects, and when each is adapted.
public struct Adapter<Subject>: Sendable {
    /// Changes the subject, at each send, on any thread.
    ///
    /// It throws an ``APIError``, as if the exchange had failed with it, or ``AdapterRetry`` for another try. Anything else is an
    /// `invalidRequest` of an adapter of parameters or requests, a `decoding` of one of responses or data, and
    /// of one of failures it has the type of the failure.
    public typealias Change = @Sendable (inout Subject, AdapterContext) async throws -> Void

    /// What the reason of an error calls the adapter; free of secrets.
    public let name: String
    /// Finds the adapter again; `nil` for a closure.
    package let owner: (any Sendable)?
    package let adapt: Change

    /// Creates an adapter.
    ///
    /// - Parameters:
    ///   - name: What the reason of an error calls it; free of secrets.
    ///   - adapt: Changes the subject.
    public init(_ name: String = "an adapter", _ adapt: @escaping Change) {
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
