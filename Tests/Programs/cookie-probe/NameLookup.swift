import Errand
import Foundation

/// Sends requests to hosts whose name lookup hangs, and prints how these and the requests to another host end.
enum NameLookup {
    /// More than the threads of a resolver that limits them, and less than the proxy's limit of loads.
    private static let count = 40
    private static let proxy = APIProxy()

    static func run(_ responding: URL) -> Never {
        Task.detached {
            let waiting = (0..<count).map { number in Task { await ending(host(number)) } }
            var (silent, late) = (host(count), host(count + 1))
            silent.timeout = .milliseconds(300)
            late.deadline = .milliseconds(300)
            async let limited = [ending(silent), ending(late)]
            for _ in 0..<count { printLine(await ending(HTTPRequest(.get, responding))) }
            for end in await limited { printLine(end) }
            waiting.forEach { $0.cancel() }
            for task in waiting { printLine(await task.value) }
            exit(0)
        }
        dispatchMain()
    }

    private static func host(_ number: Int) -> HTTPRequest {
        guard let url = URL(string: "http://host\(number).example/") else { exit(64) }
        return HTTPRequest(.get, url)
    }

    private static func ending(_ request: HTTPRequest) async -> String {
        do throws(APIError) {
            return try await proxy.send(request).text
        } catch {
            return "\(error.type)"
        }
    }
}
