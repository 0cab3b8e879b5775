import Errand
import Synchronization

/// The transport that the proxy is given: it writes down every exchange and leaves the work to the default one.
final class Wire: HTTPTransport {
    private let network: any HTTPTransport = DefaultTransport.make()
    var capacity: TransportCapacity { network.capacity }
    private let line = StartingLine()
    private let log = Mutex<[Exchange]>([])
    private let (endings, news) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// The exchanges that have ended since the log began, in the order of their endings.
    var exchanges: [Exchange] { log.withLock { $0 } }

    /// Begins the log anew.
    func forget() {
        log.withLock { $0 = [] }
    }

    /// Lets the next `count` requests leave at once.
    func gather(_ count: Int) {
        line.expect(count)
    }

    /// The first exchange of the log that is wanted, waited for.
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
