import Errand
import Foundation

/// Loads through a cache as several processes do that share its folder, and prints a line for each load.
///
/// The commands are executed in order; their arguments are separated by commas:
/// `load,<path>,<tag>[,<color>[,reload]]`, `clear`, `logout`, `evict`, `capacity,<bytes>`, `remove,<file>`,
/// `churn,<seed>,<count>`.
@MainActor struct CacheProbe {
    private let folder: URL
    private let jar: CookieJar
    private let network = CacheNetwork()
    private var proxy: APIProxy
    private var lines: [String] = []
    private var problems: CacheProblems

    static func run(_ commands: [String], on folder: URL, jar: URL) -> Never {
        Task { @MainActor in
            var probe = CacheProbe(folder: folder, jar: jar)
            for command in commands {
                await probe.execute(command.split(separator: ",", omittingEmptySubsequences: false))
            }
            APICache.waitForReports()
            // At the end, so that the writes of the cache are the first ones of this process.
            for line in probe.lines + probe.problems.lines { printLine(line) }
            _exit(0)
        }
        dispatchMain()
    }

    private init(folder: URL, jar: URL) {
        (self.folder, self.jar, problems) = (folder, CookieJar(file: jar), CacheProblems())
        proxy = Self.proxy(APICache(folder: folder), self.jar, network, problems)
    }

    private static func proxy(
        _ cache: APICache,
        _ jar: CookieJar,
        _ network: CacheNetwork,
        _ problems: CacheProblems
    ) -> APIProxy {
        var service = APIService(baseURL: URL(string: "http://shop.test/") ?? URL(filePath: "/"))
        (service.envelope, service.failureReader, service.retryPolicy) = (nil, nil, .never)
        let proxy = APIProxy(
            service: service,
            transport: network,
            cookies: jar,
            clock: CacheClock(),
            cache: cache
        )
        proxy.onError = problems.add
        return proxy
    }

    private mutating func execute(_ command: [Substring]) async {
        let argument = command.dropFirst().first.map(String.init) ?? ""
        switch command[0] {
        case "load":
            let color = command.count > 3 && !command[3].isEmpty ? String(command[3]) : nil
            let answer = await load(argument, String(command[2]), color, reloads: command.last == "reload")
            lines.append("\(argument) \(answer)")
        case "clear": proxy.cache?.removeAll()
        case "logout": proxy.logout()
        case "evict": proxy.cache?.waitForEviction()
        case "capacity":
            proxy = Self.proxy(APICache(folder: folder, capacity: Int(argument) ?? 0), jar, network, problems)
        case "remove": unlink(argument)
        case "churn": await churn(UInt64(argument) ?? 0, count: command.last.flatMap { Int($0) } ?? 0)
        default: exit(64)
        }
    }

    private func load(_ path: String, _ tag: String, _ color: String?, reloads: Bool) async -> String {
        network.tag.withLock { $0 = tag }
        let request = APIRequest(
            "/" + path,
            headers: ["X-Color": color],
            responseSerializer: ResponseSerializer { response, _ in response },
            options: APIRequestOptions(cachePolicy: reloads ? .reload : .http),
            proxy: proxy
        )
        do throws(APIError) {
            let response = try await request.value()
            let received = response.headers["X-Tag"] ?? ""
            let expected = CacheNetwork.response(path: "/" + path, color: color, tag: received)
            let isWhole = response.body == expected.body && response.headers["ETag"] == expected.headers["ETag"]
            return "\(received) \(response.source)\(isWhole ? "" : " broken")"
        } catch {
            return "failed \(error.type)"
        }
    }

    /// Loads, clears and evicts at random, and counts the hits and what is wrong.
    private mutating func churn(_ seed: UInt64, count: Int) async {
        var (state, hits, wrong) = (seed, 0, [String]())
        for number in 0..<count {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let random = Int(state >> 33)
            let path = "\(random % 9)?size=\([100, 5_000, 70_000][random % 3])\(random % 9 < 3 ? "&vary" : "")"
            let answer = await load(path, "\(seed)-\(number)", "\(random / 9 % 3)", reloads: random / 27 % 4 == 0)
            if answer.hasSuffix(" cache") { hits += 1 }
            if answer.hasSuffix("broken") || answer.hasPrefix("failed") { wrong.append("\(path) \(answer)") }
            if random / 108 % 40 == 0 { proxy.cache?.removeAll() }
            if random / 108 % 40 == 1 { proxy.cache?.waitForEviction() }
            if random / 108 % 60 == 2 { proxy.logout() }
        }
        lines.append("churned \(hits > 0 ? "with hits" : "without a hit")")
        lines += wrong
    }
}

/// The network of the tests: a response is known by its path and tag.
private final class CacheNetwork: HTTPTransport {
    let tag = Lock("")

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        let query = request.url.query(percentEncoded: true).map { "?\($0)" } ?? ""
        return Self.response(
            path: request.url.path + query,
            color: request.headers["X-Color"],
            tag: tag.withLock { $0 }
        )
    }

    static func response(path: String, color: String?, tag: String) -> HTTPResponse {
        let size = path.firstMatch(of: /size=([0-9]+)/).flatMap { Int($0.1) } ?? 100
        let isVaried = path.contains("vary")
        let pattern = Array("\(tag) \(path) \(isVaried ? color ?? "-" : "");".utf8)
        var headers: HTTPHeaders = [
            "Cache-Control": "max-age=1000000", "ETag": "\"\(tag)\"", "X-Tag": tag, "X-Path": path,
        ]
        if isVaried { headers.append("Vary", "X-Color") }
        let body = (0..<size / pattern.count + 1).flatMap { _ in pattern }.prefix(size)
        return HTTPResponse(status: 200, headers: headers, body: Data(body))
    }
}

/// Collects the problems of a cache.
private final class CacheProblems: Sendable {
    private let found = Lock<[String]>([])
    var lines: [String] { found.withLock { $0 } }

    @Sendable func add(_ error: any Error) {
        guard let error = error as? APICacheError else { return }
        found.withLock { $0.append("problem \(error.kind)") }
    }
}

/// The date of the tests.
private struct CacheClock: APIClock {
    var uptime: Duration { .zero }
    var date: Date { Date(timeIntervalSince1970: 1_700_000_000) }
    func sleep(for duration: Duration) async throws(CancellationError) {
        do { try await Task.sleep(for: duration) } catch { throw CancellationError() }
    }
}
