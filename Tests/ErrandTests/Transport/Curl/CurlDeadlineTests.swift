#if os(Linux)
import CurlRuntime
import ErrandTesting
import FixtureServer
import Foundation
import Testing
import TestSupport
@testable import Errand
@testable import ErrandTestSupport

@Suite("Deadlines", .mostlyWaits, .timeLimit(.minutes(10)))
struct CurlDeadlineTests {
    /// How a server prevents the response from being complete.
    enum Slowness: CaseIterable {
        case neverResponds
        case dripsHead
        case dripsBody
        case dripsInterimResponses
        case neverReads

        var steps: [Response.Step] {
            let pause = Duration.milliseconds(50)
            switch self {
            case .neverResponds, .neverReads: return [.hang]
            case .dripsHead:
                return [.write("HTTP/1.1 200 OK\r\n"), .repeatForever(Array("X: y\r\n".utf8), every: pause)]
            case .dripsBody: return [.write("HTTP/1.1 200 OK\r\n\r\n"), .repeatForever([42], every: pause)]
            case .dripsInterimResponses:
                return [.repeatForever(Array("HTTP/1.1 102 Processing\r\n\r\n".utf8), every: pause)]
            }
        }

        var isSilent: Bool { self == .neverResponds || self == .neverReads }
    }

    private let transport: CurlTransport

    init() throws {
        transport = try CurlTransport()
    }

    /// As with versions of libcurl that wait for the name lookup when a connection takes too long.
    @Test(.fault(89), .hangLimit)
    func `The loop ends a connection that takes too long where libcurl must not`() async throws {
        var settings = CurlSettings()
        settings.limitsConnects = true
        settings.configuration.connectTimeout = .milliseconds(100)
        let loop = try #require(CurlLoop(settings))
        defer { loop.stop() }
        let server = try FixtureServer.start { _ in .text("ok") }
        func ending(of url: URL) async throws -> TransportError.Kind? {
            let exchange = try CurlExchange(HTTPRequest(.get, url), pins: [], progress: nil)
            await withUnsafeContinuation { continuation in
                exchange.continuation = continuation
                loop.submit(exchange)
            }
            do throws(TransportError) {
                _ = try exchange.response()
                return nil
            } catch {
                return error.kind
            }
        }
        // Its server waits for a request, and not for a handshake.
        let silent = try FixtureServer.start { _, _ in .onAccept(Response.hang) }
        #expect(try await ending(of: URL("https://127.0.0.1:\(silent.port)/")) == .timeout)
        #expect(try await ending(of: server.url("/")) == nil)
    }

    private func start(_ slowness: Slowness) throws -> FixtureServer {
        var options = ServerOptions()
        if slowness == .neverReads { options.bodyHandling = { _ in .pause(after: 1_000, until: Gate()) } }
        let response = Response(steps: slowness.steps)
        return try FixtureServer.start(options) { _ in response }
    }

    private func request(_ slowness: Slowness, _ server: FixtureServer) -> HTTPRequest {
        let body = slowness == .neverReads ? HTTPBody.data(Data(repeating: 1, count: 50_000_000)) : .empty
        return HTTPRequest(.post, server.url("/"), body: body)
    }

    @Test(arguments: Slowness.allCases)
    func `The whole exchange ends at its deadline`(_ slowness: Slowness) async throws {
        let server = try start(slowness)
        var request = request(slowness, server)
        request.deadline = .milliseconds(500)
        let clock = ContinuousClock.now
        let error = await #expect(throws: TransportError.self) { try await transport.send(request) }
        #expect(error?.kind == .timeout)
        #expect(clock.duration(to: .now) > .milliseconds(495))
        // A server that does not read does not see the end of the connection.
        if slowness != .neverReads { #expect(await server.waitForOpenConnections(0)) }
    }

    @Test(arguments: Slowness.allCases)
    func `Silence ends the exchange, and nothing else does`(_ slowness: Slowness) async throws {
        let server = try start(slowness)
        var request = request(slowness, server)
        request.timeout = slowness.isSilent ? .milliseconds(400) : .seconds(4)
        request.deadline = slowness.isSilent ? nil : .seconds(5)
        let error = await #expect(throws: TransportError.self) { try await transport.send(request) }
        #expect(error?.kind == .timeout)
        #expect(error?.reason.contains("silent") == slowness.isSilent)
    }

    /// Returns the port of a server that reads a little at a time, with a small buffer, so that the client's system has most of a
    /// body for a long time.
    private func startSlowReader(of bodyBytes: Int) throws -> UInt16 {
        let (listener, port) = try Loopback.listen()
        var size: Int32 = 2_048
        setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        Thread {
            let connection = accept(listener, nil, nil)
            var (buffer, received) = ([UInt8](repeating: 0, count: 4_096), 0)
            while received < bodyBytes, case let count = read(connection, &buffer, buffer.count), count > 0 {
                received += count
                usleep(20_000)
            }
            let response = Array("HTTP/1.1 204 No Content\r\n\r\n".utf8)
            send(connection, response, response.count, Int32(MSG_NOSIGNAL))
            close(connection)
            close(listener)
        }.start()
        return port
    }

    @Test func `An upload goes on while the system sends what it has taken of it`() async throws {
        let body = Data(repeating: 1, count: 600_000)
        let port = try startSlowReader(of: body.count)
        var request = HTTPRequest(.post, URL("http://127.0.0.1:\(port)/"), body: .data(body))
        request.timeout = .seconds(2)
        #expect(try await transport.send(request).status == 204)
    }

    @Test(
        .enabled(if: TestAuthority.isAvailable, "openssl is not installed"),
        arguments: [(HTTP2Server.Reading.windowByWindow, 70_000), (.slowly, 600_000)]
    )
    func `An upload over HTTP/2 goes on while it is sent little by little`(
        _ reading: HTTP2Server.Reading,
        _ bytes: Int
    ) async throws {
        let authority = try TestAuthority.shared.get()
        let server = try HTTP2Server(authority, reading: reading) { .response("\($0.body.count)") }
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        let transport = try CurlTransport(configuration)
        for body in [Data("first".utf8), Data(repeating: 1, count: bytes)] {
            var request = HTTPRequest(.post, server.url("/"), body: .data(body))
            request.timeout = .seconds(2)
            #expect(try await transport.send(request).body == Data("\(body.count)".utf8))
        }
    }

    @Test func `What a connection sends for other requests is no progress of an upload`() {
        var passage = CurlUploadPassage()
        func isMoving(_ bytes: Int64, _ acknowledged: Int64, _ queued: Int64, isSmall: Bool = false) -> Bool {
            let connection = CurlSending(silence: 0, acknowledged: acknowledged, queued: queued)
            return passage.isMoving(libcurlSent: bytes, on: connection, isSmall: isSmall)
        }
        // Its server opens its window no more, while the system sends what may be of it, and then others' bytes.
        #expect(isMoving(65_536, 0, 300_000))
        #expect(isMoving(65_536, 300_000, 300_000))
        #expect(isMoving(65_536, 600_000, 300_000))
        #expect(!isMoving(65_536, 900_000, 300_000))
        // The window is opened once.
        #expect(isMoving(65_537, 900_000, 0))
        #expect(!isMoving(65_537, 1_200_000, 0))
        // A small one that is sent, and then one of which the system has a part.
        #expect(!isMoving(10, 1_200_000, 0, isSmall: true))
        #expect(isMoving(20, 1_200_000, 10, isSmall: true))
    }

    @Test(.enabled(if: TestAuthority.isAvailable, "openssl is not installed"))
    func `The loop sleeps while an upload over HTTP/2 waits until its server reads on`() async throws {
        let authority = try TestAuthority.shared.get()
        let server = try HTTP2Server(authority, reading: .oneWindow) { _ in .silence }
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        let loop = try #require(CurlLoop(try CurlSettings(configuration)))
        defer { loop.stop() }
        var request = HTTPRequest(.post, server.url("/"), body: .data(Data(repeating: 1, count: 300_000)))
        request.timeout = .seconds(1)
        let exchange = try CurlExchange(request, pins: [], progress: nil)
        await withUnsafeContinuation { continuation in
            exchange.continuation = continuation
            loop.submit(exchange)
        }
        let error = #expect(throws: TransportError.self) { try exchange.response() }
        #expect(error?.kind == .timeout)
        #expect(loop.turn.activity.processorTime < 500_000_000, "of its thread, in nanoseconds")
    }

    /// A request whose observer opens `blocked` and then blocks the loop, for longer than the timeout of another exchange.
    private func blockingRequest(to server: FixtureServer, _ blocked: Gate) -> HTTPRequest {
        var request = HTTPRequest(.get, server.url("/"))
        request.observer = { event in
            guard case .head = event else { return }
            blocked.open()
            _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 2.5)
        }
        return request
    }

    @Test func `Bytes that arrive while code of the app blocks the loop are no silence`() async throws {
        let (begin, blocked, received) = (Gate(), Gate(), [Gate(), Gate(), Gate(), Gate()])
        let server = try FixtureServer.start { request in
            guard request.path == "/moving" else {
                return Response(steps: [.pass(begin), .write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")])
            }
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
            return Response(steps: [
                .write("\(head)1"), .pass(blocked), .write("2"),
                .pass(received[2]), .wait(.milliseconds(300)), .write("3"),
            ])
        }
        async let other = transport.send(blockingRequest(to: server, blocked))
        #expect(await server.waitForTotalRequests(1))
        var moving = HTTPRequest(.get, server.url("/moving"))
        moving.timeout = .seconds(2)
        async let response = transport.send(moving) { received[Int($0.completedBytes)].open() }
        await received[1].opened()
        begin.open()
        #expect(try await response.body == Data("123".utf8))
        #expect(try await other.status == 200)
    }

    @Test func `The wait for a loop that code of the app blocks is no silence`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        let blocked = Gate()
        async let first = transport.send(blockingRequest(to: server, blocked))
        await blocked.opened()
        // The lookup of a name does not end in the turn in which it begins.
        var waiting = HTTPRequest(.get, URL("http://localhost:\(server.port)/"))
        waiting.timeout = .seconds(2)
        #expect(try await transport.send(waiting).status == 200)
        #expect(try await first.status == 200)
    }

    @Test func `A deadline that has passed is a timeout`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        var request = HTTPRequest(.get, server.url("/"))
        request.deadline = .seconds(-1)
        let error = await #expect(throws: TransportError.self) { try await transport.send(request) }
        #expect(error?.kind == .timeout)
    }

    @Test func `No deadline and a deadline in the far future are the same`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        var request = HTTPRequest(.get, server.url("/"))
        for timeout in [nil, Duration.seconds(Int64.max)] {
            request.timeout = timeout
            request.deadline = timeout
            #expect(try await transport.send(request).status == 200)
        }
    }

    @Test(arguments: [Duration.nanoseconds(1), .microseconds(10)])
    func `The connect timeout may be less than a millisecond`(_ limit: Duration) async throws {
        let server = try FixtureServer.start { _, _ in .onAccept(Response(steps: [.hang])) }
        var configuration = TransportConfiguration()
        configuration.connectTimeout = limit
        let transport = try CurlTransport(configuration)
        // The server never responds to the first message of TLS.
        var request = HTTPRequest(.get, try #require(URL(string: "https://127.0.0.1:\(server.port)/")))
        request.deadline = .seconds(20)
        let error = await #expect(throws: TransportError.self) { try await transport.send(request) }
        #expect(error?.kind == .timeout)
        #expect(error?.reason.contains("the deadline of the whole exchange") == false)
    }
}

@Suite("Deadlines in the distant past", .limitedConcurrency, .timeLimit(.minutes(10)))
struct AncientDeadlineTests {
    @Test func `A deadline in the distant past is a timeout`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .hang }
            let transport = try CurlTransport()
            for deadline in [\HTTPRequest.timeout, \.deadline] {
                var request = HTTPRequest(.get, server.url("/"))
                request[keyPath: deadline] = .seconds(Int64.min)
                let error = await #expect(throws: TransportError.self) { try await transport.send(request) }
                #expect(error?.kind == .timeout)
            }
        }
    }
}

/// Deadlines in a process in which the date changes at every query.
@Suite("Changes of the date", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ClockJumpTests {
    private static let hasCompiler = TestProgram.path(of: "clang") != nil
    private static let mark = "ERRAND_DATE_JUMPS"
    /// The preloaded libraries of this process.
    private static let preloaded = ProcessInfo.processInfo.environment["LD_PRELOAD"].map { [$0] } ?? []
    private static let isInside = ProcessInfo.processInfo.environment[mark] != nil

    @Test(.fault(79), .enabled(if: hasCompiler && !isInside, "clang is not installed"))
    func `No deadline changes when the date changes by ten years`() async throws {
        let folder = try TemporaryFolder()
        let source = folder.url.appending(path: "jumps.c")
        let library = folder.url.appending(path: "jumps.so").path
        try Data(Self.library.utf8).write(to: source)
        let compiling = try await TestProgram.run(["clang", "-shared", "-fPIC", "-O1", "-o", library, source.path])
        #expect(compiling.status == 0, "\(compiling.standardError)")
        let witness = folder.url.appending(path: "witness")
        let outcome = try await TestProgram.run([
            "env", "LD_PRELOAD=\(([library] + Self.preloaded).joined(separator: " "))", "\(Self.mark)=\(witness.path)",
            CommandLine.arguments[0],
            "--testing-library", "swift-testing", "--filter", "ClockJumpTests.*inside",
        ])
        #expect(outcome.status == 0)
        #expect(try String(contentsOf: witness, encoding: .utf8) == "held")
    }

    /// Date and time of day are ten years too early and too late in turn.
    private static let library = """
        #define _GNU_SOURCE
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>
        static long jump(void) {
            static int turn;
            return __atomic_add_fetch(&turn, 1, __ATOMIC_RELAXED) % 2 ? 315360000L : -315360000L;
        }
        int clock_gettime(clockid_t clock, struct timespec *now) {
            int result = syscall(SYS_clock_gettime, clock, now);
            if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += jump();
            return result;
        }
        int gettimeofday(struct timeval *now, void *zone) {
            struct timespec time;
            clock_gettime(CLOCK_REALTIME, &time);
            now->tv_sec = time.tv_sec;
            now->tv_usec = time.tv_nsec / 1000;
            return 0;
        }
        time_t time(time_t *now) {
            struct timespec time;
            clock_gettime(CLOCK_REALTIME, &time);
            if (now) *now = time.tv_sec;
            return time.tv_sec;
        }
        """

    @MainActor @Test(.enabled(if: isInside, "runs inside the process of the other test"))
    func `inside, deadlines pass when they are due`() async throws {
        #expect(abs(Date.now.timeIntervalSince(.now)) > 86_400)
        let server = try FixtureServer.start { request in
            request.path == "/hang" ? .hang : .text("ok").delayed(by: .milliseconds(400))
        }
        let transport = try CurlTransport()
        for limit in [\HTTPRequest.timeout, \.deadline] {
            var request = HTTPRequest(.get, server.url("/hang"))
            request[keyPath: limit] = .milliseconds(500)
            let start = ContinuousClock.now
            #expect(await transport.ending(of: request) == .timeout)
            #expect((Duration.milliseconds(495)..<Duration.seconds(10)).contains(start.duration(to: .now)))
            request = HTTPRequest(.get, server.url("/slow", host: "localhost"))
            request[keyPath: limit] = .seconds(20)
            for _ in 0..<3 { #expect(await transport.ending(of: request) == nil) }
        }
        #expect(server.totalConnections == 3)
        try await expectReloginDeadline(server, transport)
        try Data("held".utf8).write(to: URL(filePath: ProcessInfo.processInfo.environment[Self.mark] ?? ""))
    }

    @MainActor private func expectReloginDeadline(_ server: FixtureServer, _ transport: CurlTransport) async throws {
        let refusing = try FixtureServer.start { _ in .status(401) }
        var service = APIService(baseURL: refusing.baseURL)
        service.reloginHandler = Sleeper()
        service.reloginTimeout = .milliseconds(500)
        let screen = Screen()
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(service: service, transport: transport))
        let start = ContinuousClock.now
        request.loadData()
        #expect(await screen.ending() == .failure(.timeout))
        #expect((Duration.milliseconds(495)..<Duration.seconds(10)).contains(start.duration(to: .now)))
    }
}

/// A relogin with a duration of one minute.
@MainActor private final class Sleeper: ReloginHandler {
    func relogin() async throws { try await Task.sleep(for: .seconds(60)) }
    func sessionDidExpire(_ error: APIError) {}
}
#endif
