import Errand

/// The newest exchanges within the limits, and what is known of the active loads.
struct ExchangeLog {
    /// A load between its first and its last event.
    private struct ActiveLoad {
        var queuedAt: ContinuousClock.Instant?
        var queue: Duration?
        var cause: APIEvent.Reason?
        /// The sequence number of its last exchange.
        var last: Int?
    }

    /// The exchange with the sequence number n is at n modulo the limit.
    private(set) var slots: [RecordedExchange?] = []
    /// The number of exchanges that were removed because of the limits.
    private(set) var removedCount = 0
    private let limits: HARRecorder.Limits
    // The sequence numbers of the recorded exchanges.
    private var recorded = 0..<0
    private var sequenceByNumber: [UInt64: Int] = [:]
    private var loads: [RequestID: ActiveLoad] = [:]
    private var byteCount = 0
    private var removed: [RecordedExchange] = []

    init(_ limits: HARRecorder.Limits) {
        self.limits = limits
    }

    /// The number of recorded exchanges.
    var count: Int { recorded.count }

    /// Removes all exchanges, and returns them, to be released outside a lock.
    mutating func clear() -> [RecordedExchange?] {
        let old = slots
        slots = Array(repeating: nil, count: old.count)
        recorded = recorded.upperBound..<recorded.upperBound
        sequenceByNumber = [:]
        (removedCount, byteCount) = (0, 0)
        return old
    }

    /// Records an event, and returns what it has removed, to be released outside a lock.
    mutating func record(_ change: RecordedEvent, of event: APIEvent) -> [RecordedExchange] {
        switch change {
        case .queued: loads[event.id, default: ActiveLoad()].queuedAt = event.time
        case .started: start(event)
        case .waits(let reason): loads[event.id, default: ActiveLoad()].cause = reason
        case .joined: update(event) { _ in }
        case .request(let request): makeRequest(request, event)
        case .sent: update(event) { $0.sentAt = $0.sentAt ?? event.time }
        case .head(let head):
            update(event) { exchange in
                if exchange.headAt == nil { (exchange.headAt, exchange.head) = (event.time, head) }
            }
        case .response(let response, let state): finish(event, state) { $0.response = response }
        case .cached(let response):
            append(event) { exchange in
                exchange.response = response
                exchange.end(.cached, at: event.time)
            }
        case .failed(let error): finish(event, error.type == .cancelled ? .cancelled : .failed) { $0.error = error }
        case .ended(let error): end(event, error)
        }
        while byteCount > limits.bytes, !recorded.isEmpty { removeOldest() }
        return exchange(&removed, with: [])
    }

    // MARK: Loads

    private mutating func start(_ event: APIEvent) {
        guard let queuedAt = loads[event.id]?.queuedAt else { return }
        loads[event.id]?.queue = queuedAt.duration(to: event.time)
    }

    /// Ends a load, and with it an exchange that it has alone.
    private mutating func end(_ event: APIEvent, _ error: RecordedError?) {
        guard let last = loads.removeValue(forKey: event.id)?.last, let slot = slot(of: last) else { return }
        // Another load may still wait for an open one.
        let isOpen = slots[slot]?.state == .open
        let isLast = isOpen && slots[slot]?.loads.contains { loads[$0]?.last == last } != true
        update(slot) { exchange in
            exchange.error = exchange.error ?? error
            if isLast { exchange.end(.cancelled, at: event.time) }
        }
    }

    // MARK: Exchanges

    private mutating func makeRequest(_ request: RecordedRequest, _ event: APIEvent) {
        if let number = event.exchange, let slot = sequenceByNumber[number].flatMap(slot(of:)),
            slots[slot]?.state != .redirected
        {
            return update(event) { _ in }
        }
        append(event) { $0.request = request }
    }

    private mutating func append(_ event: APIEvent, _ change: (inout RecordedExchange) -> Void) {
        guard limits.exchanges > 0 else { return }
        while recorded.count >= limits.exchanges { removeOldest() }
        let sequence = recorded.upperBound
        let load = loads[event.id]
        var exchange = RecordedExchange(event, sequence: sequence, cause: load?.cause, queue: load?.queue)
        change(&exchange)
        loads[event.id] = ActiveLoad(last: sequence)
        if let number = event.exchange { sequenceByNumber[number] = sequence }
        byteCount += exchange.byteCount
        recorded = recorded.lowerBound..<(sequence + 1)
        let slot = sequence % limits.exchanges
        if slot == slots.count { slots.append(exchange) } else { slots[slot] = exchange }
    }

    private mutating func finish(
        _ event: APIEvent,
        _ state: RecordedExchange.State,
        _ change: (inout RecordedExchange) -> Void
    ) {
        update(event) { exchange in
            guard exchange.state == .open else { return }
            change(&exchange)
            exchange.end(state, at: event.time)
        }
    }

    /// Changes the exchange of an event, which its load then shares.
    private mutating func update(_ event: APIEvent, _ change: (inout RecordedExchange) -> Void) {
        let sequence = event.exchange.map { sequenceByNumber[$0] } ?? loads[event.id]?.last
        guard let sequence, let slot = slot(of: sequence) else { return }
        loads[event.id, default: ActiveLoad()].last = sequence
        update(slot) { exchange in
            exchange.add(event.id)
            change(&exchange)
        }
    }

    private mutating func update(_ slot: Int, _ change: (inout RecordedExchange) -> Void) {
        // Taken out, so that it is changed in its place and not copied.
        guard var exchange = slots[slot].take() else { return }
        byteCount -= exchange.byteCount
        change(&exchange)
        byteCount += exchange.byteCount
        slots[slot] = exchange
    }

    private mutating func removeOldest() {
        let sequence = recorded.removeFirst()
        guard let exchange = slots[sequence % limits.exchanges].take() else { return }
        byteCount -= exchange.byteCount
        if let number = exchange.number, sequenceByNumber[number] == sequence { sequenceByNumber[number] = nil }
        removed.append(exchange)
        removedCount += 1
    }

    private func slot(of sequence: Int) -> Int? {
        recorded.contains(sequence) ? sequence % limits.exchanges : nil
    }
}
