#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Deadlines", .limitedConcurrency, .timeLimit(.minutes(10)))
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
#endif
