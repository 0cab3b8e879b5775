import Errand
import Foundation

/// Requests that wait for the server, each on a new connection.
struct Idling: Workload {
    private static let requests = 10

    let url: URL

    func run(_ order: Order) async throws -> Measurement {
        // The first exchange starts threads and loads libraries, which is not to be measured.
        _ = try await APIProxy().send(HTTPRequest(.get, url))
        let proxy = APIProxy()
        let request = HTTPRequest(.get, url.appending(path: "wait"))
        let meter = Meter()
        try await Countdown(Self.requests).share(among: Self.requests) { _ = try await proxy.send(request) }
        return ["requests": Double(Self.requests), "core_percent": meter.cpuSeconds / meter.seconds * 100]
    }
}
