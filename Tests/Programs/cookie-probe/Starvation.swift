#if os(Linux)
import Errand
import Foundation
import Synchronization

/// Sends one request to a server that sends bytes without an end, and meanwhile one after the other to a neighbour, through one
/// transport.
///
/// Prints how the request has ended, and whether the neighbour was slow.
struct Starvation {
    /// What ends the request.
    enum Limit: String {
        case timeout, deadline, cancel, nothing
    }

    let limit: Limit
    let flooding: URL
    let neighbour: URL
    let proxy: URL?
    let authority: URL?

    /// The longest that a request to the neighbour may take: far more than a loop may be blocked, and less than any timeout.
    private static let bound = Duration.seconds(5)
    private static let time = Duration.milliseconds(400)

    func run() -> Never {
        Task.detached {
            let transport = try CurlTransport(configuration)
            let hasEnded = Atomic(false)
            async let ending = ending(transport, hasEnded)
            var (slowest, count) = (Duration.zero, 0)
            // Also some after the end, on the same loop.
            var rest = 3
            while rest > 0 {
                if hasEnded.load(ordering: .acquiring) { rest -= 1 }
                let start = ContinuousClock.now
                guard try await transport.send(HTTPRequest(.get, neighbour)).status == 200 else { exit(1) }
                slowest = max(slowest, start.duration(to: .now))
                count += 1
            }
            printLine(await ending)
            printLine(slowest < Self.bound ? "quick" : "slow: \(slowest), \(count) requests")
            exit(0)
        }
        dispatchMain()
    }

    private var configuration: TransportConfiguration {
        var configuration = TransportConfiguration()
        configuration.proxy = proxy.map { .url($0) } ?? .none
        if let authority { configuration.tls.additionalAuthorities = .file(authority) }
        return configuration
    }

    private func ending(_ transport: CurlTransport, _ hasEnded: borrowing Atomic<Bool>) async -> String {
        defer { hasEnded.store(true, ordering: .releasing) }
        let request = request
        let task = Task {
            do throws(TransportError) {
                return "\(try await transport.send(request).status)"
            } catch {
                return "\(error.kind)"
            }
        }
        if limit == .cancel {
            try? await Task.sleep(for: Self.time)
            task.cancel()
        }
        return await task.value
    }

    private var request: HTTPRequest {
        var request = HTTPRequest(.get, flooding)
        switch limit {
        case .timeout: request.timeout = Self.time
        case .deadline: request.deadline = Self.time
        // Of a version of libcurl that returns.
        case .nothing: request.timeout = .seconds(3)
        case .cancel: break
        }
        return request
    }
}
#endif
