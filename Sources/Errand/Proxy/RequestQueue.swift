/// Who may be at the transport and who waits: the higher priority first, first in first out within one.
///
/// Somebody waits for a host only while that host or the whole is at its limit, so that nobody who comes can overtake.
struct RequestQueue {
    /// Who waits.
    enum Waiter: Sendable {
        /// A load that has no task before its turn: so are the most, and that is cheap.
        case unstarted(@Sendable () -> Void)
        /// A task on its way, which hears whether its turn has come.
        case suspended(CheckedContinuation<Bool, Never>)
    }

    /// Where somebody stands in line.
    struct Place: Sendable {
        let host: String
        let priority: RequestPriority
    }

    private let limits: RequestLimits
    private var inFlight = 0
    private var lanes: [String: Lane] = [:]
    private var lastTicket: UInt64 = 0

    init(limits: RequestLimits) {
        self.limits = limits
    }

    /// How many wait.
    var waitingCount: Int { lanes.values.reduce(0) { $0 + $1.waiting } }

    /// Lets somebody go at once, if there is room.
    mutating func enter(_ place: Place) -> Bool {
        guard inFlight < limits.total else { return false }
        return lanes[place.host, default: Lane()].enter(&inFlight, limit: limits.perHost)
    }

    /// A number to wait with, greater than all before; who draws it may come to the line after the next.
    mutating func ticket() -> UInt64 {
        lastTicket += 1
        return lastTicket
    }

    /// Puts somebody in line; `true` when there is room by now.
    mutating func wait(_ waiter: Waiter, with ticket: UInt64, at place: Place) -> Bool {
        guard !enter(place) else { return true }
        lanes[place.host, default: Lane()][place.priority].insert(ticket, waiter)
        return false
    }

    /// Takes somebody out of the line, unless it was their turn already.
    mutating func remove(_ ticket: UInt64, at place: Place) -> Waiter? {
        defer { dropIfUnused(place.host) }
        return lanes[place.host]?[place.priority].remove(ticket)
    }

    /// Gives a place back; who is returned has it now.
    mutating func leave(_ place: Place) -> Waiter? {
        inFlight -= 1
        lanes[place.host]?.inFlight -= 1
        defer { dropIfUnused(place.host) }
        guard let next = nextInLine(), let waiter = lanes[next.host]?[next.front.priority].removeFirst() else {
            return nil
        }
        inFlight += 1
        lanes[next.host]?.inFlight += 1
        return waiter
    }

    /// Who goes before all others whose host has room.
    private func nextInLine() -> (host: String, front: Lane.Front)? {
        var best: (host: String, front: Lane.Front)?
        for (host, lane) in lanes where lane.inFlight < limits.perHost {
            guard let front = lane.front, best.map({ front < $0.front }) != false else { continue }
            best = (host, front)
        }
        return best
    }

    private mutating func dropIfUnused(_ host: String) {
        guard let lane = lanes[host], lane.inFlight == 0, lane.front == nil else { return }
        lanes[host] = nil
    }
}

/// The requests to one host.
private struct Lane {
    /// Who is the first to wait.
    struct Front: Comparable {
        let priority: RequestPriority
        let ticket: UInt64

        static func < (lhs: Front, rhs: Front) -> Bool {
            lhs.priority == rhs.priority ? lhs.ticket < rhs.ticket : lhs.priority > rhs.priority
        }
    }

    var inFlight = 0
    private var userInitiated = WaitingLine<RequestQueue.Waiter>()
    private var normal = WaitingLine<RequestQueue.Waiter>()
    private var background = WaitingLine<RequestQueue.Waiter>()

    mutating func enter(_ total: inout Int, limit: Int) -> Bool {
        guard inFlight < limit else { return false }
        inFlight += 1
        total += 1
        return true
    }

    var waiting: Int { userInitiated.waiting + normal.waiting + background.waiting }

    var front: Front? {
        for priority in [.userInitiated, .normal, .background] as [RequestPriority] {
            if let ticket = self[priority].first { return Front(priority: priority, ticket: ticket) }
        }
        return nil
    }

    subscript(priority: RequestPriority) -> WaitingLine<RequestQueue.Waiter> {
        get {
            switch priority {
            case .userInitiated: userInitiated
            case .normal: normal
            case .background: background
            }
        }
        _modify {
            switch priority {
            case .userInitiated: yield &userInitiated
            case .normal: yield &normal
            case .background: yield &background
            }
        }
    }
}
