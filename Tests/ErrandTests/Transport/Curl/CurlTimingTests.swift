#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("The timings of libcurl", .mostlyWaits, .timeLimit(.minutes(10)))
struct CurlTimingTests {
    private func timings(_ request: HTTPRequest, _ transport: CurlTransport) async throws -> ExchangeTimings {
        let timings = try #require(try await transport.send(request).timings)
        timings.expectPlausible()
        return timings
    }

    @Test func `A connection that is used again has the same identifier, and no phases of its own`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        let transport = try CurlTransport()
        let first = try await timings(HTTPRequest(to: server), transport)
        #expect(first.isReused == false && first.connect != nil && first.tls == nil)
        #expect(first.protocolName == "http/1.1")
        #expect(first.remoteAddress == "127.0.0.1" && first.remotePort == Int(server.port))
        let second = try await timings(HTTPRequest(to: server), transport)
        #expect(second.isReused == true && second.nameLookup == nil && second.connect == nil)
        #expect(second.connectionID != nil && second.connectionID == first.connectionID)
        let other = try FixtureServer.start { _ in .text("ok") }
        #expect(try await timings(HTTPRequest(to: other), transport).connectionID != first.connectionID)
    }

    @Test func `The bytes of a request that libcurl repeats are those of the last one`() async throws {
        let server = try FixtureServer.start { connection, turn in
            connection == 1 && turn == 2 ? .onRequest(.close) : .onRequest { _ in .text("ok") }
        }
        let transport = try CurlTransport()
        _ = try await transport.send(HTTPRequest(to: server))
        let body = HTTPBody.data(Data(repeating: 1, count: 1_000))
        let timings = try await timings(HTTPRequest(.put, to: server, body: body), transport)
        let requests = server.requests
        #expect(requests.count == 3)
        #expect(timings.sentHeaderBytes == requests.last.map { Int64($0.head.bytes.count) })
        #expect(timings.sentBodyBytes == 1_000)
        #expect(timings.isReused == false)
    }

    @Test func `The reason of a failure after a repetition is not that of the connection before`() async throws {
        let server = try FixtureServer.start { connection, turn in
            if connection == 1 { return turn == 2 ? .onRequest(.reset) : .onRequest { _ in .text("ok") } }
            return .onRequest { _ in
                Response(steps: [.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"), .close])
            }
        }
        let transport = try CurlTransport()
        _ = try await transport.send(HTTPRequest(to: server))
        let error = await transport.error(of: HTTPRequest(to: server))
        #expect(server.requests.count == 3)
        #expect(error?.kind == .connectionLost && error?.reason.contains("Recv failure") == false)
    }

    @Test func `The bytes of a head whose body waits for a 100 are right, or not known`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        var request = HTTPRequest(.put, to: server, body: .data(Data(repeating: 1, count: 10)))
        request.headers["Expect"] = "100-continue"
        let timings = try await timings(request, CurlTransport())
        #expect(timings.sentBodyBytes == 10)
        #expect(timings.sentHeaderBytes.map { $0 == server.requests.first.map { Int64($0.head.bytes.count) } } != false)
    }

    @Test func `A response before the end of an upload leaves no wait for a first byte`() async throws {
        let server = try FixtureServer.start { _, _ in .onHead { _ in .text("too large", status: 413).closing() } }
        let body = HTTPBody.data(Data(repeating: 1, count: 50_000_000))
        let response = try await CurlTransport().send(HTTPRequest(.post, to: server, body: body))
        let timings = try #require(response.timings)
        timings.expectPlausible()
        #expect(response.status == 413)
        #expect(try #require(timings.sentBodyBytes) < 50_000_000)
        #expect(timings.firstByte == nil && timings.request != nil)
    }

    @Test(arguments: SilencePoint.allCases) func `The phase in which an exchange fails lasts until then`(
        _ point: SilencePoint
    ) async throws {
        let server = try point.startServer()
        var request = point.request(to: server)
        request.timeout = .milliseconds(300)
        let error = await #expect(throws: TransportError.self) { try await CurlTransport().send(request) }
        let timings = try #require(error?.timings)
        timings.expectPlausible()
        let last = try #require(timings.phases.last)
        let names = [
            SilencePoint.insideHandshake: ["tls"], .insideUpload: ["request"], .beforeHead: ["firstByte"],
            .insideHead: ["body"], .insideBody: ["body"],
        ]
        #expect(names[point]?.contains(last.name) == true, "\(timings)")
        // The upload fills the buffers of the system before.
        #expect(last.duration >= .milliseconds(point == .insideUpload ? 200 : 280), "\(timings)")
    }

    @Test func `A name lookup that fails is the only phase`() async throws {
        let error = await #expect(throws: TransportError.self) {
            try await CurlTransport().send(HTTPRequest(.get, URL("http://no-such-host.invalid/")))
        }
        let timings = try #require(error?.timings)
        timings.expectPlausible()
        #expect(timings.phases.map(\.name) == ["nameLookup"])
    }

    @Test func `A request over a Unix socket has no address`() async throws {
        let folder = try TemporaryFolder()
        var options = ServerOptions()
        options.unixSocket = folder.url.appendingPathComponent("s")
        let server = try FixtureServer.start(options) { _ in .text("ok") }
        var configuration = TransportConfiguration()
        configuration.unixSocketPath = options.unixSocket?.path
        let timings = try await timings(HTTPRequest(to: server), CurlTransport(configuration))
        #expect(timings.remoteAddress == nil && timings.remotePort == nil)
    }

    // MARK: TLS

    private static let canServeTLS = TestAuthority.isAvailable && TLSServer.isAvailable

    private func secureTransport(_ authority: TestAuthority) throws -> CurlTransport {
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        return try CurlTransport(configuration)
    }

    @Test(.enabled(if: canServeTLS, "openssl is not installed"))
    func `A TLS handshake is a phase of a new connection`() async throws {
        let authority = try TestAuthority.shared.get()
        let (program, url) = try authority.serve()
        defer { withExtendedLifetime(program) {} }
        let timings = try await timings(HTTPRequest(.get, url), secureTransport(authority))
        #expect(try #require(timings.tls) > .zero)
        #expect(timings.connect != nil && timings.isReused == false)
        #expect(timings.sentHeaderBytes != nil && timings.receivedHeaderBytes != nil)
    }

    /// How a handshake fails: the server's certificate is refused, the server does not speak TLS, or it ends the connection.
    enum FailedHandshake: CaseIterable {
        case unknownAuthority, plainText, close, reset
    }

    @Test(.enabled(if: canServeTLS, "openssl is not installed"), arguments: FailedHandshake.allCases)
    func `A handshake that fails is the last phase, after a connection without it`(
        _ handshake: FailedHandshake
    ) async throws {
        let authority = try TestAuthority.shared.get()
        let (program, secureURL) = try authority.serve()
        defer { withExtendedLifetime(program) {} }
        let server = try FixtureServer.start { _, _ in
            switch handshake {
            case .reset: .onAccept(.wait(.seconds(2)), .reset)
            case .close: .onAccept(.wait(.seconds(2)), .close)
            default: .onAccept(.wait(.seconds(2)), .write("HTTP/1.1 400 Bad Request\r\n\r\n"), .close)
            }
        }
        let url = handshake == .unknownAuthority ? secureURL : URL("https://127.0.0.1:\(server.port)/")
        let error = await #expect(throws: TransportError.self) {
            try await CurlTransport().send(HTTPRequest(.get, url))
        }
        let timings = try #require(error?.timings)
        timings.expectPlausible()
        #expect(timings.phases.map(\.name).suffix(2) == ["connect", "tls"], "\(timings)")
        #expect(try #require(timings.tls) > .zero)
        guard handshake != .unknownAuthority else { return }
        #expect(try #require(timings.tls) >= .seconds(1), "\(timings)")
        #expect(try #require(timings.connect) < .seconds(1), "\(timings)")
    }

    @Test(.enabled(if: canServeTLS, "openssl is not installed"))
    func `Over HTTP 2, the bytes of the body are counted and those of the head are not`() async throws {
        let authority = try TestAuthority.shared.get()
        let server = try HTTP2Server(authority) { _ in .response("hello") }
        let transport = try secureTransport(authority)
        for isReused in [false, true] {
            let request = HTTPRequest(.post, server.url("/"), body: .data(Data(repeating: 1, count: 100_000)))
            let timings = try await timings(request, transport)
            #expect(timings.protocolName == "h2")
            #expect(timings.isReused == isReused)
            #expect(timings.sentHeaderBytes == nil && timings.receivedHeaderBytes == nil)
            #expect(timings.sentBodyBytes == 100_000)
            #expect(timings.receivedBodyBytes == 5 && timings.decodedBodyBytes == 5)
        }
    }

    @Test(.enabled(if: canServeTLS, "openssl is not installed"))
    func `The wait for a connection that another request opens is no phase`() async throws {
        let authority = try TestAuthority.shared.get()
        let server = try HTTP2Server(authority) { _ in .response("hello") }
        let transport = try secureTransport(authority)
        let all = try await withThrowingTaskGroup(of: ExchangeTimings.self) { group in
            for _ in 0..<20 { group.addTask { try await timings(HTTPRequest(.get, server.url("/")), transport) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(all.count { $0.isReused == false } == server.totalConnections)
        #expect(all.allSatisfy { $0.isReused == ($0.tls == nil) })
    }

    // MARK: Hostile servers

    static let hostileResponses = [
        "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: -9223372036854775808\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/9.9 999 \r\n\r\n", "HTTP/1.0 200\r\n\r\nuntil the end", "HTTP/3 200 OK\r\n\r\n",
        "HTTP/1.1 -1 ?\r\n\r\n", "HTTP/1.1 200 OK\nA: b\n\nabc", "\u{0}\u{1}", "",
        "HTTP/1.1 200 OK\r\nA: b\r\n\tc\r\nContent-Length: 0\r\n\r\n",
        String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 500) + "HTTP/1.1 204 No\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    ]

    @Test(arguments: hostileResponses)
    func `A hostile server cannot make a number negative or absurd`(_ text: String) async throws {
        let scripts = [
            Script.onRequest(.write(text), .close), .onRequest(.write(text), .reset), .onAccept(.write(text), .close),
        ]
        for script in scripts {
            let server = try FixtureServer.start { _, _ in script }
            let body = HTTPBody.data(Data(repeating: 1, count: 100_000))
            let request = HTTPRequest(.put, to: server, body: body)
            let result: Result<HTTPResponse, TransportError>
            do throws(TransportError) {
                result = .success(try await CurlTransport().send(request))
            } catch {
                result = .failure(error)
            }
            let timings =
                switch result {
                case .success(let response): response.timings
                case .failure(let error): error.timings
                }
            try #require(timings).expectPlausible()
            #expect(try #require(timings).receivedBodyBytes ?? 0 <= 20)
        }
    }
}
#endif
