import Errand
import ErrandTesting
import Foundation

/// Loads with a cache: what a hit costs, what a miss adds, how fast a full folder is opened, and what a killed process leaves.
@MainActor struct CacheCosts: Workload {
    /// The argument of the process that is killed.
    static let command = "cache-client"
    private static let keys = 50
    /// The results of the suite of HTTP caches, which a test writes.
    private static let results = URL(filePath: ".build/cache-tests-errand-summary.json")

    private let folder = FileManager.default.temporaryDirectory.appending(path: "errand-bench-\(UUID().uuidString)")

    func run(_ order: Order) async throws -> Measurement {
        defer { try? FileManager.default.removeItem(at: folder) }
        var result: Measurement = [.hit: try await hit(order.requests)]
        result[.miss] = try await addedByMiss(order.requests)
        result[.open] = try await open(entries: order.concurrency, bytes: order.bytes)
        (result[.kills], result[.killCorrupt]) = (Double(order.kills), try await corruptAfterKills(order.kills))
        if let summary = try? JSONDecoder().decode([String: Double].self, from: Data(contentsOf: Self.results)) {
            (result[.required], result[.optimal]) = (summary["required"], summary["optimal"])
        }
        return result
    }

    // MARK: Costs

    private func proxy(_ cache: APICache?, _ respond: @escaping @Sendable (HTTPRequest) -> HTTPResponse) -> APIProxy {
        let transport = ScriptedTransport(keepsRequests: false) { respond($0) }
        var service = Scripted.service
        service.envelope = nil
        let jar = CookieJar(file: folder.appending(path: "cookies.txt"))
        return APIProxy(service: service, transport: transport, cookies: jar, cache: cache)
    }

    /// 64 requests.
    private static func loop(on proxy: APIProxy) -> LoadLoop<APIRequest<Data>> {
        LoadLoop(64) { APIRequest("/goods", responseSerializer: .data, delegate: $0, proxy: proxy) }
    }

    private static func load(_ path: String, on proxy: APIProxy) async throws -> APIResponse? {
        let request = APIRequest(path, responseSerializer: .data, proxy: proxy)
        _ = try await request.value()
        return request.rawResponse
    }

    /// The CPU time of a whole load without decoding, whose 2.6 KB are stored.
    private func hit(_ count: Int) async throws -> Double {
        let body = Scripted.goods.body
        let proxy = proxy(APICache(folder: folder.appending(path: "hit"))) { _ in
            HTTPResponse(status: 200, headers: ["Cache-Control": "max-age=3600"], body: body)
        }
        let loads = Self.loop(on: proxy)
        try await loads.run(1)
        try await loads.run(64)
        guard loads.requests[0].rawResponse?.source == .cache else {
            throw BenchFailure("the response does not come from the cache")
        }
        let meter = Meter()
        try await loads.run(count)
        return meter.cpuSeconds / Double(count)
    }

    /// The CPU time of loads whose responses are not stored, with a cache minus without one; the median of the rounds.
    private func addedByMiss(_ count: Int) async throws -> Double {
        let body = Scripted.goods.body
        let respond = { @Sendable (_: HTTPRequest) in
            HTTPResponse(status: 200, headers: ["Cache-Control": "no-store"], body: body)
        }
        let cached = Self.loop(on: proxy(APICache(folder: folder.appending(path: "miss")), respond))
        let plain = Self.loop(on: proxy(nil, respond))
        var added: [Double] = []
        for _ in 0..<9 {
            var seconds: [Double] = []
            for loads in [plain, cached] {
                let meter = Meter()
                try await loads.run(count / 9)
                seconds.append(meter.cpuSeconds)
            }
            added.append((seconds[1] - seconds[0]) / Double(count / 9))
        }
        return added.median
    }

    /// The time until a new object has its first hit in a folder with this many responses and large bodies.
    private func open(entries: Int, bytes: Int) async throws -> Double {
        let path = folder.appending(path: "open")
        let large = Data(count: bytes / 64)
        let fill = proxy(APICache(folder: path, capacity: 1 << 40)) { request in
            let isLarge = request.url.path.hasPrefix("/large")
            return HTTPResponse(
                status: 200,
                headers: ["Cache-Control": "max-age=3600"],
                body: isLarge ? large : Scripted.goods.body
            )
        }
        for number in 0..<64 { _ = try await Self.load("/large/\(number)", on: fill) }
        for number in 0..<entries { _ = try await Self.load("/\(number)", on: fill) }
        let meter = Meter()
        let reopened = proxy(APICache(folder: path, capacity: 1 << 40)) { _ in HTTPResponse(status: 500) }
        let response = try await Self.load("/\(entries / 2)", on: reopened)
        let seconds = meter.seconds
        guard response?.source == .cache else { throw BenchFailure("nothing was found") }
        return seconds
    }

    // MARK: Kills

    /// Kills processes that store without end; returns how many stored responses are not what was sent.
    private func corruptAfterKills(_ kills: Int) async throws -> Double {
        let path = folder.appending(path: "kill")
        try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
        var corrupt = 0
        for _ in 0..<kills {
            let child = try Child([Self.command, path.path])
            _ = try child.readLine()
            try await Task.sleep(for: .microseconds(.random(in: 0..<20_000)))
            child.kill()
            let proxy = Self.killedProxy(path) { _ in HTTPResponse(status: 500) }
            for key in 0..<Self.keys {
                let request = Self.request(key, .onlyIfCached, on: proxy)
                guard let body = try? await request.value() else { continue }
                if !Self.isWhole(body, of: key) { corrupt += 1 }
            }
        }
        return Double(corrupt)
    }

    private static func killedProxy(
        _ path: URL,
        _ respond: @escaping @Sendable (HTTPRequest) -> HTTPResponse
    ) -> APIProxy {
        var service = Scripted.service
        (service.envelope, service.retryPolicy) = (nil, .never)
        return APIProxy(
            service: service,
            transport: ScriptedTransport(keepsRequests: false) { respond($0) },
            cookies: CookieJar(file: path.appending(path: "cookies.txt")),
            cache: APICache(folder: path.appending(path: "cache"), capacity: 10_000_000)
        )
    }

    private static func request(_ key: Int, _ policy: CachePolicy, on proxy: APIProxy) -> APIRequest<Data> {
        APIRequest("/\(key)", responseSerializer: .data, options: APIRequestOptions(cachePolicy: policy), proxy: proxy)
    }

    /// One byte of the key, and another one of the version, again and again.
    private static func isWhole(_ body: Data, of key: Int) -> Bool {
        guard body.count > 1, body.count % 2 == 0 else { return false }
        let version = body[1]
        return stride(from: 0, to: body.count, by: 2).allSatisfy { body[$0] == UInt8(key) && body[$0 + 1] == version }
    }

    /// The process that is killed.
    static func runClient(_ arguments: [String]) async throws {
        guard arguments.count == 1 else { throw BenchFailure("no folder") }
        let proxy = killedProxy(URL(filePath: arguments[0])) { request in
            let key = UInt8(request.url.lastPathComponent) ?? 0
            // Some have a file of their own.
            let pairs = Int.random(in: 1..<100_000)
            let body = Data(repeatElement([key, .random(in: 0...255)] as [UInt8], count: pairs).joined())
            return HTTPResponse(status: 200, headers: ["Cache-Control": "max-age=3600"], body: body)
        }
        print("ready")
        fflush(nil)
        while true { _ = try await request(.random(in: 0..<keys), .reload, on: proxy).value() }
    }
}
