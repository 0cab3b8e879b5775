#if os(Linux)
import ErrandTesting
import FixtureServer
import Foundation
import Synchronization
import Testing
import TestSockets
import TestSupport
@testable import Errand
@testable import ErrandTestSupport

@Suite("A process with libcurl", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CurlProcessTests {
    @Test func `Without libcurl, URLSession is used and the reason is known`() async {
        await #expect(processExitsWith: .success) {
            setenv("ERRAND_HIDE_LIBCURL", "1", 1)
            #expect(CurlTransport.unavailableReason?.contains("ERRAND_HIDE_LIBCURL") == true)
            #expect(CurlLibrary.version.isEmpty)
            #expect(throws: TransportError.self) { try CurlTransport() }
            #expect(SystemTransport().platform is URLSessionTransport)
        }
    }

    @Test func `With libcurl, it sends the requests`() {
        #expect(CurlTransport.unavailableReason == nil)
        #expect(SystemTransport().platform is CurlTransport)
    }

    @Test(.fault(40)) func `Without memory for a thread no transport starts, and a later request tries again`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .text("ok") }
            // So that libcurl and what it needs are loaded; it keeps its thread, whose stack another one would get.
            let transport = try CurlTransport()
            #expect(try await transport.send(HTTPRequest(.get, server.url("/"))).status == 200)
            let kind = __rlimit_resource_t(RLIMIT_AS.rawValue)
            var former = rlimit()
            try #require(getrlimit(kind, &former) == 0)
            var limit = former
            // A thread needs 8 MB for its stack.
            limit.rlim_cur = rlim_t(ProcessMemory.virtual + 4_000_000)
            try #require(setrlimit(kind, &limit) == 0)
            let descriptors = try SocketTable.totalDescriptors()
            let isStarted = CurlLoop(CurlSettings()) != nil
            let openDescriptors = try SocketTable.totalDescriptors()
            try #require(setrlimit(kind, &former) == 0)
            #expect(!isStarted)
            #expect(openDescriptors == descriptors)
            let loop = try #require(CurlLoop(CurlSettings()))
            loop.stop()
            withExtendedLifetime(transport) {}
        }
    }

    @Test(.fault(77)) func `A process may end while requests are in flight`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            let server = try FixtureServer.start { _ in .hang }
            let transport = try CurlTransport()
            for _ in 0..<100 {
                Task { try await transport.send(HTTPRequest(.get, server.url("/"))) }
            }
            #expect(await server.waitForTotalRequests(16))
            exit(7)
        }
    }

    @Test(.enabled(if: TestAuthority.isAvailable, "openssl is not installed"))
    func `An encrypted key without a password is an error, for which nobody is asked`() async {
        await #expect(processExitsWith: .success) {
            let authority = try TestAuthority()
            let server = try FixtureServer.start { _, _ in .onAccept(.hang) }
            let origin = URL("https://127.0.0.1:\(server.port)")
            // Without a terminal, and with an input that never ends.
            setsid()
            let input = Pipe()
            dup2(input.fileHandleForReading.fileDescriptor, STDIN_FILENO)
            alarm(60)
            var configuration = TransportConfiguration()
            configuration.tls.clientIdentity = ClientIdentity(
                certificate: authority.identity("client"),
                privateKey: try authority.encryptedKey("client", "pass"),
                origins: [origin]
            )
            let transport = try CurlTransport(configuration)
            let error = await #expect(throws: TransportError.self) {
                try await transport.send(HTTPRequest(.get, origin))
            }
            #expect(error?.kind == .security && error?.reason.contains(authority.directory.path) == false)
            withExtendedLifetime((authority, input)) {}
        }
    }

    @Test(.fault(77), .enabled(if: TestAuthority.isAvailable, "openssl is not installed"))
    func `A process may end while TLS connections are opened`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            let authority = try TestAuthority()
            let command = ["openssl", "s_server", "-accept", "0", "-www", "-cert", "server.pem"]
            let output = Pipe()
            let program = try TestProgram(command, in: authority.directory, output: output)
            let port = try #require(try output.line(behind: "ACCEPT ").split(separator: ":").last)
            let url = try #require(URL(string: "https://127.0.0.1:\(port)/"))
            let transport = try CurlTransport()
            for _ in 0..<100 {
                Task { while true { _ = try? await transport.send(HTTPRequest(.get, url)) } }
            }
            _ = try? await transport.send(HTTPRequest(.get, url))
            withExtendedLifetime(authority) { program.stop() }
            exit(7)
        }
    }

    @Test(.fault(78)) func `Programs that the process starts while requests run inherit no descriptor`() async {
        await #expect(processExitsWith: .success) {
            test_sockets_stay_as_requested()
            let before = try Self.inheritedDescriptors()
            var options = ServerOptions()
            options.bodyHandling = { _ in .pause(after: 1_000, until: Gate()) }
            let server = try FixtureServer.start(options) { request in
                guard request.path == "/drip" else { return .text("ok").followed(by: .close) }
                return .script(.write("HTTP/1.1 200 OK\r\n\r\nabc"), .hang)
            }
            let (file, place) = (try TemporaryFile(zeros: 1 << 30), try TemporaryFile(Data()))
            var download = HTTPRequest(.get, server.url("/drip"))
            download.destination = .file(place.url)
            let upload = HTTPRequest(.put, server.url("/"), body: .file(file.url))
            let transport = try CurlTransport()
            for request in [download, upload] { Task { try await transport.send(request) } }
            try await until {
                let folder = place.url.deletingLastPathComponent().path
                let files = try SocketTable.openFiles()
                return files.contains(file.url.path) && files.contains { $0.hasPrefix(folder) }
            }
            for _ in 0..<8 { Task { while true { _ = try await transport.send(HTTPRequest(.get, server.url("/"))) } } }
            try await until { server.totalConnections > 2 }
            for _ in 0..<30 {
                // On one core the requests use the thread of this task.
                await Task.yield()
                let inherited = try Self.inheritedDescriptors().filter { !before.contains($0) }
                #expect(inherited.isEmpty, "\(inherited)")
            }
            withExtendedLifetime(server) {}
        }
    }

    @Test(.fault(95)) func `Sockets that other threads open meanwhile are not changed`() async {
        await #expect(processExitsWith: .success) {
            try #require(CurlTransport.unavailableReason == nil)
            let pairs = SocketPairs()
            for _ in 0..<3 { Thread { pairs.openUntilDone() }.start() }
            var loops = 0
            while loops < 200 || pairs.opened.load(ordering: .relaxed) < 2_000 {
                // The threads of the loops before may still have their descriptors.
                guard let loop = CurlLoop(CurlSettings()) else { continue }
                loop.stop()
                loops += 1
            }
            pairs.isDone.store(true, ordering: .relaxed)
            #expect(pairs.changed.load(ordering: .relaxed) == 0)
        }
    }

    /// The open files of a program that starts now, without its three standard streams.
    private static func inheritedDescriptors() throws -> [String] {
        let pipe = try #require(popen("ls -l /proc/self/fd", "r"))
        defer { pclose(pipe) }
        // This process may have inherited a thousand descriptors itself.
        let bytes = try #require(try FileHandle(fileDescriptor: fileno(pipe)).readToEnd())
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        return lines.compactMap { line in
            guard let arrow = line.firstRange(of: " -> ") else { return nil }
            let number = line[..<arrow.lowerBound].split(separator: " ").last.flatMap { Int($0) }
            guard let number, number > 2 else { return nil }
            let target = line[arrow.upperBound...]
            // The files that this process inherited may be deleted meanwhile.
            return target.hasPrefix("/proc/") ? nil : String(target).replacing(" (deleted)", with: "")
        }
    }

    @Test(.fault(67)) func `A process without free descriptors recovers`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .text("ok").delayed(by: .milliseconds(1)) }
            let transport = try CurlTransport()
            try DescriptorLimit.leave(50)
            let kinds = await withTaskGroup(of: TransportError.Kind?.self) { group in
                for number in 0..<1_000 {
                    let url = server.url("/", host: "127.0.0.\(1 + number % 20)")
                    group.addTask { await Self.ending(transport, url) }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(kinds.count == 1_000)
            // The server is in this process too: a connection that it has no descriptor to accept waits until the deadline.
            #expect(kinds.allSatisfy { [nil, .cannotConnect, .connectionLost, .timeout].contains($0) })
            #expect(await Self.ending(transport, server.url("/")) == nil)
        }
    }

    private static func ending(_ transport: CurlTransport, _ url: URL) async -> TransportError.Kind? {
        var request = HTTPRequest(.get, url)
        request.deadline = .seconds(10)
        return await transport.ending(of: request)
    }

    @Test func `A broken connection does not raise a signal`() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            let server = try FixtureServer.start { _, _ in .onHead(.reset) }
            let transport = try CurlTransport()
            for _ in 0..<20 {
                let body = HTTPBody.data(Data(repeating: 1, count: 3_000_000))
                _ = try? await transport.send(HTTPRequest(.put, server.url("/"), body: body))
            }
        }
    }
}

/// Pairs of sockets that threads open and use.
private final class SocketPairs: Sendable {
    let isDone = Atomic(false)
    let opened = Atomic(0)
    /// How many of the sockets became close-on-exec.
    let changed = Atomic(0)

    func openUntilDone() {
        while !isDone.load(ordering: .relaxed) { open() }
    }

    private func open() {
        var pair: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else { return }
        defer { for number in pair { close(number) } }
        opened.add(1, ordering: .relaxed)
        var byte: UInt8 = 1
        for _ in 0..<20 {
            _ = write(pair[0], &byte, 1)
            _ = read(pair[1], &byte, 1)
        }
        changed.add(pair.count { fcntl($0, F_GETFD) != 0 }, ordering: .relaxed)
    }
}

/// The memory and connections that many requests, and hostile responses, use in a separate process.
@MainActor @Suite("Resources of a process with libcurl", .limitedConcurrency, .timeLimit(.minutes(20)))
struct CurlResourceTests {
    // MARK: Many requests

    @Test(.fault(17)) func `Thousands of loads that one call cancels use no memory or connections after that`() async {
        await #expect(processExitsWith: .success) { try await Self.cancelLoads() }
    }

    private static func cancelLoads() async throws {
        let connections = openable(CookieProbe.runsSlowTests ? 10_000 : 1_000)
        let gate = Gate()
        let server = try FixtureServer.start { _ in Response.json(bytes: goodsJSON([]).utf8).preceded(by: .pass(gate)) }
        let proxy = try proxy(server, over: connections)
        let screen = Screen()
        let requests = (0..<rounds(10_000)).map { _ in GoodsRequest(delegate: screen, proxy: proxy) }
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

    // An exit test blocks a thread while its process runs, which takes minutes with a million loads.
    @Test(.fault(71), .blocksThread)
    func `A callback may begin the next load any number of times without growth of stack and memory`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .json(bytes: goodsJSON([]).utf8) }
            try await Chain(APIProxy(service: APIService(baseURL: server.baseURL), transport: CurlTransport()), server)
                .run(loads: rounds(10_000, slow: 1_000_000))
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

@Suite("A process without free descriptors", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CurlScarcityTests {
    /// Limits the descriptors and opens all remaining ones, or all but the last eight, which are not for sockets.
    private static func takeDescriptors(butEight: Bool = false) throws -> [CInt] {
        try DescriptorLimit.leave(100)
        var hoard: [CInt] = []
        while case let number = dup(0), number >= 0 { hoard.append(number) }
        if butEight {
            for number in hoard.suffix(8) { close(number) }
            hoard.removeLast(8)
        }
        return hoard
    }

    @Test(.fault(95)) func `The platform's transport uses libcurl as soon as there are descriptors`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .text("ok") }
            let hoard = try Self.takeDescriptors()
            let transport = SystemTransport()
            #expect(!(transport.platform is URLSessionTransport))
            let request = HTTPRequest(.get, server.url("/"))
            #expect(await transport.ending(of: request) == .cannotConnect)
            for number in hoard { close(number) }
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 { group.addTask { try await transport.send(request, progress: nil).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == Array(repeating: 200, count: 8))
            let before = server.totalConnections
            #expect(try await transport.send(request, progress: nil).status == 200)
            #expect(server.totalConnections == before, "one transport is kept, with its connections")
        }
    }

    @Test(.fault(95)) func `A socket that cannot be opened is not a missing route, whatever failed before`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .text("ok") }
            let transport = try CurlTransport()
            // The kernel has no route for TCP to a group of hosts.
            #expect(await transport.ending(of: HTTPRequest(.get, URL("http://224.0.0.1:9/"))) == .noNetwork)
            let hoard = try Self.takeDescriptors(butEight: true)
            #expect(await transport.ending(of: HTTPRequest(.get, server.url("/"))) == .cannotConnect)
            for number in hoard { close(number) }
            #expect(await transport.ending(of: HTTPRequest(.get, server.url("/"))) == nil)
        }
    }

    @Test(.fault(67)) func `A transport without a wake-up fails its request, and a later one works`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .text("ok") }
            var request = HTTPRequest(.get, server.url("/"))
            request.deadline = .seconds(20)
            _ = try await CurlTransport().send(request)
            try DescriptorLimit.leave(100)
            var hoard: [CInt] = []
            repeat {
                // A released transport closes its descriptors asynchronously.
                while case let number = dup(0), number >= 0 { hoard.append(number) }
            } while try await CurlTransport().ending(of: request) != .cannotConnect
            for number in hoard { close(number) }
            #expect(try await CurlTransport().send(request).status == 200)
        }
    }
}
#endif
