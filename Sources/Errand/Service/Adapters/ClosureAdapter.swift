public import Foundation

/// An adapter in the form of a closure, as `adapting(_:)` of each kind of adapter returns it.
///
/// ```swift
/// service.requestAdapters = [.adapting { request, _ in request.headers["X-Client"] = "ios" }]
/// ```
public struct ClosureAdapter<Subject>: Sendable {
    /// Changes the subject.
    public typealias Change = @Sendable (inout Subject, AdapterContext) async throws -> Void

    private let change: Change

    fileprivate init(_ change: @escaping Change) {
        self.change = change
    }

    /// Calls the closure.
    public func adapt(_ subject: inout Subject, context: AdapterContext) async throws {
        try await change(&subject, context)
    }
}

extension ClosureAdapter: ParamAdapter where Subject == APIParams? {}
extension ClosureAdapter: RequestAdapter where Subject == HTTPRequest {}
extension ClosureAdapter: ResponseAdapter where Subject == APIResponse {}
extension ClosureAdapter: DataAdapter where Subject == Data {}

extension ParamAdapter where Self == ClosureAdapter<APIParams?> {
    /// Returns an adapter that calls `change` with the parameters of each send, which are `nil` if there are none; on any thread.
    public static func adapting(_ change: @escaping ClosureAdapter<APIParams?>.Change) -> Self { Self(change) }
}

extension RequestAdapter where Self == ClosureAdapter<HTTPRequest> {
    /// Returns an adapter that calls `change` with each request; on any thread.
    public static func adapting(_ change: @escaping ClosureAdapter<HTTPRequest>.Change) -> Self { Self(change) }
}

extension ResponseAdapter where Self == ClosureAdapter<APIResponse> {
    /// Returns an adapter that calls `change` with each answer; on any thread.
    public static func adapting(_ change: @escaping ClosureAdapter<APIResponse>.Change) -> Self { Self(change) }
}

extension DataAdapter where Self == ClosureAdapter<Data> {
    /// Returns an adapter that calls `change` with the data of each success; on any thread.
    public static func adapting(_ change: @escaping ClosureAdapter<Data>.Change) -> Self { Self(change) }
}
