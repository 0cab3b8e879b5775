/// What has been tried for one load.
struct Tries {
    var hasBeenReplayed = false
    var retries = 0
}

extension APIProxy {
    /// Returns when the load is to be sent again.
    ///
    /// - Throws: `error`, or what replaces it, when the load has failed for good; `cancelled` when the task was cancelled.
    func recover<Value>(
        from error: APIError,
        of call: APICall<Value>,
        in generation: Int,
        _ tries: inout Tries
    ) async throws(APIError) {
        guard isActive(call.id) else { throw APIError(.cancelled) }
        if error.type == .loginExpired, call.renewsLogin, !tries.hasBeenReplayed {
            tries.hasBeenReplayed = true
            return try await renew(call, after: generation, because: error)
        }
        if call.retryPolicy.waitsForConnectivity, error.type == .noNetwork, reachability.status == .unreachable {
            return try await waitForNetwork(after: error, atMost: call.retryPolicy.connectivityTimeout)
        }
        try await backOff(after: error, of: call, &tries)
    }

    private func renew<Value>(
        _ call: APICall<Value>,
        after generation: Int,
        because refusal: APIError
    ) async throws(APIError) {
        do {
            try await call.service.relogin.renew(call.id, after: generation, for: call.service, clock: clock)
        } catch {
            // Each waiter keeps its own answer; what they share is why the relogin failed.
            throw error.type == .loginExpired ? refusal.caused(by: error) : error
        }
    }

    private func backOff<Value>(
        after error: APIError,
        of call: APICall<Value>,
        _ tries: inout Tries
    ) async throws(APIError) {
        let policy = call.retryPolicy
        guard tries.retries < policy.maxRetries, call.draft.isRepeatable, policy.mayMend(error) else { throw error }
        guard call.service.retryBudget.takeRetry(of: policy, at: clock.uptime) else { throw error }
        let wish = error.response?.headers.retryAfter(at: clock.date, limit: policy.maxRetryAfter)
        let delay = max(policy.delay(before: tries.retries), wish ?? .zero)
        tries.retries += 1
        do {
            try await clock.sleep(for: delay)
        } catch {
            throw APIError(.cancelled)
        }
    }

    private func waitForNetwork(after error: APIError, atMost limit: Duration) async throws(APIError) {
        let isThere = await withTaskGroup { [reachability, clock] group in
            group.addTask { await reachability.waitWhileUnreachable() }
            group.addTask {
                try? await clock.sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() == true
        }
        guard !Task.isCancelled else { throw APIError(.cancelled) }
        guard isThere else { throw error }
    }
}
