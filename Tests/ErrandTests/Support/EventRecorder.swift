@testable import Errand

/// A monitor that records events and checks their order.
final class EventRecorder: APIMonitor {
    private struct State {
        var events: [APIEvent] = []
        var machines: [RequestID: EventMachine] = [:]
        var busy: Set<RequestID> = []
        var overlaps = 0
        var count = 0
    }

    private let keepsEvents: Bool
    private let state = Lock(State())
    /// Called for each event before it is recorded as delivered.
    private let action: @Sendable (APIEvent) -> Void

    init(keepsEvents: Bool = true, action: @escaping @Sendable (APIEvent) -> Void = { _ in }) {
        (self.keepsEvents, self.action) = (keepsEvents, action)
    }

    func observe(_ event: APIEvent) {
        state.withLock { state in
            if !state.busy.insert(event.id).inserted { state.overlaps += 1 }
            state.count += 1
            if keepsEvents { state.events.append(event) }
            state.machines[event.id, default: EventMachine()].receive(event)
        }
        action(event)
        _ = state.withLock { $0.busy.remove(event.id) }
    }

    var events: [APIEvent] { state.withLock(\.events) }
    var count: Int { state.withLock(\.count) }
    var ids: [RequestID] { state.withLock { $0.machines.keys.sorted() } }

    /// The number of loads that have ended exactly once.
    var ended: Int { state.withLock { $0.machines.values.count { $0.endings == 1 } } }

    /// What was not legal, and the events that were delivered while another one of their load was.
    var violations: [String] {
        state.withLock { state in
            state.machines.values.flatMap(\.violations)
                + (state.overlaps == 0 ? [] : ["\(state.overlaps) events were delivered at the same time"])
        }
    }

    /// The steps of a load; of the first one by default.
    func steps(of id: RequestID? = nil) -> [String] {
        let events = events
        return events.filter { $0.id == id ?? events.first?.id }.map(\.kind.step)
    }

    /// The events of a load.
    func events(of id: RequestID) -> [APIEvent] { events.filter { $0.id == id } }
}

extension APIEvent.Kind {
    /// The event as tests have it.
    var step: String {
        switch self {
        case .began: "began"
        case .queued: "queued"
        case .started: "started"
        case .joined: "joined"
        case .requestMade: "made"
        case .sent: "sent"
        case .headReceived: "head"
        case .redirected(let response): "redirected \(response.status)"
        case .responded(let response): "responded \(response.status)"
        case .respondedFromCache: "cached"
        case .missedCache(let reason): "missed \(reason)"
        case .decodedLeniently: "lenient"
        case .failed(let error): "failed \(error.type)"
        case .renewed(let renewal): "renewed \(renewal)"
        case .waiting(let reason, _): "waiting \(reason)"
        case .tryingAgain: "again"
        case .ended(.success): "success"
        case .ended(.failure(let error)): "failure \(error.type)"
        case .ended(.cancelled): "cancelled"
        case .released: "released"
        }
    }
}

/// The legal order of the events of one ID, as the table of ``APIEvent`` describes it.
struct EventMachine {
    private enum Phase {
        /// Another load has made the request.
        case joined
        case made, sent, headReceived
    }

    /// What was not legal.
    private(set) var violations: [String] = []
    private(set) var count = 0
    private(set) var endings = 0
    private var attempt = 0
    private var hasQueued = false
    private var hasStarted = false
    private var releases = 0
    private var waits: Set<APIEvent.Reason> = []
    private var isJoined = false
    private var open: [UInt64: Phase] = [:]
    private var outcomes = 0
    private var hasStored = false
    private var last: APIEvent?

    /// Checks the next event.
    mutating func receive(_ event: APIEvent) {
        if count == 0 {
            guard case .began = event.kind else { return record(event, "is the first one") }
        }
        check(endings == 0, event, "follows the ending")
        if let last {
            check(last.time <= event.time, event, "is earlier than the one before")
            check(last.id == event.id && last.path == event.path && last.method == event.method, event, "is of another")
        }
        checkAttempt(of: event)
        count += 1
        last = event
        if event.exchange != nil { receiveOfExchange(event) } else { receiveOfLoad(event) }
    }

    private mutating func checkAttempt(of event: APIEvent) {
        if case .tryingAgain = event.kind {
            check(event.attempt == attempt + 1 && attempt > 0, event, "is try \(event.attempt) after \(attempt)")
        } else {
            check(event.attempt == attempt || (attempt, event.attempt) == (0, 1), event, "is in try \(event.attempt)")
        }
        attempt = event.attempt
    }

    private mutating func receiveOfLoad(_ event: APIEvent) {
        switch event.kind {
        case .began: check(count == 1, event, "is not the first one")
        case .queued:
            check(!hasQueued && !hasStarted, event, "is too late")
            hasQueued = true
        case .started:
            check(!hasStarted, event, "is the second one")
            hasStarted = true
        case .waiting(let reason, _):
            check(open.isEmpty, event, "is inside an exchange")
            waits.insert(reason)
        case .renewed(let renewal):
            check(waits.contains(renewal == .login ? .login : .key), event, "follows no wait")
        case .tryingAgain:
            check(open.isEmpty, event, "is inside an exchange")
            (waits, isJoined) = ([], false)
        case .joined: isJoined = true
        case .ended(let ending):
            endings += 1
            // With a stored response, the deadline may have ended an exchange.
            guard case .success = ending else { break }
            check(outcomes > 0 && (open.isEmpty || hasStored), event, "follows no response")
        case .released:
            releases += 1
            check(releases == 1, event, "is the second one")
        case .requestMade, .sent, .headReceived, .redirected, .responded, .failed: record(event, "has no exchange")
        case .respondedFromCache:
            outcomes += 1
            hasStored = true
        case .missedCache: check(open.isEmpty, event, "is inside an exchange")
        case .decodedLeniently: check(outcomes > 0 && open.isEmpty, event, "follows no response")
        }
    }

    private mutating func receiveOfExchange(_ event: APIEvent) {
        guard let number = event.exchange else { return }
        let phase = open[number] ?? (isJoined ? .joined : nil)
        if case .joined = event.kind {} else { check(hasStarted, event, "is before the turn") }
        switch event.kind {
        case .joined:
            check(attempt > 0 && open.isEmpty, event, "is inside an exchange")
            isJoined = true
            open[number] = .joined
        case .requestMade:
            check(attempt > 0, event, "is before the first try")
            check(open.isEmpty || phase == .joined, event, "is inside another exchange")
            open[number] = .made
        case .sent:
            check(phase == .made || phase == .joined, event, "is not expected")
            open[number] = .sent
        case .headReceived:
            check(phase != nil && phase != .headReceived, event, "is not expected")
            open[number] = .headReceived
        case .redirected, .responded, .failed:
            check(phase != nil, event, "ends no request")
            open[number] = nil
            outcomes += 1
        default: record(event, "has an exchange")
        }
    }

    private mutating func check(_ isLegal: Bool, _ event: APIEvent, _ problem: String) {
        if !isLegal { record(event, problem) }
    }

    private mutating func record(_ event: APIEvent, _ problem: String) {
        violations.append("\(event) \(problem)")
    }
}
