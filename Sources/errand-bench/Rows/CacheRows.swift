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

    /// The CPU time of a whole load without decoding, whose 2.6 KB are stored.
    private func hit(_ count: Int) async throws -> Double {
        let body = Scripted.goods.body
        let proxy = proxy(APICache(folder: folder.appending(path: "hit"))) { _ in
            HTTPResponse(status: 200, headers: ["Cache-Control": "max-age=3600"], body: body)
        }
        let loads = DataLoads(proxy, path: "/goods")
        try await loads.run(1)
        try await loads.run(64)
        guard loads.newest?.source == .cache else { throw BenchFailure("the response does not come from the cache") }
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
        let cached = DataLoads(proxy(APICache(folder: folder.appending(path: "miss")), respond), path: "/goods")
        let plain = DataLoads(proxy(nil, respond), path: "/goods")
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
        for number in 0..<64 { _ = try await DataLoads.load("/large/\(number)", on: fill) }
        for number in 0..<entries { _ = try await DataLoads.load("/\(number)", on: fill) }
        let meter = Meter()
        let reopened = proxy(APICache(folder: path, capacity: 1 << 40)) { _ in HTTPResponse(status: 500) }
        let response = try await DataLoads.load("/\(entries / 2)", on: reopened)
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

/// Loads of one path, 64 at a time.
@MainActor private final class DataLoads: APIManagerCallbackDelegate {
    private var requests: [APIRequest<Data>] = []
    private(set) var newest: APIResponse?
    private var toBegin = 0
    private var toEnd = 0
    private var continuation: CheckedContinuation<Void, any Error>?

    init(_ proxy: APIProxy, path: String) {
        requests = (0..<64).map { _ in
            APIRequest(path, responseSerializer: .data, delegate: self, proxy: proxy)
        }
    }

    static func load(_ path: String, on proxy: APIProxy) async throws -> APIResponse? {
        let request = APIRequest(path, responseSerializer: .data, proxy: proxy)
        _ = try await request.value()
        return request.rawResponse
    }

    func run(_ count: Int) async throws {
        (toBegin, toEnd) = (count, count)
        try await withCheckedThrowingContinuation { continuation in
            self.continuation = continuation
            for request in requests { loadNext(request) }
        }
        newest = requests[0].rawResponse
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        toEnd -= 1
        guard toEnd > 0 else { return end() }
        loadNext(request as? APIRequest<Data>)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { end(throwing: error) }

    private func loadNext(_ request: APIRequest<Data>?) {
        guard toBegin > 0 else { return }
        toBegin -= 1
        request?.loadData()
    }

    private func end(throwing error: (any Error)? = nil) {
        toBegin = 0
        continuation?.resume(with: error.map { .failure($0) } ?? .success(()))
        continuation = nil
    }
}
