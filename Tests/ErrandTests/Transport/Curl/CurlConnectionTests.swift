#if os(Linux)
import FixtureServer
import Foundation
import Testing
import TestSupport
@testable import Errand
@testable import ErrandTestSupport

@Suite("Connections", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CurlConnectionTests {
    /// How a persistent connection is lost during the second request on it.
    enum Loss: CaseIterable {
        case close
        case reset
        case closeAfterHead

        var script: Script {
            switch self {
            case .close: .onRequest(.close)
            case .reset: .onRequest(.reset)
            case .closeAfterHead: .onHead(.close)
            }
        }
    }

    private static func server(losingConnectionBy loss: Loss) throws -> FixtureServer {
        try FixtureServer.start { connection, turn in
            connection == 1 && turn == 2 ? loss.script : .onRequest { _ in .text("ok") }
        }
    }

    // MARK: Lost connections

    @Test(arguments: ["GET", "PUT", "DELETE"], Loss.allCases)
    func `An idempotent request is sent again when its persistent connection is lost`(_ method: String, _ loss: Loss)
        async throws
    {
        let server = try Self.server(losingConnectionBy: loss)
        let transport = try CurlTransport()
        _ = try await transport.send(HTTPRequest(.get, server.url("/first")))
        let body: HTTPBody = method == "PUT" ? .data(Data(repeating: 65, count: 200_000)) : .empty
        let response = try await transport.send(
            HTTPRequest(HTTPMethod(rawValue: method), server.url("/second"), body: body)
        )
        #expect(response.status == 200)
        #expect(server.totalConnections == 2)
        let last = try #require(server.requests.last)
        #expect(last.connection == 2)
        #expect(last.bodyCount == (method == "PUT" ? 200_000 : 0))
    }

    @Test(arguments: [["Connection": "close"], ["Connection": "X-Other, Close"]] as [HTTPHeaders])
    func `No request follows on a connection that the app has closed with its header`(
        _ headers: HTTPHeaders
    ) async throws {
        // This server does not close it.
        let open = Response(steps: [.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .hang])
        let server = try FixtureServer.start { connection, _ in .onRequest { _ in connection == 1 ? open : .text("ok") }
        }
        let transport = try CurlTransport()
        _ = try await transport.send(HTTPRequest(.get, server.url("/last"), headers: headers))
        var next = HTTPRequest(.get, server.url("/next"), headers: ["Connection": "X-Close"])
        next.timeout = .seconds(5)
        for _ in 0..<2 { #expect(try await transport.send(next).status == 200) }
        #expect(server.requests.map(\.connection) == [1, 2, 2])
    }

    /// The server may wait for the body that it has not asked for: the next request would be taken for that.
    @Test func `No request follows on the connection of one whose body the server has not asked for`() async throws {
        let server = try FixtureServer.start { _, turn in
            turn == 1 ? .onHead { _ in .text("known") } : .onRequest { _ in .text("ok") }
        }
        let transport = try CurlTransport()
        let body = HTTPBody.data(Data(repeating: 65, count: 70_000))
        let upload = HTTPRequest(.put, server.url("/upload"), headers: ["Expect": "100-continue"], body: body)
        #expect(try await transport.send(upload).body == Data("known".utf8))
        #expect(try await transport.send(HTTPRequest(.get, server.url("/next"))).status == 200)
        #expect(server.totalConnections == 2)
    }

    @Test func `A request whose head is larger than libcurl sends is invalid`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        let transport = try CurlTransport()
        let long = String(repeating: "a", count: 1_100_000)
        for request in [
            HTTPRequest(.get, server.url("/?q=\(long)")), HTTPRequest(.get, server.url("/"), headers: ["X-Long": long]),
        ] {
            let error = await #expect(throws: TransportError.self) { try await transport.send(request) }
            #expect(error?.kind == .invalidRequest, "\(error?.reason ?? "-")")
        }
        #expect(server.totalRequests == 0)
    }

    /// RFC 9112 section 6.3.
    @Test(arguments: [HTTPMethod.get, .post])
    func `Bytes after a response are not the response to the next request`(_ method: HTTPMethod) async throws {
        let (isReceived, isSent) = (Gate(), Gate())
        let server = try FixtureServer.start { connection, _ in
            .onRequest { _ in
                guard connection == 1 else { return .text("mine") }
                let response = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
                return Response(
                    steps: [
                        .write(response + "first"), .pass(isReceived), .write(response + "other"), .open(isSent), .hang,
                    ]
                )
            }
        }
        let transport = try CurlTransport()
        #expect(try await transport.send(HTTPRequest(.get, server.url("/first"))).body == Data("first".utf8))
        isReceived.open()
        await isSent.opened()
        #expect(try await transport.send(HTTPRequest(method, server.url("/second"))).body == Data("mine".utf8))
        #expect(server.totalConnections == 2)
    }

    @Test(arguments: [HTTPMethod.get, .put, .post])
    func `Connections that the server has reset are not used`(_ method: HTTPMethod) async throws {
        let (areSent, areReceived) = (Gate(), Gate())
        let server = try FixtureServer.start { connection, _ in
            .onRequest { _ in
                guard connection <= 4 else { return .text("ok") }
                let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
                return Response(steps: [.pass(areSent), .write(response), .pass(areReceived), .reset])
            }
        }
        let transport = try CurlTransport()
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 { group.addTask { _ = try await transport.send(HTTPRequest(.get, server.url("/"))) } }
            #expect(await server.waitForTotalRequests(4))
            areSent.open()
            try await group.waitForAll()
        }
        areReceived.open()
        #expect(await server.waitForOpenConnections(0))
        for _ in 0..<2 {
            #expect(try await transport.send(HTTPRequest(method, server.url("/"))).body == Data("ok".utf8))
        }
        #expect(server.totalRequests == 6, "none is sent twice")
    }

    /// With libcurl 7.88, the second response made the process write to memory that it had freed.
    @Test func `A first header line that begins with a space is malformed`() async throws {
        let server = try FixtureServer.start { _, turn in
            .onRequest { _ in
                let first = turn == 1 ? "X-A: one\r\nX-B: two" : " folded: \(String(repeating: "y", count: 40))"
                return Response(steps: [.write("HTTP/1.1 200 OK\r\n\(first)\r\nContent-Length: 2\r\n\r\nok")])
            }
        }
        let transport = try CurlTransport()
        for _ in 0..<20 {
            #expect(try await transport.send(HTTPRequest(.get, server.url("/a"))).body == Data("ok".utf8))
            let error = await #expect(throws: TransportError.self) {
                try await transport.send(HTTPRequest(.get, server.url("/b")))
            }
            #expect(error?.kind == .badResponse)
        }
    }

    @Test(arguments: [0, 10, 200_000], Loss.allCases)
    func `A POST is never sent twice`(_ bodyBytes: Int, _ loss: Loss) async throws {
        let server = try Self.server(losingConnectionBy: loss)
        let transport = try CurlTransport()
        _ = try await transport.send(HTTPRequest(.get, server.url("/first")))
        let body: HTTPBody = bodyBytes == 0 ? .empty : .data(Data(repeating: 65, count: bodyBytes))
        do {
            // Before 7.80, only a new connection prevents libcurl from repeating a request.
            _ = try await transport.send(HTTPRequest(.post, server.url("/second"), body: body))
            #expect(CurlLibrary.versionNumber < 0x07_5000)
        } catch {
            #expect(error.kind == .connectionLost)
        }
        _ = try await transport.send(HTTPRequest(.get, server.url("/third")))
        #expect(server.requests.filter { $0.method == "POST" }.count <= 1)
        #expect(server.requests.last?.path == "/third")
    }

    @Test func `A request is not repeated forever when each connection is lost`() async throws {
        let server = try FixtureServer.start { connection, turn in
            turn == 1 && connection == 1 ? .onRequest { _ in .text("ok") } : .onRequest(.close)
        }
        let transport = try CurlTransport()
        _ = try await transport.send(HTTPRequest(.get, server.url("/")))
        let error = await #expect(throws: TransportError.self) {
            try await transport.send(HTTPRequest(.get, server.url("/")))
        }
        #expect(error?.kind == .connectionLost)
        #expect(server.totalRequests == 3)
    }

    @Test func `Each request is repeated, however many connections were lost before`() async throws {
        let server = try FixtureServer.start { _, turn in
            turn == 1 ? .onRequest { _ in .text("ok") } : .onRequest(.close)
        }
        let transport = try CurlTransport()
        for _ in 0..<20 {
            #expect(try await transport.send(HTTPRequest(.get, server.url("/"))).status == 200)
        }
    }

    @Test func `A connection that the server closed in the meantime is not used`() async throws {
        let server = try FixtureServer.start { _ in Response.text("ok").followed(by: .close) }
        let transport = try CurlTransport()
        for count in 1...2 {
            let request = HTTPRequest(.post, server.url("/"), body: .data(Data("abc".utf8)))
            #expect(try await transport.send(request).status == 200)
            #expect(await server.waitForOpenConnections(0))
            #expect(server.totalConnections == count)
        }
    }

    // MARK: Persistent connections

    @Test func `Requests one after the other share a connection`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        let transport = try CurlTransport()
        for _ in 0..<100 { _ = try await transport.send(HTTPRequest(.get, server.url("/"))) }
        #expect(server.totalConnections == 1)
    }

    @Test func `A stream of unknown length is sent on a new connection after a response of HTTP 1.0`() async throws {
        let server = try FixtureServer.start { request in
            let head = "HTTP/1.\(request.method == "GET" ? 0 : 1) 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2"
            return .raw("\(head)\r\n\r\nok")
        }
        let transport = try CurlTransport()
        for method in [HTTPMethod.post, .put] {
            for _ in 0..<2 { _ = try await transport.send(HTTPRequest(.get, server.url("/"))) }
            // Also when the newest response of the host was one of HTTP/1.1.
            _ = try await transport.send(HTTPRequest(.delete, server.url("/")))
            let body = HTTPBody.stream {
                AsyncStream {
                    $0.yield(Data("late".utf8)); $0.finish()
                }
            }
            #expect(try await transport.send(HTTPRequest(method, server.url("/"), body: body)).body == Data("ok".utf8))
        }
        #expect(server.requests.filter { ["POST", "PUT"].contains($0.method) }.map(\.text) == ["late", "late"])
    }

    // MARK: Failing to connect

    @Test func `A closed port is a connection error`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        let url = server.url("/?secret=1")
        server.stop()
        let transport = try CurlTransport()
        let error = await #expect(throws: TransportError.self) { try await transport.send(HTTPRequest(.get, url)) }
        #expect(error?.kind == .cannotConnect)
        #expect(error?.reason.contains("secret") == false)
        withExtendedLifetime(server) {}
    }

    @Test(arguments: [0, 1, 2])
    func `A connection that ends before a response is lost`(_ steps: Int) async throws {
        let script = [Script.onAccept(.close), .onAccept(.reset), .onRequest(.close)][steps]
        let server = try FixtureServer.start { _, _ in script }
        let transport = try CurlTransport()
        let error = await #expect(throws: TransportError.self) {
            try await transport.send(HTTPRequest(.get, server.url("/")))
        }
        // The reset may be received before the connection is open.
        #expect(error?.kind == .connectionLost || steps == 1 && error?.kind == .cannotConnect)
    }

    @Test(arguments: ["localhost", "a.b.localhost", "[::1]"])
    func `Names and IPv6 literals reach the server`(_ host: String) async throws {
        var options = ServerOptions()
        options.listensOnIPv6 = true
        let server = try FixtureServer.start(options) { _ in .text("ok") }
        let transport = try CurlTransport()
        #expect(try await transport.send(HTTPRequest(.get, server.url("/", host: host))).status == 200)
        #expect(server.requests.first?.header("Host") == "\(host):\(server.port)")
    }
}

/// libcurl repeats a request whose persistent connection was lost, and may be unable to open another connection.
@Suite("A retry of libcurl without a connection", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CurlRetryTests {
    private let socket = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).sock")
    private let transport: CurlTransport
    private let url = URL("http://daemon/")

    init() throws {
        var configuration = TransportConfiguration()
        configuration.unixSocketPath = socket.path
        transport = try CurlTransport(configuration)
    }

    /// A server that closes its first connection during the second request, and cannot be reached after that.
    private func start(isLost: Bool = true) throws -> FixtureServer {
        var options = ServerOptions()
        options.unixSocket = socket
        return try FixtureServer.start(options) { [socket] connection, turn in
            guard connection == 1, turn == 2 else { return .onRequest { _ in .text("ok") } }
            return .onRequest { _ in
                if isLost { unlink(socket.path) }
                return Response(steps: [.close])
            }
        }
    }

    @Test func `A POST that was sent before is lost, and not reported as unsent`() async throws {
        let server = try start()
        #expect(try await transport.send(HTTPRequest(.get, url)).status == 200)
        let post = HTTPRequest(.post, url, body: .data(Data("order".utf8)))
        let error = await #expect(throws: TransportError.self) { try await transport.send(post) }
        #expect(error?.kind == .connectionLost)
        #expect(server.requests.filter { $0.method == "POST" }.map(\.text) == ["order"])
    }

    @Test(arguments: [5, 6, 7, 45, 97])
    func `No code of a failed connection means that nothing was sent, after something was sent`(_ code: Int32) throws {
        let handle = try CurlHandle(CurlSettings(TransportConfiguration()))
        let exchange = try CurlExchange(HTTPRequest(.post, url), progress: nil)
        let unsent = handle.error(CurlCode(rawValue: code), of: exchange).kind
        #expect(unsent == .hostNotFound || unsent == .cannotConnect)
        #expect(exchange.beginAttempt())
        #expect(handle.error(CurlCode(rawValue: code), of: exchange).kind == .connectionLost)
    }

    @Test func `Many of these retries do not use up those of later requests`() async throws {
        // libcurl resets its count of retries after an error.
        for _ in 0..<5 {
            let server = try start()
            #expect(try await transport.send(HTTPRequest(.get, url)).status == 200)
            await #expect(throws: TransportError.self) { try await transport.send(HTTPRequest(.get, url)) }
            server.stop()
        }
        let server = try start(isLost: false)
        #expect(try await transport.send(HTTPRequest(.get, url)).status == 200)
        #expect(try await transport.send(HTTPRequest(.get, url)).status == 200)
        #expect(server.totalConnections == 2)
    }
}

@Suite(
    "A name lookup that hangs",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: CookieProbe.canMount && SilentNameServer() != nil, "cannot mount, or port 53 is not free")
)
struct CurlLookupTests {
    @Test(.fault(89)) func `It holds no other request, and a cancel, a timeout and a deadline end it`() async throws {
        let folder = try TemporaryFolder()
        let names = try #require(SilentNameServer())
        let backend = try FixtureServer.start { _ in .text("response") }
        // A lookup takes 150 seconds.
        let settings = "nameserver \(SilentNameServer.address)\noptions timeout:30 attempts:5\n"
        try Data(settings.utf8).write(to: folder.url.appending(path: "resolv.conf"))
        try Data("127.0.0.1 backend.example\n".utf8).write(to: folder.url.appending(path: "hosts"))
        let script = """
            mount --bind "$0/resolv.conf" /etc/resolv.conf && mount --bind "$0/hosts" /etc/hosts && exec "$1" lookup "$2"
            """
        let url = "http://backend.example:\(backend.port)/"
        let outcome = try await TestProgram.run(
            ["unshare", "-m", "sh", "-c", script, folder.url.path, CookieProbe.path, url],
            deadline: .seconds(100)
        )
        let responses = Array(repeating: "response", count: 40), cancels = Array(repeating: "cancelled", count: 40)
        #expect(outcome.lines == responses + ["timeout", "timeout"] + cancels, "\(outcome.standardError)")
        #expect(backend.totalRequests == 40)
        #expect(names.hasQuery)
    }
}

/// A name server on loopback that never responds.
private final class SilentNameServer {
    /// An address that name servers of the machine do not use.
    static let address = "127.53.53.53"

    private let socket: CInt

    /// Returns `nil` when this process may not use the port of name servers.
    init?() {
        socket = Foundation.socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(53).bigEndian
        address.sin_addr.s_addr = inet_addr(Self.address)
        let isBound = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound else { return nil }
    }

    deinit { close(socket) }

    /// Whether a query has arrived.
    var hasQuery: Bool {
        var byte: UInt8 = 0
        return recv(socket, &byte, 1, Int32(MSG_DONTWAIT)) > 0
    }
}
#endif
