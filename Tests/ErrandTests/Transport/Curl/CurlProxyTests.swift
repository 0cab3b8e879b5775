#if os(Linux)
import FixtureServer
import Foundation
import Testing
import TestSupport
@testable import Errand
@testable import ErrandTestSupport

@Suite("Proxies", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CurlProxyTests {
    // libcurl looks up the host of the URL itself, after it has connected to the proxy.
    @Test func `A cancelled request over a SOCKS proxy closes its connection`() async throws {
        let proxy = try SilentSOCKSServer()
        var configuration = TransportConfiguration()
        configuration.proxy = .url(URL("socks5://127.0.0.1:\(proxy.port)"))
        let transport = try CurlTransport(configuration)
        let request = Task { await transport.ending(of: HTTPRequest(.get, URL("http://localhost:81/"))) }
        try await until { proxy.hasRequest }
        #expect(!proxy.isClosed)
        request.cancel()
        #expect(await request.value == .cancelled)
        try await until { proxy.isClosed }
    }

    @Test func `A proxy receives the unchanged URL`() async throws {
        let proxy = try FixtureServer.start { _ in .text("proxied") }
        var configuration = TransportConfiguration()
        configuration.proxy = .url(proxy.baseURL)
        let transport = try CurlTransport(configuration)
        for path in ["", "/", "/%2e%c3%bC/a/../b?x=%2e&y", "?a=b", "/p#f"] {
            #expect(try await transport.send(HTTPRequest(.get, URL("http://api.example\(path)"))).status == 200)
            let path = path == "/p#f" ? "/p" : path.hasPrefix("/") ? path : "/" + path
            #expect(try await proxy.takeRequest().target == "http://api.example\(path)")
        }
    }

    @Test func `A proxy of the environment receives the URL, and an excluded host receives the path`() async {
        await #expect(processExitsWith: .success) {
            let proxy = try FixtureServer.start { _ in .text("proxied") }
            let server = try FixtureServer.start { _ in .text("direct") }
            setenv("http_proxy", proxy.baseURL.absoluteString, 1)
            setenv("no_proxy", "127.0.0.1", 1)
            let transport = try CurlTransport()
            _ = try await transport.send(HTTPRequest(.get, URL("http://api.example/a?x=%2e")))
            #expect(try await proxy.takeRequest().target == "http://api.example/a?x=%2e")
            for path in ["/a?x=%2e", "/%2e%c3%bC/a/../b?x=%2e&y", "/?", "/a/./b//c"] {
                _ = try await transport.send(HTTPRequest(.get, URL("http://127.0.0.1:\(server.port)\(path)")))
                #expect(try await server.takeRequest().target == path)
            }
            _ = try await transport.send(HTTPRequest(.get, URL("http://api.example/%2e")))
            #expect(try await proxy.takeRequest().target == "http://api.example/%2e")
        }
    }

    @Test func `No error has the password of the environment's proxy`() async {
        await #expect(processExitsWith: .success) {
            for server in ["htp://user:s3cret@127.0.0.1:9", "http://user:s3cret@127.0.0.1:99999", "user:s3cret@"] {
                setenv("http_proxy", server, 1)
                let error = await #expect(throws: TransportError.self) {
                    try await CurlTransport().send(HTTPRequest(.get, URL("http://shop.test/")))
                }
                #expect(error.map { "\($0) \($0.reason)" }?.contains("s3cret") == false)
            }
        }
    }

    @Test(arguments: ["http://us%00er:x", "us%1Fer:x", "socks5h://user:pa%0ass", "http://user:%7F"])
    func `No request avoids a proxy of the environment whose login has a control character`(_ login: String) async {
        await #expect(processExitsWith: .success) { [login] in
            let proxy = try FixtureServer.start { _ in .text("proxied") }
            let server = try FixtureServer.start { _ in .text("direct") }
            unsetenv("no_proxy")
            unsetenv("NO_PROXY")
            setenv("http_proxy", "\(login)@127.0.0.1:\(proxy.port)", 1)
            let refusal = #expect(throws: TransportError.self) { try CurlTransport(TransportConfiguration()) }
            let failures = [
                await #expect(throws: TransportError.self) {
                    try await SystemTransport().send(HTTPRequest(to: server))
                },
                await #expect(throws: TransportError.self) {
                    try await URLSessionTransport().send(HTTPRequest(to: server))
                },
            ]
            for error in [refusal] + failures {
                #expect(error?.kind == .invalidRequest)
                #expect(error?.reason.contains("http_proxy has a control character") == true)
                #expect(error?.reason.contains("%") == false)
            }
            #expect(server.totalRequests == 0)
            var configuration = TransportConfiguration()
            configuration.unixSocketPath = "/tmp/s"
            #expect(throws: Never.self, "a socket is used without a proxy server") { try CurlTransport(configuration) }
        }
    }

    @Test func `A proxy that the environment gets later is that of transports which are created later`() async {
        await #expect(processExitsWith: .success) {
            let proxy = try FixtureServer.start { _ in .text("proxied") }
            let server = try FixtureServer.start { _ in .text("direct") }
            for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"] {
                unsetenv(name)
            }
            let earlier = try CurlTransport()
            setenv("all_proxy", proxy.baseURL.absoluteString, 1)
            let later = try CurlTransport()
            let request = HTTPRequest(.get, URL("http://127.0.0.1:\(server.port)/%2e"))
            #expect(try await earlier.send(request).body == Data("direct".utf8))
            #expect(try await later.send(request).body == Data("proxied".utf8))
            #expect(try await server.takeRequest().target == "/%2e")
        }
    }

    @Test func `The environment excludes no host from a proxy of the configuration`() async {
        await #expect(processExitsWith: .success) {
            let proxy = try FixtureServer.start { _ in .text("proxied") }
            setenv("no_proxy", "*", 1)
            var configuration = TransportConfiguration()
            configuration.proxy = .url(proxy.baseURL)
            let transport = try CurlTransport(configuration)
            let response = try await transport.send(HTTPRequest(.get, URL("http://127.0.0.1:1/%2e")))
            #expect(response.body == Data("proxied".utf8))
            #expect(try await proxy.takeRequest().target == "http://127.0.0.1:1/%2e")
        }
    }

    @Test func `The head of a proxy's tunnel is not part of the response`() async throws {
        let proxy = try FixtureServer.start { _ in
            .raw("HTTP/1.1 407 Proxy Authentication Required\r\nX-Proxy: 1\r\nContent-Length: 0\r\n\r\n")
        }
        var configuration = TransportConfiguration()
        configuration.proxy = .url(proxy.baseURL)
        let transport = try CurlTransport(configuration)
        let url = try #require(URL(string: "https://api.example/%2e?x"))
        let error = await #expect(throws: TransportError.self) { try await transport.send(HTTPRequest(.get, url)) }
        #expect(error?.kind == .cannotConnect)
        let request = try await proxy.takeRequest()
        #expect((request.method, request.target) == ("CONNECT", "api.example:443"))
    }
}

/// A SOCKS 5 server (RFC 1928) that connects to nothing and does not respond to the first request.
private final class SilentSOCKSServer: Sendable {
    let port: UInt16
    private let listener: Int32
    private let state = Lock((hasRequest: false, isClosed: false))

    init() throws {
        (listener, port) = try Loopback.listen()
        Thread { [self] in
            let connection = accept(listener, nil, nil)
            defer { close(connection) }
            Self.serve(connection) { state.withLock { $0.hasRequest = true } }
            state.withLock { $0.isClosed = true }
        }.start()
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    var hasRequest: Bool { state.withLock(\.hasRequest) }
    var isClosed: Bool { state.withLock(\.isClosed) }

    /// Performs the handshake, calls `receivedRequest`, and returns when the client has closed the connection.
    private static func serve(_ connection: Int32, receivedRequest: () -> Void) {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let noAuthentication: [UInt8] = [5, 0]
        let connected: [UInt8] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        for response in [noAuthentication, connected] {
            guard recv(connection, &buffer, buffer.count, 0) > 0 else { return }
            _ = send(connection, response, response.count, Int32(MSG_NOSIGNAL))
        }
        guard recv(connection, &buffer, buffer.count, 0) > 0 else { return }
        receivedRequest()
        while recv(connection, &buffer, buffer.count, 0) > 0 {}
    }
}

@Suite("Tunnels of proxy servers", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CurlTunnelTests {
    private func configuration(_ proxy: URL) -> TransportConfiguration {
        var configuration = TransportConfiguration()
        configuration.proxy = .url(proxy)
        return configuration
    }

    /// Sends a request, and returns how it has ended and the events that were reported meanwhile.
    private func events(
        of url: URL,
        _ transport: CurlTransport,
        body: HTTPBody = .empty
    ) async -> (TransportError.Kind?, [String]) {
        let events = Lock<[String]>([])
        var request = HTTPRequest(body.isEmpty ? .get : .post, url, body: body)
        request.timeout = .milliseconds(500)
        request.observer = { event in
            events.withLock {
                if case .head(let status, _) = event { $0.append("\(status)") } else { $0.append("sent") }
            }
        }
        return (await transport.ending(of: request), events.withLock(\.self))
    }

    /// A new service each time, because the budget of retries is that of a service.
    private static var retryingService: APIService {
        var service = APIService(baseURL: URL("https://api.example/"))
        service.retryPolicy = RetryPolicy()
        service.retryPolicy.baseDelay = .zero
        return service
    }

    private static let bodies: [HTTPBody] = [
        .empty, .data(Data("abc".utf8)), .data(Data(repeating: 1, count: 200_000)),
    ]

    @Test(arguments: ["", "407 Proxy Authentication Required", "403 Forbidden", "502 Bad Gateway"], bodies.indices)
    func `A request is not reported as sent when only its tunnel was requested`(
        _ status: String,
        _ body: Int
    ) async throws {
        let proxy = try FixtureServer.start { _ in
            status.isEmpty ? .hang : .raw("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n")
        }
        let transport = try CurlTransport(configuration(proxy.baseURL))
        let (kind, events) = await events(of: URL("https://api.example/"), transport, body: Self.bodies[body])
        #expect(kind == (status.isEmpty ? .timeout : .cannotConnect))
        #expect(events.isEmpty)
        #expect(proxy.requests.map(\.method) == ["CONNECT"])
    }

    @Test(
        .enabled(if: TestAuthority.isAvailable && TLSServer.isAvailable, "openssl is not installed"),
        arguments: [false, true]
    )
    func `A request is reported as sent when it was sent through the tunnel, and not when the server is refused`(
        _ isTrusted: Bool
    ) async throws {
        let authority = try TestAuthority.shared.get()
        let server = try HTTP2Server(authority) { _ in .response("ok") }
        let proxy = try TunnelProxy(to: server.port)
        var configuration = configuration(proxy.url)
        if isTrusted { configuration.tls.additionalAuthorities = .file(authority.certificate) }
        let transport = try CurlTransport(configuration)
        for body in Self.bodies {
            let (kind, events) = await events(of: server.url("/"), transport, body: body)
            #expect(kind == (isTrusted ? nil : .security))
            #expect(events == (isTrusted ? ["sent", "200"] : []))
        }
        #expect(proxy.totalTunnels == (isTrusted ? 1 : 3))
    }

    @Test(arguments: [(400, 1), (403, 1), (405, 1), (407, 1), (429, 3), (502, 3), (503, 3)])
    func `A refused tunnel is requested again only where a response with its status would be`(
        _ status: Int,
        _ tunnels: Int
    ) async throws {
        let proxyServer = try FixtureServer.start { _ in
            .raw("HTTP/1.1 \(status) No\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n")
        }
        let service = Self.retryingService
        let proxy = try APIProxy(transport: CurlTransport(configuration(proxyServer.baseURL)))
        let error = await #expect(throws: APIError.self) {
            _ = try await proxy.send(HTTPRequest(.get, URL("https://api.example/")), to: service)
        }
        #expect(error?.type == .transport)
        #expect(proxyServer.requests.map(\.method) == Array(repeating: "CONNECT", count: tunnels))
    }
}

/// A proxy server that connects every tunnel to one port of this machine.
private final class TunnelProxy: Sendable {
    private let listener: Int32
    private let port: UInt16
    private let tunnels = Lock(0)

    init(to target: UInt16) throws {
        (listener, port) = try Loopback.listen()
        Thread { [listener, weak self] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                self?.tunnels.withLock { $0 += 1 }
                Thread { Self.serve(client, target) }.start()
            }
            close(listener)
        }.start()
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    var url: URL { URL("http://127.0.0.1:\(port)") }

    /// The number of requested tunnels.
    var totalTunnels: Int { tunnels.withLock(\.self) }

    private static func serve(_ client: Int32, _ target: UInt16) {
        var head = [UInt8](repeating: 0, count: 4_096)
        guard recv(client, &head, head.count, 0) > 0, let server = connect(to: target) else {
            close(client)
            return
        }
        let response = Array("HTTP/1.1 200 Connected\r\n\r\n".utf8)
        _ = send(client, response, response.count, Int32(MSG_NOSIGNAL))
        let ends = DispatchGroup()
        for (from, to) in [(client, server), (server, client)] {
            ends.enter()
            Thread {
                copy(from, to)
                ends.leave()
            }.start()
        }
        ends.notify(queue: .global()) {
            close(client)
            close(server)
        }
    }

    private static func connect(to port: UInt16) -> Int32? {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard !isConnected else { return server }
        close(server)
        return nil
    }

    private static func copy(_ from: Int32, _ to: Int32) {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while case let count = recv(from, &buffer, buffer.count, 0), count > 0 {
            guard send(to, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(to, Int32(SHUT_WR))
    }
}
#endif
