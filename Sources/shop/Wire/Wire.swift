import Errand
import Synchronization

/// Records every exchange of the proxies that it monitors.
final class Wire: APIMonitor {
    private struct State {
        /// The exchanges under way, by load.
        var open: [RequestID: (request: HTTPRequest, start: ContinuousClock.Instant)] = [:]
        var ended: [Exchange] = []
    }

    private let state = Mutex(State())
    private let (endings, news) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// The exchanges that have ended since the log was cleared, in the order of their endings.
    var exchanges: [Exchange] { state.withLock(\.ended) }

    /// Clears the log.
    func forget() {
        state.withLock { $0.ended = [] }
    }

    /// Waits for an exchange that satisfies the condition, and returns the first one.
    func exchange(where isWanted: (Exchange) -> Bool) async throws -> Exchange {
        if let exchange = exchanges.first(where: isWanted) { return exchange }
        for await _ in endings {
            if let exchange = exchanges.first(where: isWanted) { return exchange }
        }
        throw CancellationError()
    }

    /// Waits until no exchange is under way: the events of a load may follow what its delegate does.
    func settle() async {
        while !Task.isCancelled, !state.withLock(\.open.isEmpty) { for await _ in endings { break } }
    }

    func observe(_ event: APIEvent) {
        switch event.kind {
        case .requestMade(let request): state.withLock { $0.open[event.id] = (request, event.time) }
        case .redirected(let response): end(event, with: .response(status: response.status, body: response.body))
        case .responded(let response): end(event, with: .response(status: response.status, body: response.body))
        case .failed(let error): end(event, with: .failure(error))
        // The exchange of a load that is cancelled does not end before the load.
        case .ended: end(event, with: .failure(APIError(.cancelled)))
        default: break
        }
    }

    private func end(_ event: APIEvent, with outcome: Exchange.Outcome) {
        let isOpen = state.withLock { state in
            guard let (request, start) = state.open.removeValue(forKey: event.id) else { return false }
            state.ended.append(Exchange(request, outcome, start.duration(to: event.time)))
            return true
        }
        if isOpen { news.yield() }
    }
}
