public import Errand

/// Puts `proxy` in the place of ``APIProxy/shared`` while `work` runs, for this task and those it starts.
///
/// Tests that run at the same time do not see each other's proxy. A request takes its proxy when it is created, so create
/// screens and requests inside.
///
/// - Parameters:
///   - proxy: What `APIProxy.shared` is meanwhile.
///   - work: The test.
/// - Returns: What `work` returns.
public func withSharedProxy<Value>(_ proxy: APIProxy, _ work: () async throws -> Value) async rethrows -> Value {
    try await APIProxy.$replacement.withValue(proxy, operation: work)
}
