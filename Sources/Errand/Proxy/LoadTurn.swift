/// Holds back loads that have found no stored response, until whoever has begun them lets them queue.
package protocol LoadGate: AnyObject, Sendable {
    /// Returns whether the load may go on at once.
    @MainActor func passAtOnce() -> Bool
    /// Waits until it may go on; ends as well when the load has ended.
    @MainActor func pass() async
}

/// The turns of one load: its place in the queue, and the login that it is sent with.
///
/// A class, as ``LoadAttempt`` is.
final class LoadTurn<Value: Sendable> {
    private let attempt: LoadAttempt<Value>
    private let call: Call<Value>
    private let proxy: APIProxy
    private(set) var slot: QueueSlot
    private var place = Place.held
    /// Whether the connection of the last exchange carries several; `nil` without an exchange, and where that is not known.
    var isMultiplexed: Bool?

    /// What is known of the place in the queue, so that it is neither taken nor left twice.
    private enum Place {
        case held, left, unknown
    }

    /// `lane` is the one of its place in the queue, if it has one.
    init(of attempt: LoadAttempt<Value>, in lane: QueueLane?) {
        (self.attempt, call, proxy) = (attempt, attempt.call, attempt.proxy)
        slot = QueueSlot(proxy.queue, number: call.id.queueNumber, lane: lane, heldLane: lane ?? call.exchangeLane)
    }

    /// Waits for the load's turn and for the login to send with.
    ///
    /// The login is that of the turn, because a load may queue longer than one is valid. A load that waits for a login releases
    /// its place in the queue, and returns to it before those that have begun later.
    func take() async throws(APIError) -> SentLogin {
        while true {
            if place != .held { try await takePlace() }
            let login = call.service.login
            guard call.renewsLogin else { return login.current }
            if attempt.number == 1, let refusal = login.refusal(of: call.id) { throw refusal }
            if let current = login.current(by: proxy.clock) { return current }
            // It would wait for the next session's.
            guard !call.hasSessionEnded else { throw APIError(.cancelled) }
            call.willWaitForLogin()
            place = .unknown
            let newest = try await login.ready(call.id, slot, for: call.service, clock: proxy.clock)
            // The relogin may have failed before the wait began.
            if login.refusal(of: call.id) == nil { call.trace?.didWaitForLogin(of: newest) }
        }
    }

    /// Begins the first turn of a load that has not queued yet; calls `willQueue` before it waits.
    func takeFirst(willQueue: () -> Void) async throws(APIError) {
        // When it is sent again.
        if slot.ownLane != nil, place == .held { return }
        var start: Duration?
        if let gate = call.gate, await !gate.passAtOnce() {
            start = beginWait(in: call.exchangeLane, willQueue)
            await gate.pass()
            guard proxy.loads.contains(call.id) else { throw APIError(.cancelled) }
        }
        let lane = call.exchangeLane.map { proxy.loads.lane(of: call.id) ?? $0 }
        if slot.ownLane == nil { slot = QueueSlot(proxy.queue, number: call.id.queueNumber, lane: lane) }
        if slot.acquireAtOnce() {
            place = .held
        } else {
            start = start ?? beginWait(in: lane, willQueue)
            try await takePlace()
        }
        attempt.queueTime = start.map { SystemClock.uptime - $0 } ?? .zero
        proxy.begin(call)
    }

    /// Returns when the wait has begun.
    private func beginWait(in lane: QueueLane?, _ willQueue: () -> Void) -> Duration {
        willQueue()
        // The deadline includes the wait of a retry.
        if attempt.number == 1 { proxy.loads.removeTimer(of: call.id) }
        if let lane { _ = proxy.loads.setWaiting(in: lane, of: call.id) }
        call.trace?.didQueue()
        return SystemClock.uptime
    }

    private func takePlace() async throws(APIError) {
        place = .unknown
        // A cancel and those that join the load look there for it.
        if let lane = slot.ownLane { _ = proxy.loads.setWaiting(in: lane, of: call.id) }
        slot = try await slot.acquire { [proxy, call] in proxy.loads.wish(of: call.id) }
        place = .held
        guard proxy.loads.contains(call.id) else { throw APIError(.cancelled) }
    }

    /// Releases the place, unless the response may mean that the login has expired.
    @inline(never) func didReceive(_ response: APIResponse, in login: SentLogin) {
        let keepsPlace = mayBeRefusal(response, of: login)
        slot.didReceive(isMultiplexed: exchange(&isMultiplexed, with: nil), keepsPlace: keepsPlace)
        if !keepsPlace { place = .left }
    }

    /// Keeps the place, but no longer for the transport.
    func keepPlace() { slot.didReceive(isMultiplexed: exchange(&isMultiplexed, with: nil), keepsPlace: true) }

    /// Returns whether the load keeps its place until the response is read, so that it is the next one to be sent after a relogin.
    ///
    /// So do the first requests with a new login until one of them has succeeded: a later refusal is known to mean that the
    /// login has expired then. Not where an adapter may wait for a load that needs the place.
    private func mayBeRefusal(_ response: APIResponse, of login: SentLogin) -> Bool {
        guard call.renewsLogin, !call.service.adapters.adaptsResponses else { return false }
        // To read 4 KB takes less time than to send a request.
        return !login.isProven || call.service.loginExpiredStatuses.contains(response.status)
            || response.file == nil && response.body.count <= 4_096
    }

    /// After a failure, when a cancel or a wait may have released the place.
    func didFail() { (place, isMultiplexed) = (.unknown, nil) }

    func leave() {
        if place != .left { slot.release() }
        place = .left
    }
}
