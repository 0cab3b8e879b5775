import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("The URL of a proxy server", .timeLimit(.minutes(10)))
struct ProxyServerTests {
    private static let servers: [(String, ProxyServer.Kind, String, UInt16)] = [
        ("http://proxy.test:3128", .http, "proxy.test", 3128),
        ("HTTP://proxy.test", .http, "proxy.test", 1080),
        ("https://proxy.test", .https, "proxy.test", 443),
        ("https://proxy.test:8443/", .https, "proxy.test", 8443),
        ("socks5h://127.0.0.1:9050", .socks5, "127.0.0.1", 9050),
        ("http://[::1]:8080", .http, "::1", 8080),
    ]

    @Test(arguments: servers)
    func `Kind, host and port are read`(
        _ url: String,
        _ kind: ProxyServer.Kind,
        _ host: String,
        _ port: UInt16
    ) throws {
        let server = try ProxyServer(URL(url))
        #expect(server.kind == kind)
        #expect(server.host == host)
        #expect(server.port == port)
        #expect(server.user == nil && server.password == nil)
    }

    @Test func `Name and password are percent-decoded`() throws {
        let server = try ProxyServer(URL("http://m%40e:s3%3Acret@proxy.test:3128"))
        #expect(server.user == "m@e")
        #expect(server.password == "s3:cret")
    }

    @Test(arguments: [
        ("socks5://me:s3cret@proxy.test", "use socks5h"), ("socks4://me:s3cret@proxy.test", "socks5h"),
        ("ftp://me:s3cret@proxy.test", "http, https or socks5h"), ("http:///path", "no host"),
        ("http://me:s3cret@proxy.test:70000", "the port"), ("http://proxy.test:0", "the port"),
    ])
    func `Another URL is refused without its secrets`(_ url: String, _ reason: String) throws {
        let error = #expect(throws: TransportError.self) { try ProxyServer(URL(url)) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("the setting proxy ") == true)
        #expect(error?.reason.contains(reason) == true)
        #expect(error?.reason.contains("s3cret") == false)
    }
}
