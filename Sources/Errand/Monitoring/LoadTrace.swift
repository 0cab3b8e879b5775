/// Delivers the events of one load to its monitors: in order, one at a time, and none after its ending.
///
/// Events are delivered by the call that emits them, or by one that already delivers; those of a transport, whose thread all its
/// transfers need, by a task, or by the next call that emits one. No lock is held meanwhile, so that a monitor may do anything.
/// Only loads with monitors have one.
///
/// What asynchronous functions call is not inlined, because that increases the memory of each load in progress.
final class LoadTrace: Sendable {
    private struct State {
        /// `nil` is the place of events that are not known yet.
        var events: [APIEvent?] = []
        /// When that place, of which there is at most one, was reserved.
        var reservedAt = Duration.zero
        /// No event is delivered before the first one.
        var isDelivering = true
        var attempt = 0
        var queuedAt: Duration?
        var hasEnded = false
        /// From ``queuedAt`` to the first turn, 0 if the load did not queue; `nil` before the first turn.
        var queueTime: Duration?
        /// That of the login when the load began to wait for the next one.
        var loginGeneration: Int?

        /// Returns whether it is the first turn.
        mutating func start(at uptime: Duration) -> Bool {
            guard queueTime == nil else { return false }
            queueTime = uptime - (queuedAt ?? uptime)
            return true
        }

        /// Ends the delivery when there is no event.
        mutating func next() -> APIEvent? {
            guard let event = events.first ?? nil else {
                isDelivering = false
                return nil
            }
            events.removeFirst()
            return event
        }

        /// Returns `nil` if the delivery runs.
        mutating func beginDelivery() -> APIEvent? {
            guard !isDelivering else { return nil }
            isDelivering = true
            return next()
        }
    }

    private let load: APIEvent.Common
    private let monitors: ObservingMonitors
    private let state = Lock(State())

    /// The first event is delivered by ``begin()``.
    init(id: RequestID, method: HTTPMethod, path: String, monitors: ObservingMonitors) {
        load = APIEvent.Common(id: id, method: method, path: path, began: SystemClock.uptime)
        self.monitors = monitors
    }

    /// Delivers the first event, and those that were emitted before; called once.
    @inline(never) func begin() {
        deliver(observes(.everything) ? makeEvent(.began, at: load.began, in: State()) : state.withLock { $0.next() })
    }
    func observes(_ level: APIEvent.Level) -> Bool { monitors.level >= level }

    /// `nil` if its events are not observed.
    @inline(never) func makeExchangeTrace() -> ExchangeTrace? {
        observes(.exchanges) ? ExchangeTrace(isShared: false) { [self] in [self] } : nil
    }

    @inline(never) func emit(_ kind: APIEvent.Kind, exchange: UInt64? = nil) {
        emit(kind, exchange: exchange) { _, _ in true }
    }

    /// No monitor is called on the thread of a transport.
    @inline(never) func emitFromTransport(_ kind: APIEvent.Kind, exchange: UInt64) {
        let needsTask = state.withLock { state -> Bool in
            guard !state.hasEnded, observes(kind.level) else { return false }
            state.events.append(makeEvent(kind, at: SystemClock.uptime, in: state, exchange: exchange))
            return !state.isDelivering
        }
        // Detached, because a transport of the app may report it in another task.
        if needsTask {
            Task.detached(priority: .userInitiated) { [self] in deliver(state.withLock { $0.beginDelivery() }) }
        }
    }

    // MARK: Steps of the load

    /// Does nothing if the load had its turn meanwhile.
    @inline(never) func didQueue() {
        emit(.queued) { state, uptime in
            guard state.queuedAt == nil, state.queueTime == nil else { return false }
            state.queuedAt = uptime
            return true
        }
    }

    /// Emits the turn once.
    @inline(never) func didStart() {
        emit(.started) { state, uptime in state.start(at: uptime) }
    }

    /// Emits that the load is sent again if it is not the first try.
    @inline(never) func beginTry() {
        emit(.tryingAgain) { state, _ in
            state.attempt += 1
            return state.attempt > 1
        }
    }

    @inline(never) func willWait(for reason: APIEvent.Reason, limit: Duration?) {
        emit(.waiting(reason, limit: limit))
    }

    /// Keeps the generation, with which ``didWaitForLogin(of:)`` compares.
    @inline(never) func willWaitForLogin(after generation: Int, limit: Duration) {
        emit(.waiting(.login, limit: limit)) { state, _ in
            state.loginGeneration = generation
            return true
        }
    }

    /// Emits a new login, if that has another generation than the former one.
    @inline(never) func didWaitForLogin(of generation: Int) {
        emit(.renewed(.login)) { state, _ in state.loginGeneration != generation }
    }

    /// Nothing is emitted afterwards.
    @inline(never) func end(_ ending: APIEnding, response: APIResponse? = nil) {
        emit(.ended(ending), response: response) { state, _ in
            state.hasEnded = true
            return true
        }
    }

    // MARK: Reserved places

    /// Events may depend on something that other threads change; later events wait for them.
    func reserve() {
        state.withLock { state in
            guard !state.hasEnded else { return }
            state.events.append(nil)
            state.reservedAt = SystemClock.uptime
        }
    }

    /// Emits in the reserved place whether the load has joined an exchange, and whether it has its turn.
    func fillReserved(isJoined: Bool, isStarted: Bool, exchange: UInt64?) {
        let first = state.withLock { state -> APIEvent? in
            guard let index = state.events.firstIndex(where: { $0 == nil }) else { return nil }
            let uptime = state.reservedAt
            var events: [APIEvent?] = []
            if isJoined, observes(.everything) {
                events.append(makeEvent(.joined, at: uptime, in: state, exchange: exchange))
            }
            if isStarted, state.start(at: uptime), observes(.everything) {
                events.append(makeEvent(.started, at: uptime, in: state))
            }
            state.events.replaceSubrange(index...index, with: events)
            return state.beginDelivery()
        }
        deliver(first)
    }

    // MARK: Timings

    /// Adds the number of the try, and for the first one the time in the queue.
    func label(_ response: APIResponse) -> APIResponse {
        let (attempt, queueTime) = state.withLock { ($0.attempt, $0.queueTime) }
        return response.withLoad(load.id, attempt: attempt, queueTime: queueTime)
    }

    func label(_ error: APIError) -> APIError {
        let (attempt, queueTime) = state.withLock { ($0.attempt, $0.queueTime) }
        return error.withLoad(load.id, attempt: attempt, queueTime: queueTime)
    }

    func failure(from error: APIError) -> APIError {
        label(error).ended(load.id, load.method, path: load.path, messages: nil)
    }

    // MARK: Delivery

    private func emit(
        _ kind: APIEvent.Kind,
        exchange: UInt64? = nil,
        response: APIResponse? = nil,
        _ accept: (inout State, _ uptime: Duration) -> Bool
    ) {
        let first = state.withLock { state -> APIEvent? in
            let uptime = SystemClock.uptime
            guard !state.hasEnded, accept(&state, uptime), observes(kind.level) else { return nil }
            state.events.append(makeEvent(kind, at: uptime, in: state, exchange: exchange, response: response))
            return state.beginDelivery()
        }
        deliver(first)
    }

    private func makeEvent(
        _ kind: APIEvent.Kind,
        at uptime: Duration,
        in state: borrowing State,
        exchange: UInt64? = nil,
        response: APIResponse? = nil
    ) -> APIEvent {
        APIEvent(
            kind,
            of: load,
            attempt: state.attempt,
            exchange: exchange,
            uptime: uptime,
            queue: state.queueTime,
            response: response
        )
    }

    private func deliver(_ first: APIEvent?) {
        var next = first
        while let event = next {
            monitors.observe(event)
            next = state.withLock { $0.next() }
        }
    }
}

extension LoadTrace: CustomReflectable {
    /// Nothing, because monitors are objects of the app.
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
