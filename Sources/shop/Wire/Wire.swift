import Errand
import Synchronization

/// The proxy's transport: records every exchange, and sends requests with the default transport.
final class Wire: HTTPTransport {
    private let network: any HTTPTransport = DefaultTransport.make()
    var capacity: TransportCapacity { network.capacity }
    private let line = StartingLine()
    private let log = Mutex<[Exchange]>([])
    private let (endings, news) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// The exchanges that have ended since the log was cleared, in the order of their endings.
    var exchanges: [Exchange] { log.withLock { $0 } }

    /// Clears the log.
    func forget() {
        log.withLock { $0 = [] }
    }

    /// Sends the next `count` requests together, when all of them are ready.
    func gather(_ count: Int) {
        line.expect(count)
    }

    /// Waits for an exchange that satisfies the condition, and returns the first one.
    func exchange(where isWanted: (Exchange) -> Bool) async throws -> Exchange {
        if let exchange = exchanges.first(where: isWanted) { return exchange }
        for await _ in endings {
            if let exchange = exchanges.first(where: isWanted) { return exchange }
        }
        throw CancellationError()
    }

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        await line.cross()
        let start = ContinuousClock.now
        let result = await result(of: request, progress)
        log.withLock { $0.append(Exchange(request, result, start.duration(to: .now))) }
        news.yield()
        return try result.get()
    }

    private func result(
        of request: HTTPRequest,
        _ progress: TransferProgress.Handler?
    ) async -> Result<HTTPResponse, TransportError> {
        do throws(TransportError) {
            return .success(try await network.send(request, progress: progress))
        } catch {
            return .failure(error)
        }
    }
}
