import Errand
import Synchronization

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
    private let state = Mutex(State())
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
