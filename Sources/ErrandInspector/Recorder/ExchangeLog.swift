import Errand

/// The newest exchanges and unsent loads within the limits, and what is known of the active loads.
struct ExchangeLog {
    /// A load between its first and its last event.
    private struct ActiveLoad {
        /// Whether it has begun, and had no exchange since.
        var isUnsent = false
        var cause: APIEvent.Reason?
        var last: Entry? { didSet { isUnsent = false } }

        mutating func begin(_ event: APIEvent, sequence: Int) -> Entry {
            let entry = Entry(RecordedExchange(event, sequence: sequence, cause: cause, isFirst: last == nil))
            self = ActiveLoad(last: entry)
            return entry
        }
    }

    /// An exchange that is changed in its place.
    // Unchecked because it is changed only by its log, which a lock guards, and not after it was removed from that.
    final class Entry: @unchecked Sendable {
        fileprivate(set) var exchange: RecordedExchange
        fileprivate var isRemoved = false

        fileprivate init(_ exchange: RecordedExchange) {
            self.exchange = exchange
        }
    }

    /// The exchange with the sequence number n is at n modulo the limit.
    private var slots: [Entry?] = []
    private(set) var removedCount = 0
    private let limits: HARRecorder.Limits
    // The sequence numbers of the recorded exchanges.
    private var recorded = 0..<0
    private var entries: [UInt64: Entry] = [:]
    private var loads: [RequestID: ActiveLoad] = [:]
    private var byteCount = 0
    private var removed: [Entry] = []

    init(_ limits: HARRecorder.Limits) {
        self.limits = limits
    }

    var count: Int { recorded.count }

    var exchanges: [RecordedExchange] { slots.compactMap { $0?.exchange } }

    /// Removes all exchanges, and returns them, to be released outside a lock.
    mutating func removeAll() -> [Entry] {
        while !recorded.isEmpty { removeOldest() }
        removedCount = 0
        return exchange(&removed, with: [])
    }

    /// Records an event, and returns what it has removed, to be released outside a lock.
    mutating func record(_ change: RecordedEvent, of event: APIEvent) -> [Entry] {
        switch change {
        case .began: loads[event.id] = ActiveLoad(isUnsent: true)
        case .waits(let reason): loads[event.id, default: ActiveLoad()].cause = reason
        case .joined: update(event) { _ in }
        case .request(let request): makeRequest(request, event)
        case .sent: update(event) { $0.sentAt = $0.sentAt ?? event.uptime }
        case .head(let head): update(event) { $0.add(head, at: event.uptime) }
        case .response(let response, let state): finish(event, state) { $0.add(response) }
        case .cached(let response):
            append(event) { exchange in
                exchange.add(response)
                exchange.end(.cached, at: event.uptime)
            }
        case .failed(let error): finish(event, error.type == .cancelled ? .cancelled : .failed) { $0.add(error) }
        case .ended(let error, let isSuccess): end(event, error, isSuccess: isSuccess)
        }
        while byteCount > limits.bytes, !recorded.isEmpty { removeOldest() }
        return removed.isEmpty ? [] : exchange(&removed, with: [])
    }

    // MARK: Loads

    /// Ends a load, and with it an exchange that it has alone; one that had none is recorded, unless it is a success.
    private mutating func end(_ event: APIEvent, _ error: RecordedError?, isSuccess: Bool) {
        if !isSuccess, loads[event.id]?.isUnsent == true { append(event) { $0.endUnsent(event) } }
        guard let last = loads.removeValue(forKey: event.id)?.last else { return }
        guard !last.isRemoved else { return removed.append(last) }
        // Another load may still wait for an open one.
        let isOpen = last.exchange.state == .open
        let isLast = isOpen && !last.exchange.loads.contains { loads[$0]?.last === last }
        guard isLast || error != nil else { return }
        update(last) { exchange in
            // The exchange of a load that its deadline has ended was cancelled.
            if let error, exchange.error.map({ $0.type == .cancelled }) != false { exchange.add(error) }
            if isLast { exchange.end(.cancelled, at: event.uptime) }
        }
    }

    // MARK: Exchanges

    private mutating func makeRequest(_ request: RecordedRequest, _ event: APIEvent) {
        if let entry = event.exchange.flatMap({ entries[$0] }),
            entry.exchange.state != .redirected || !entry.exchange.loads.contains(event.id)
        {
            return update(event) { _ in }
        }
        append(event) { $0.add(request) }
    }

    private mutating func append(_ event: APIEvent, _ change: (inout RecordedExchange) -> Void) {
        guard limits.exchanges > 0 else { return }
        while recorded.count >= limits.exchanges { removeOldest() }
        let sequence = recorded.upperBound
        releaseLater(loads[event.id]?.last)
        let entry = loads[event.id, default: ActiveLoad()].begin(event, sequence: sequence)
        change(&entry.exchange)
        if let number = event.exchange { entries[number] = entry }
        byteCount += entry.exchange.byteCount
        recorded = recorded.lowerBound..<(sequence + 1)
        let slot = sequence % limits.exchanges
        if slot == slots.count { slots.append(entry) } else { slots[slot] = entry }
    }

    private mutating func finish(
        _ event: APIEvent,
        _ state: RecordedExchange.State,
        _ change: (inout RecordedExchange) -> Void
    ) {
        update(event) { exchange in
            guard exchange.state == .open else { return }
            change(&exchange)
            exchange.end(state, at: event.uptime)
        }
    }

    /// Changes the exchange of an event, which its load then shares.
    private mutating func update(_ event: APIEvent, _ change: (inout RecordedExchange) -> Void) {
        let entry = event.exchange.map { entries[$0] } ?? loads[event.id]?.last
        guard let entry, !entry.isRemoved else {
            // Its exchange is not recorded, or not any more.
            if event.exchange != nil { loads[event.id]?.isUnsent = false }
            return
        }
        if entry.exchange.loads.last != event.id {
            releaseLater(loads[event.id]?.last)
            loads[event.id, default: ActiveLoad()].last = entry
            entry.exchange.add(event.id)
        }
        update(entry, change)
    }

    private mutating func update(_ entry: Entry, _ change: (inout RecordedExchange) -> Void) {
        byteCount -= entry.exchange.byteCount
        change(&entry.exchange)
        byteCount += entry.exchange.byteCount
    }

    /// Keeps an exchange that only its load may still have, to be released outside the lock.
    private mutating func releaseLater(_ entry: Entry?) {
        if let entry, entry.isRemoved { removed.append(entry) }
    }

    private mutating func removeOldest() {
        let sequence = recorded.removeFirst()
        guard let entry = slots[sequence % limits.exchanges].take() else { return }
        entry.isRemoved = true
        byteCount -= entry.exchange.byteCount
        if let number = entry.exchange.number, entries[number] === entry { entries[number] = nil }
        removed.append(entry)
        removedCount += 1
    }
}
