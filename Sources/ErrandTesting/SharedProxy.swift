public import Errand

/// Replaces `APIProxy.shared` by `proxy` while `work` runs, in this task and the tasks that it starts.
///
/// Detached tasks and other tests that run at the same time are not affected. A request takes its proxy when it is
/// created, so create screens and requests inside `work`.
///
/// - Parameters:
///   - proxy: The value of `APIProxy.shared` meanwhile.
///   - work: The function to call, usually the body of a test.
/// - Returns: The result of `work`.
public func withSharedProxy<Value>(_ proxy: APIProxy, _ work: () async throws -> Value) async rethrows -> Value {
    try await SharedProxyScope.$replacement.withValue(proxy, operation: work)
}
