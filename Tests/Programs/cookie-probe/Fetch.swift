import Errand
import Foundation

/// Sends a request to each URL through one kind of transport, and prints the statuses and the kinds of errors.
enum Fetch {
    static func run(_ kind: String, _ urls: [URL]) -> Never {
        Task.detached {
            let transport = make(kind)
            for url in urls { printLine(await ending(HTTPRequest(.get, url), transport)) }
            exit(0)
        }
        dispatchMain()
    }

    private static func make(_ kind: String) -> any HTTPTransport {
        #if os(Linux)
        if kind == "curl", let transport = try? CurlTransport() { return transport }
        #endif
        return URLSessionTransport()
    }

    private static func ending(_ request: HTTPRequest, _ transport: any HTTPTransport) async -> String {
        do throws(TransportError) {
            return "\(try await transport.send(request, progress: nil).status)"
        } catch {
            return "\(error.kind)"
        }
    }
}
