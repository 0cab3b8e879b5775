import Foundation

/// Decides after a failed send whether one load is sent again, and waits until it is: for a relogin, the network or a delay.
final class LoadRecovery<Value: Sendable> {
    private let call: Call<Value>
    private let proxy: APIProxy
    /// That of the last request; `nil` for that of the load, which an adapter may have changed.
    var sentMethod: HTTPMethod?
    private var neededLogins = 0
    /// That of the login that the last of them brings.
    private var neededGeneration: Int?
    var hasNeededLogin: Bool { neededLogins > 0 }
    private var retryCount = 0
    /// The most of a download that there was before a retry, and how often it has begun again.
    private var (formerBytes, restartCount): (Int64, Int) = (0, 0)

    init(_ call: Call<Value>, in proxy: APIProxy) { (self.call, self.proxy) = (call, proxy) }

    /// Returns when the load is to be sent again, and throws `error`, or the one that replaces it, when it has failed.
    ///
    /// The load leaves its place in the queue, and returns to it.
    @inline(never) func recover(
        from error: APIError,
        in login: SentLogin?,
        _ slot: QueueSlot,
        _ context: Boxed<AdapterContext>?
    ) async throws(APIError) {
        guard proxy.loads.contains(call.id), !call.hasSessionEnded else { throw APIError(.cancelled) }
        // Before the app is asked, which may take until the network is back.
        let isOffline = policy.waitsForConnectivity && proxy.reachability.status == .unreachable
        if let retry = error.requestedRetry, proxy.loads.setSentAgain(call.id, for: retry.cause) {
            slot.release()
            return try await wait(for: .adapter, limit: retry.delay)
        }
        var failure = error.withoutRequestedRetry
        if let login, hasNeededLogin, error.type == .loginExpired { call.service.login.didRefuseAgain(login) }
        if let login, needsLogin(error) {
            guard let refusal = await renewLogin(after: login, slot, failure) else { return }
            failure = refusal
        }
        slot.release()
        if let context, !isResponse(failure) {
            guard let left = try await adapt(failure, in: context) else { return }
            failure = left
        }
        guard login != nil, !needsLogin(error) else { throw failure }
        try await retry(after: failure, isOffline: isOffline)
    }

    /// A cancelled load, for example, or one that uses a stored response, does not show whether the login that it has needed helps.
    @inline(never) func didEnd(with error: APIError? = nil) {
        // One of another origin is no `loginExpired`.
        let isRefusal = error?.response.map { statuses.contains($0.status) && !isOfService($0) } == true
        guard let neededGeneration, error?.type != .loginExpired, !isRefusal else { return }
        call.service.login.didNotTry(neededGeneration)
    }

    private var statuses: Set<Int> { call.service.loginExpiredStatuses }

    /// Returns the error of a load that may not be sent again; the adapters of failures see it as well.
    @inline(never) func finalError(_ error: APIError, _ slot: QueueSlot, _ context: Boxed<AdapterContext>?) async
        -> APIError
    {
        slot.release()
        guard let context else { return error }
        let error = forApp(error)
        let final = Lock(error)
        // In another task: that of the load is cancelled to end an exchange whose response cannot be read.
        let task = Task { [call] in
            do throws(APIError) {
                let adapted = try await call.service.adapt(error, in: context.wrappedValue) { _ in false }.0
                final.withLock { $0 = adapted }
            } catch {
                final.withLock { [error] in $0 = error }
            }
        }
        if !proxy.loads.replaceTask(task, of: call.id) { task.cancel() }
        await task.value
        return proxy.loads.contains(call.id) ? final.withLock(\.self) : APIError(.cancelled)
    }

    /// As the delegate would receive it.
    private func forApp(_ error: APIError) -> APIError {
        error.ofLoad(call.id, call.draft.method, path: call.draft.path).worded(by: call.service.errorMessages)
    }

    private var policy: RetryPolicy { call.retryPolicy }

    /// Then a long wait would exceed the time of the relogin.
    private var isOfRelogin: Bool { proxy.loads.isInRelogin(call.id) }

    // What is inlined into an asynchronous function increases the memory of each load that waits for a login.

    @inline(never) private func retry(after error: APIError, isOffline: Bool) async throws(APIError) {
        let hasProgress = hasProgress()
        if hasProgress { retryCount = 0 }
        let decision = try await decision(about: error)
        if decision == false { throw error }
        // An error with a response is one of an adapter or of the app: the request was sent.
        let isUnsent = error.type == .noNetwork && error.response == nil
        let mayWait = policy.waitsForConnectivity && isUnsent && !isOfRelogin
        if mayWait, isOffline || proxy.reachability.status == .unreachable {
            return try await waitForNetwork(after: error, limit: policy.connectivityTimeout)
        }
        try await backOff(after: error, decision, hasProgress: hasProgress)
    }

    /// The retries of a download that continues are those without progress.
    private func hasProgress() -> Bool {
        guard call.draft.resumesDownload else { return false }
        let bytes = proxy.loads[call.id]?.meter?.progress?.completedBytes ?? 0
        // Of another version, a few times: a server may have several that take turns.
        if bytes < formerBytes, restartCount < 3 { (formerBytes, restartCount) = (0, restartCount + 1) }
        defer { formerBytes = max(formerBytes, bytes) }
        return bytes >= formerBytes + 64 << 10
    }

    /// Returns `nil` if an adapter has the load sent again, and has waited for that.
    @inline(never) private func adapt(
        _ failure: APIError,
        in context: Boxed<AdapterContext>
    ) async throws(APIError) -> APIError? {
        let context = context.wrappedValue
        let (error, retry) = try await call.service.adapt(forApp(failure), in: context) { [proxy, id = call.id] in
            proxy.loads.setSentAgain(id, for: $0)
        }
        guard proxy.loads.contains(call.id) else { throw APIError(.cancelled) }
        guard let retry else { return error }
        try await wait(for: .adapter, limit: retry.delay)
        return nil
    }

    /// For a plain call, a response is no failure, whatever its status.
    private func isResponse(_ error: APIError) -> Bool {
        error.type == .cancelled || call.draft.isPlainCall && error.responseOfStatus != nil
    }

    private func needsLogin(_ error: APIError) -> Bool {
        error.type == .loginExpired && call.renewsLogin && error.response.map(isOfService) != false
            && mayReplay(after: error)
    }

    /// A relogin does not help at another origin, unless an adapter of the service has chosen that.
    private func isOfService(_ response: APIResponse) -> Bool {
        if response.url.hasSameOrigin(as: call.service.baseURL) { return true }
        return !call.draft.followsLink && response.url.hasSameOrigin(as: response.redirects.first ?? response.url)
    }

    private var isRepeatable: Bool {
        call.draft.idempotencyKey != nil || (sentMethod ?? call.draft.method).isIdempotent
    }

    /// Before a redirect, the server may have executed the load.
    private func mayReplay(after error: APIError) -> Bool {
        error.response?.redirects.isEmpty != false || isRepeatable
    }

    /// Returns why there is no other login than the one that was refused.
    ///
    /// A new login that is refused does not help, unless others had succeeded with it when the load was sent: then it may
    /// have expired while the load queued.
    @inline(never) private func renewLogin(
        after login: SentLogin,
        _ place: any LoginPlace,
        _ refusal: APIError
    ) async -> APIError? {
        let session = call.service.login
        let mayNeedLogin = neededLogins == 0 || (login.isProven && neededLogins < LoginLimit.maxOfLoad)
        switch session.need(after: login, mayNeedLogin: mayNeedLogin) {
        case .refused: return refusal
        case .relogin(let generation): (neededLogins, neededGeneration) = (neededLogins + 1, generation)
        case .none: break
        }
        call.willWaitForLogin()
        do {
            try await session.renew(call.id, place, after: login.generation, for: call.service, clock: proxy.clock)
        } catch {
            // Each waiter keeps its own response; what they share is why the relogin failed.
            return error.type == .loginExpired ? refusal.caused(by: error) : error
        }
        call.trace?.emit(.renewed(.login))
        return nil
    }

    @inline(never) func wait(for reason: APIEvent.Reason, limit: Duration) async throws(APIError) {
        call.trace?.willWait(for: reason, limit: limit)
        do { try await proxy.clock.sleep(for: limit) } catch { throw APIError(.cancelled) }
    }

    private func backOff(after error: APIError, _ decision: Bool?, hasProgress: Bool) async throws(APIError) {
        let date = proxy.clock.date
        let delay = try retryDelay(after: error, decision, at: date, hasProgress: hasProgress)
        // The pause is in the queue, where the load keeps its order.
        if let response = error.response, let pause = pause(after: response, at: date), pause >= delay {
            call.trace?.willWait(for: .retry, limit: delay)
            // Again, because an adapter may have set the line.
            pauseHost(after: response)
            return
        }
        try await wait(for: .retry, limit: delay)
    }

    /// Returns `nil` if the app leaves it to the policy.
    private func decision(about error: APIError) async throws(APIError) -> Bool? {
        guard let decide = policy.decide, retryCount < policy.maxRetries, error.type != .cancelled else { return nil }
        let error = forApp(error)
        let decision = await EnvironmentScope.$current.withValue(call.service.environment) {
            await decide(error, retryCount + 1)
        }
        guard proxy.loads.contains(call.id) else { throw APIError(.cancelled) }
        return decision
    }

    /// A 429 means that the host has too many requests (RFC 6585 section 4).
    func pauseHost(after response: APIResponse) {
        guard !call.hasSessionEnded, let delay = pause(after: response, at: proxy.clock.date),
            let lane = call.exchangeLane
        else { return }
        proxy.queue.pause(lane, for: delay, by: proxy.clock, of: call.service.login)
        // Meanwhile: the pause would be the next user's.
        if call.hasSessionEnded { proxy.queue.endPauses(of: [call.service.login]) }
    }

    private func pause(after response: APIResponse, at date: Date) -> Duration? {
        guard response.status == 429, policy.statuses.contains(429), policy.maxRetries > 0, isOfService(response),
            call.exchangeLane != nil, !proxy.loads.needsNoPlace(call.id),
            let delay = response.headers.retryAfter(at: date), delay > .zero
        else { return nil }
        return min(delay, policy.maxRetryAfter)
    }

    /// Counts the retry; throws `error` when the load is not sent again.
    @inline(never) private func retryDelay(
        after error: APIError,
        _ decision: Bool?,
        at date: Date,
        hasProgress: Bool
    ) throws(APIError) -> Duration {
        guard retryCount < policy.maxRetries, decision ?? policy.isRetryable(error) else { throw error }
        let requested = error.response?.headers.retryAfter(at: date)
        let isPostponed = requested != nil && error.isOfPostponedRequest
        let mayRepeat = isRepeatable || isPostponed && policy.retryAfterAppliesToAllMethods
        guard decision == true || mayRepeat else { throw error }
        if decision != true, let requested, requested > policy.maxRetryAfter {
            if let response = error.response { pauseHost(after: response) }
            throw error.withReason("the server asks for a longer delay than the retry policy allows")
        }
        let serverDelay = requested.map { min($0, policy.maxRetryAfter) }
        if isOfRelogin, let serverDelay, serverDelay > call.service.reloginTimeout / 4 { throw error }
        // It would end as a timeout, without the response. At its deadline, one that falls back uses what is stored.
        if let serverDelay, let end = proxy.loads.deadline(of: call.id), call.cache?.rule != .fallback,
            proxy.clock.uptime + serverDelay >= end
        {
            throw error
        }
        // The server itself spreads the retries that it asks for; what continues is not sent once more.
        let isFree = hasProgress || isPostponed && serverDelay.map { $0 > .zero } == true
        guard isFree || call.service.retryBudget.takeRetry(of: policy, at: proxy.clock.uptime) else {
            throw error.withReason("the budget of the retries of a minute is used up")
        }
        let delay = max(policy.delay(before: retryCount), serverDelay ?? .zero)
        retryCount += 1
        return delay
    }

    private func waitForNetwork(after error: APIError, limit: Duration) async throws(APIError) {
        call.trace?.willWait(for: .network, limit: limit)
        let isReachable = await withTaskGroup { [reachability = proxy.reachability, clock = proxy.clock] group in
            group.addTask { await reachability.waitWhileUnreachable() }
            group.addTask {
                try? await clock.sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() == true
        }
        guard !Task.isCancelled else { throw APIError(.cancelled) }
        guard isReachable else { throw error }
    }
}
