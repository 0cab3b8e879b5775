import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// The path of a cookie is compared byte for byte with the path that is sent (RFC 6265bis section 5.1.4).
@Suite("Cookie paths", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CookiePathTests {
    /// All are sent unchanged; many would be equal if they were decoded or normalized.
    private static let paths = [
        "/a", "/a/", "/a/b", "/a%2Fb", "/a%2fb", "/A", "/%61", "/a%20b", "/a+b", "//a", "/a//b", "/~u",
        "/%7Eu", "/%7eu", "/%C3%BC", "/%c3%bc", "/a,b", "/a=b", "/a:b@c", "/a%25b", "/a%2Eb", "/a.b", "/.a", "/a/.b",
    ]

    @Test(arguments: paths)
    func `A cookie is sent for its path and below it, and for no other spelling of the path`(_ path: String) throws {
        let jar = CookieJar()
        let host = "https://shop.example.org"
        jar.store(setCookie: "own=1; Path=\(path)", from: URL("\(host)/"))
        for other in Self.paths {
            let isSent = other == path || other.hasPrefix(base(path))
            #expect((jar.header(for: URL(host + other)) != nil) == isSent, "\(other)")
            #expect(jar.header(for: URL(host + path + "?" + other)) == "own=1")
        }
        #expect(jar.header(for: URL(host + base(path) + "below")) == "own=1")
    }

    private func base(_ path: String) -> String { path.hasSuffix("/") ? path : path + "/" }

    @Test func `The path that a jar compares is the path that is sent`() async throws {
        let server = try FixtureServer.start { _ in .text("") }
        let proxy = APIProxy()
        for path in Self.paths {
            let url = server.url(path)
            _ = try await proxy.send(HTTPRequest(.get, url))
            let sent = try await server.takeRequest().path
            #expect(CookieURL(url, trustsLoopback: false)?.path == sent, "\(path)")
        }
    }
}
