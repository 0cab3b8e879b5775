#if os(Linux)
import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// The memory and connections that many requests, and hostile responses, use in a separate process.
@MainActor @Suite("Resources of a process with libcurl", .limitedConcurrency, .timeLimit(.minutes(20)))
struct CurlResourceTests {
    // MARK: Many requests

    @Test(.fault(17)) func `Ten thousand loads that one call cancels use no memory or connections after that`() async {
        await #expect(processExitsWith: .success) { try await Self.cancelLoads() }
    }

    private static func cancelLoads() async throws {
        let connections = openable(CookieProbe.runsSlowTests ? 10_000 : 1_000)
        let gate = Gate()
        let server = try FixtureServer.start { _ in Response.json(bytes: goodsJSON([]).utf8).preceded(by: .pass(gate)) }
        let proxy = try proxy(server, over: connections)
        let screen = Screen()
        let requests = (0..<10_000).map { _ in GoodsRequest(delegate: screen, proxy: proxy) }
        // Measured after the first round, in which threads, tables and the test's objects are allocated.
        var memory = 0
        // Only two rounds, because a port that a client has closed cannot be used again for some time.
        for round in 1...2 {
            for request in requests { request.loadData() }
            #expect(await server.waitForTotalRequests(connections * round, timeout: .seconds(60)))
            #expect(server.openConnections == connections)
            cancelAll(proxy)
            #expect(await screen.endings(of: requests).allSatisfy { $0 == .cancelled })
            #expect(await server.waitForOpenConnections(0))
            if round == 1 { memory = ProcessMemory.resident }
        }
        gate.open()
        await sentinel(proxy)
        #expect(screen.events.count == 2 * requests.count)
        let growth = ProcessMemory.resident - memory
        #expect(growth < 20_000_000, "\(growth) bytes more than before")
    }

    private static func proxy(_ server: FixtureServer, over connections: Int) throws -> APIProxy {
        var configuration = TransportConfiguration()
        configuration.connectionsPerHost = connections
        configuration.connections = connections
        return APIProxy(
            service: APIService(baseURL: server.baseURL),
            transport: try CurlTransport(configuration),
            queueLimits: QueueLimits(perHost: connections, total: connections)
        )
    }

    private static func cancelAll(_ proxy: APIProxy) {
        let start = ContinuousClock.now
        proxy.cancelAllRequests()
        let duration = start.duration(to: .now)
        #expect(proxy.activeRequests.isEmpty)
        // An unoptimized build is about five times slower.
        let limit = Duration.milliseconds(_isDebugAssertConfiguration() ? 500 : 100)
        if CookieProbe.runsSlowTests { #expect(duration < limit) }
    }

    /// How many connections can be open with both ends in this process, after its limit of descriptors is raised.
    private static func openable(_ connections: Int) -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        getrlimit(resource, &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
        return min(connections, Int(clamping: limit.rlim_max) / 2 - 250)
    }

    @Test(.fault(71))
    func `A callback may begin the next load any number of times without growth of stack and memory`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .json(bytes: goodsJSON([]).utf8) }
            try await Chain(APIProxy(service: APIService(baseURL: server.baseURL), transport: CurlTransport()), server)
                .run(loads: CookieProbe.runsSlowTests ? 1_000_000 : 10_000)
        }
    }

    // MARK: Hostile responses

    @Test(.fault(52)) func `Bombs of a gigabyte end at the limit, use little memory, and harm no others`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { request in
                Bomb(rawValue: String(request.path.dropFirst()))?.response ?? .text("ok")
            }
            let transport = try CurlTransport()
            for bomb in Bomb.allCases {
                async let other = transport.send(HTTPRequest(.get, server.url("/other")))
                var request = HTTPRequest(.get, server.url("/\(bomb.rawValue)"))
                request.limits.bodyBytes = 10_000_000
                #expect(await transport.ending(of: request) == bomb.ending, "\(bomb)")
                #expect(try await other.status == 200)
            }
            #expect(ProcessMemory.peak < 150_000_000, "\(ProcessMemory.peak) bytes")
        }
    }
}

/// Compressed zeros.
private enum Bomb: String, CaseIterable {
    case harmless, gzip, deflate, brotli, zstd, nested

    /// How the request ends; more than two codings are refused before anything is decoded.
    var ending: TransportError.Kind? {
        switch self {
        case .harmless: nil
        case .nested: .badResponse
        default: .responseTooLarge
        }
    }

    var response: Response { .bytes(bytes, headers: ["Content-Encoding": coding]) }

    private var coding: String {
        switch self {
        case .harmless, .gzip: "gzip"
        case .deflate: "deflate"
        case .brotli: "br"
        case .zstd: "zstd"
        case .nested: "br, gzip, gzip"
        }
    }

    private var bytes: [UInt8] {
        switch self {
        case .harmless: DecompressionBomb.gzip(1 << 20)
        case .gzip: DecompressionBomb.gzip(1 << 30)
        case .deflate: DecompressionBomb.zlib(1 << 30)
        case .brotli: Self.brotliZeros
        case .zstd: Self.zstdZeros
        case .nested: Gzip.encode(Gzip.encode(Self.brotliZeros))
        }
    }

    /// 16 MiB (RFC 7932).
    private static let brotliZeros: [UInt8] = [
        0x9F, 0xFF, 0xFF, 0xFF, 0x00, 0x24, 0x00, 0xE2, 0xB1, 0x40, 0x72, 0xEF, 0xFF, 0x01,
    ]

    /// 1 GiB: a frame with a window of 128 KiB, and blocks of as many zeros in four bytes each (RFC 8878 section 3.1.1).
    private static var zstdZeros: [UInt8] {
        let block: [UInt8] = [0x02, 0x00, 0x10, 0x00], last: [UInt8] = [0x03, 0x00, 0x10, 0x00]
        return [0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38] + Array(repeatElement(block, count: 8_191).joined()) + last
    }
}

/// Sixteen chains of loads that each begin in the callback of the one before.
@MainActor private final class Chain: APIManagerCallbackDelegate {
    private let requests: [GoodsRequest]
    private let server: FixtureServer
    private var toBegin = 0
    private var toEnd = 0
    /// The addresses of the callbacks' frames on each thread's stack; the main actor's thread may change.
    private var frames: [pthread_t: (least: Int, greatest: Int)] = [:]
    private var end: CheckedContinuation<Void, Never>?

    init(_ proxy: APIProxy, _ server: FixtureServer) {
        requests = (0..<16).map { _ in GoodsRequest(proxy: proxy) }
        self.server = server
        for request in requests { request.delegate = self }
    }

    func run(loads: Int) async throws {
        await run(loads / 10)
        let memory = ProcessMemory.resident
        await run(loads - loads / 10)
        #expect(server.totalRequests == loads, "\(server.totalRequests) requests")
        #expect(frames.values.allSatisfy { $0.greatest - $0.least < 65_536 }, "\(frames)")
        let growth = ProcessMemory.resident - memory
        #expect(growth < 4_000_000, "\(growth) bytes more than after a tenth")
    }

    private func run(_ loads: Int) async {
        (toBegin, toEnd) = (loads - requests.count, loads)
        await withCheckedContinuation { end in
            self.end = end
            for request in requests { request.loadData() }
        }
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        var here: UInt8 = 0
        let frame = withUnsafeMutablePointer(to: &here) { Int(bitPattern: $0) }
        let others = frames[pthread_self()] ?? (frame, frame)
        frames[pthread_self()] = (min(others.least, frame), max(others.greatest, frame))
        toEnd -= 1
        if toEnd % 1_000 == 0 { server.removeRecordedRequests() }
        if toEnd == 0 { end?.resume() }
        guard toBegin > 0 else { return }
        toBegin -= 1
        (request as? GoodsRequest)?.loadData()
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        Issue.record(error)
        end?.resume()
    }
}
#endif
