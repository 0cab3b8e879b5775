#if os(Linux)
import FixtureServer
import Foundation
import Testing

@testable import Errand

@Suite("Proxies", .takesTurns, .timeLimit(.minutes(1)))
struct CurlProxyTests {
    @Test func `A proxy carries requests to any host`() async throws {
        let proxy = try FixtureServer.start { _ in .text("proxied") }
        var configuration = TransportConfiguration()
        configuration.proxy = .url(proxy.baseURL)
        let transport = try CurlTransport(configuration)
        let url = try #require(URL(string: "http://api.example/goods?x=1"))
        #expect(try await transport.send(HTTPRequest(.get, url)).body == Data("proxied".utf8))
        #expect(try await proxy.takeRequest().target == "http://api.example/goods?x=1")
    }

    @Test func `The head of a proxy's tunnel is no part of the answer`() async throws {
        let proxy = try FixtureServer.start { _ in
            .raw("HTTP/1.1 407 Proxy Authentication Required\r\nX-Proxy: 1\r\nContent-Length: 0\r\n\r\n")
        }
        var configuration = TransportConfiguration()
        configuration.proxy = .url(proxy.baseURL)
        let transport = try CurlTransport(configuration)
        let url = try #require(URL(string: "https://api.example/"))
        let error = await #expect(throws: TransportError.self) { try await transport.send(HTTPRequest(.get, url)) }
        #expect(error?.kind == .cannotConnect)
        #expect(try await proxy.takeRequest().method == "CONNECT")
    }
}
#endif
