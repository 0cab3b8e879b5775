#if os(Linux)
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite(
    "A client certificate is sent only to its origins",
    .fault(83),
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: TestAuthority.isAvailable, "openssl is not installed")
)
struct CurlIdentityTests {
    private static let authority = Result { try TestAuthority() }
    private let authority: TestAuthority
    /// Requests a certificate, accepts any client, and responds with the certificate that it received.
    private static let asks = ["-www", "-verify", "1", "-CAfile", "ca.pem"]

    init() throws {
        authority = try Self.authority.get()
    }

    private func configuration(_ origins: [URL]) -> TransportConfiguration {
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        let certificate = authority.identity("client")
        configuration.tls.clientIdentity = ClientIdentity(certificate: certificate, origins: origins)
        return configuration
    }

    private func transport(_ origins: URL...) throws -> CurlTransport {
        try CurlTransport(configuration(origins))
    }

    private func isShown(_ url: URL, through transport: CurlTransport) async throws -> Bool {
        try isShown(await transport.send(HTTPRequest(.get, url)).body)
    }

    private func isShown(_ page: Data) throws -> Bool {
        let text = String(decoding: page, as: UTF8.self)
        let isShown = text.contains("Client certificate")
        try #require(isShown != text.contains("no client certificate available"), "\(text)")
        return isShown
    }

    private func named(_ host: String, _ url: URL) throws -> URL {
        URL("https://\(host):\(try #require(url.port))/")
    }

    @Test func `A server of the origin receives the certificate, in any case and path`() async throws {
        let (program, url) = try authority.serve("server", Self.asks + ["-Verify", "1", "-verify_return_error"])
        let transport = try transport(URL("HTTPS://127.0.0.1:\(try #require(url.port))/api?x#y"))
        #expect(try await isShown(url, through: transport))
        #expect(try await isShown(url.appending(path: "elsewhere"), through: transport))
        withExtendedLifetime(program) {}
    }

    @Test func `A server that requires a certificate receives none without an identity`() async throws {
        let (program, url) = try authority.serve("server", Self.asks + ["-Verify", "1", "-verify_return_error"])
        var configuration = configuration([url])
        configuration.tls.clientIdentity = nil
        let transport = try CurlTransport(configuration)
        let error = await #expect(throws: TransportError.self) { try await transport.send(HTTPRequest(.get, url)) }
        #expect(error?.kind == .security || error?.kind == .connectionLost)
        withExtendedLifetime(program) {}
    }

    @Test func `The server of a redirect does not receive the certificate`() async throws {
        let (foreign, foreignURL) = try authority.serve("server", Self.asks)
        let redirect = "HTTP/1.1 302 Found\r\nLocation: \(foreignURL)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        try Data(redirect.utf8).write(to: authority.directory.appending(path: "redirect"))
        let (server, serverURL) = try authority.serve("server", ["-HTTP", "-Verify", "1", "-CAfile", "ca.pem"])
        let proxy = APIProxy(service: .sample(), transport: try transport(serverURL))
        for _ in 1...2 {
            let response = try await proxy.send(HTTPRequest(.get, serverURL.appending(path: "redirect")))
            #expect(response.redirects.count == 1)
            #expect(try !isShown(response.body))
        }
        _ = (server, foreign)
    }

    @Test func `Another port or name of the same server does not receive the certificate`() async throws {
        let (program, url) = try authority.serve("server", Self.asks)
        let (other, otherURL) = try authority.serve("server", Self.asks)
        let urls = [url, otherURL, try named("localhost", url), url, try named("localhost", otherURL)]
        let transport = try transport(url)
        for other in urls + urls.reversed() {
            #expect(try await isShown(other, through: transport) == (other == url), "\(other)")
        }
        try await withThrowingTaskGroup(of: (URL, Bool).self) { group in
            for url in urls + urls + urls { group.addTask { (url, try await isShown(url, through: transport)) } }
            for try await (other, isShown) in group { #expect(isShown == (other == url), "\(other)") }
        }
        _ = (program, other)
    }

    @Test func `A name with a trailing dot shares no connection and no session`() async throws {
        for version in ["-tls1_2", "-tls1_3"] {
            let (program, path) = try authority.serve(onSocket: "s\(version)", Self.asks + [version])
            var configuration = configuration([URL("https://localhost")])
            configuration.unixSocketPath = path
            let transport = try CurlTransport(configuration)
            for _ in 1...3 {
                #expect(try await isShown(URL("https://localhost/"), through: transport))
                #expect(try await !isShown(URL("https://localhost./"), through: transport))
            }
            withExtendedLifetime(program) {}
        }
    }

    @Test func `Several origins may receive the certificate`() async throws {
        let (program, url) = try authority.serve("server", Self.asks)
        let name = try named("localhost", url)
        let transport = try transport(url, name)
        #expect(try await isShown(url, through: transport))
        #expect(try await isShown(name, through: transport))
        withExtendedLifetime(program) {}
    }

    @Test(arguments: [
        [], ["http://a.test"], ["https://a.test", "http://a.test"], ["file:///a"], ["https:///x"], ["a"],
    ])
    func `An identity without origins, or with other ones than https, is refused`(_ origins: [String]) {
        let error = #expect(throws: TransportError.self) {
            try CurlTransport(configuration(origins.map { URL($0) }))
        }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("tls.clientIdentity") == true)
    }
}
#endif
