extension LoadContext {
    /// Returns what `work` returns, unless `limit` passes before.
    ///
    /// - Throws: What `work` throws; `timeout` when `limit` has passed, and `work` has ended as cancelled.
    func withDeadline<Value: Sendable>(
        _ limit: Duration?,
        for service: APIService?,
        _ work: @escaping @Sendable () async throws(APIError) -> Value
    ) async throws(APIError) -> Value {
        guard let limit else { return try await work() }
        let outcome = await withTaskGroup(of: Result<Value, APIError>?.self) { [clock] group in
            group.addTask {
                do throws(APIError) { return .success(try await work()) } catch { return .failure(error) }
            }
            group.addTask {
                do { try await clock.sleep(for: limit) } catch { return .failure(APIError(.cancelled)) }
                return nil
            }
            defer { group.cancelAll() }
            // A cancelled sleep is not first unless the load is cancelled as well.
            return await group.next() ?? nil
        }
        if let outcome { return try outcome.get() }
        throw APIError(TransportError(.timeout, "the deadline of the load passed"), service: service)
    }
}
