import Synchronization

/// Emits the events of one exchange to the loads that share it, usually one.
final class ExchangeTrace: Sendable {
    /// How far the current request is, in this order.
    private enum Phase: UInt8 {
        case made, sent, headReceived, ended
    }

    private static let lastNumber = Atomic<UInt64>(0)

    private let loads: @Sendable () -> [LoadTrace]
    /// Whether ``end(with:of:)`` is called when no load can join the exchange any more.
    private let isShared: Bool
    private let current = Atomic<UInt64>(0)
    private let phase = Atomic<UInt8>(Phase.ended.rawValue)

    /// `loads` returns the loads that have the exchange now, and monitors.
    init(isShared: Bool, of loads: @escaping @Sendable () -> [LoadTrace]) {
        (self.isShared, self.loads) = (isShared, loads)
    }

    /// `nil` when no request is under way.
    var number: UInt64? {
        phase.load(ordering: .acquiring) == Phase.ended.rawValue ? nil : current.load(ordering: .acquiring)
    }

    /// Returns the request as it is to be given to the transport.
    @inline(never) func requestMade(_ request: HTTPRequest) -> HTTPRequest {
        let number = Self.lastNumber.add(1, ordering: .relaxed).newValue
        current.store(number, ordering: .releasing)
        phase.store(Phase.made.rawValue, ordering: .releasing)
        let loads = loads()
        for load in loads { load.emit(.requestMade(request), exchange: number) }
        // A load that joins later may observe what the others do not.
        guard isShared || loads.contains(where: { $0.observes(.everything) }) else { return request }
        // Not in the event: what keeps that would keep the monitors.
        var observed = request
        let former = request.observer
        observed.observer = { [self] event in
            former?(event)
            didReceive(event, of: number)
        }
        return observed
    }

    @inline(never) func redirected(_ response: HTTPResponse) {
        guard let number else { return }
        phase.store(Phase.ended.rawValue, ordering: .releasing)
        for load in loads() { load.emit(.redirected(response), exchange: number) }
    }

    /// Does nothing for a shared exchange.
    @inline(never) func ended(with outcome: Result<APIResponse, APIError>) {
        if !isShared { end(with: outcome, of: loads()) }
    }

    /// Does nothing for an exchange that was not sent.
    func end(with outcome: Result<APIResponse, APIError>, of loads: [LoadTrace]) {
        guard let number else { return }
        phase.store(Phase.ended.rawValue, ordering: .releasing)
        for load in loads {
            switch outcome {
            case .success(let response): load.emit(.responded(load.label(response)), exchange: number)
            case .failure(let error): load.emit(.failed(load.failure(from: error)), exchange: number)
            }
        }
    }

    private func emitFromTransport(_ kind: APIEvent.Kind, of number: UInt64) {
        for load in loads() { load.emitFromTransport(kind, exchange: number) }
    }

    /// Emits an event once, because the transport may send a request again on another connection.
    private func didReceive(_ event: TransportEvent, of number: UInt64) {
        guard current.load(ordering: .acquiring) == number else { return }
        switch event {
        case .sent:
            if advance(to: .sent) { emitFromTransport(.sent, of: number) }
        // No load depends on it.
        case .interim: break
        case .head(let status, let headers):
            if advance(to: .headReceived) {
                emitFromTransport(.headReceived(status: status, headers: headers), of: number)
            }
        }
    }

    private func advance(to newPhase: Phase) -> Bool {
        phase.max(newPhase.rawValue, ordering: .acquiringAndReleasing).oldValue < newPhase.rawValue
    }
}
