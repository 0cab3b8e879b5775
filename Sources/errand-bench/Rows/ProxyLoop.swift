import Errand
import Foundation

/// Loads with `APIProxy.send`, in one task for each request in flight.
struct ProxyLoop: RequestLoop {
    private let proxy: APIProxy
    private let request: HTTPRequest

    init(_ url: URL) throws {
        proxy = APIProxy(transport: try Connections.transport(), queueLimits: Connections.limits)
        request = HTTPRequest(.get, url)
    }

    func run(requests: Int, concurrency: Int) async throws {
        try await Countdown(requests).share(among: concurrency) { [proxy, request] in
            let response = try await proxy.send(request)
            guard response.body.count == Goods.responseBytes.count else {
                throw BenchFailure("the proxy's response is not whole")
            }
        }
    }
}
