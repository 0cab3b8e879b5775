#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

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
        (listener, port) = try HTTP2Server.listen()
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
#endif
