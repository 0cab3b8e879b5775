#if os(Linux)
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite(
    "A pinned key cannot be avoided",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: TestAuthority.isAvailable, "openssl is not installed")
)
struct CurlPinTests {
    private static let authority = Result {
        let authority = try TestAuthority()
        try authority.sign("many", names: "DNS:api.a.test,DNS:a.test,DNS:b.test,IP:127.0.0.1,IP:::1")
        return authority
    }
    private let authority: TestAuthority
    private let (pin, other): (String, String)

    init() throws {
        authority = try Self.authority.get()
        (pin, other) = (try authority.pin("many"), try authority.pin("other"))
    }

    /// A transport whose requests, whatever their host, reach one server on a Unix socket.
    private func transport(_ socket: String, _ pins: [String: [String]]) throws -> CurlTransport {
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        configuration.tls.pinnedPublicKeys = pins
        configuration.unixSocketPath = socket
        return try CurlTransport(configuration)
    }

    private func ending(_ transport: CurlTransport, _ host: String) async -> TransportError.Kind? {
        await transport.ending(of: HTTPRequest(.get, URL("https://\(host)/")))
    }

    @Test func `Another notation of a host has the same keys`() async throws {
        let (program, socket) = try authority.serve("many", onSocket: "notations", ["-www"])
        let notations = [
            "api.a.test": [
                "api.a.test", "API.A.Test", "api.a.test.", "%61pi.a.test", "api%2Ea.test", "api.a.test:443",
            ],
            "127.0.0.1": ["127.0.0.1", "127.1", "0x7f.0.0.1", "2130706433", "0177.0.0.1", "[::ffff:127.0.0.1]"],
            "::1": ["[::1]", "[0:0:0:0:0:0:0:1]", "[::0001]"],
        ]
        for (host, all) in notations {
            let (free, wrong) = (try transport(socket, [:]), try transport(socket, [host: [other]]))
            let right = try transport(socket, [host: [other, pin]])
            for notation in all {
                let accepted = await ending(free, notation)
                #expect(await ending(wrong, notation) == .security, "\(notation)")
                #expect(await ending(right, notation) == accepted, "\(notation)")
            }
            #expect(await ending(free, all[0]) == nil)
        }
        withExtendedLifetime(program) {}
    }

    @Test func `The longest name applies, and subdomains at any depth are not the host itself`() async throws {
        let (program, socket) = try authority.serve("many", onSocket: "wildcards", ["-www"])
        let below = try transport(socket, ["*.a.test": [other]])
        #expect(await ending(below, "api.a.test") == .security)
        #expect(await ending(below, "a.test") == nil)
        #expect(await ending(below, "b.test") == nil)
        let exact = try transport(socket, ["*.a.test": [other], "api.a.test": [pin]])
        #expect(await ending(exact, "api.a.test") == nil)
        let top = try transport(socket, ["*.test": [other], "*.a.test": [pin]])
        #expect(await ending(top, "api.a.test") == nil)
        #expect(await ending(top, "a.test") == .security)
        withExtendedLifetime(program) {}
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func `No connection and no session of another host avoids the keys`(_ version: String) async throws {
        let (program, socket) = try authority.serve("many", onSocket: "s\(version)", ["-www", version])
        let transport = try transport(socket, ["api.a.test": [other], "b.test": [pin]])
        for _ in 1...5 {
            #expect(await ending(transport, "a.test") == nil)
            #expect(await ending(transport, "api.a.test") == .security)
            #expect(await ending(transport, "b.test") == nil)
            #expect(await ending(transport, "api.a.test.") == .security)
        }
        let hosts = ["a.test", "api.a.test", "b.test"]
        await withTaskGroup(of: (String, TransportError.Kind?).self) { group in
            for number in 0..<30 { group.addTask { (hosts[number % 3], await ending(transport, hosts[number % 3])) } }
            for await (host, kind) in group { #expect(kind == (host == "api.a.test" ? .security : nil), "\(host)") }
        }
        withExtendedLifetime(program) {}
    }

    @Test(.enabled(if: TLSServer.isAvailable, "OpenSSL is not installed"))
    func `A connection of HTTP 2 is used for its own host alone`() async throws {
        let server = try HTTP2Server(authority) { _ in .response("ok") }
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        configuration.tls.pinnedPublicKeys = ["localhost": [other]]
        let transport = try CurlTransport(configuration)
        let (free, pinned) = (server.url("/"), URL("https://localhost:\(try #require(server.url("/").port))/"))
        try #require(free.host == "127.0.0.1")
        for _ in 1...3 {
            #expect(try await transport.send(HTTPRequest(.get, free)).isMultiplexed)
            #expect(await transport.ending(of: HTTPRequest(.get, pinned)) == .security)
        }
    }

    @Test func `The keys of a redirect's target apply to it`() async throws {
        let (target, targetURL) = try authority.serve("many")
        let redirect = "HTTP/1.1 302 Found\r\nLocation: \(targetURL)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        try Data(redirect.utf8).write(to: authority.directory.appending(path: "redirect"))
        let (server, url) = try authority.serve("server", ["-HTTP"])
        let start = URL("https://localhost:\(try #require(url.port))/redirect")
        for (pins, type) in [([pin], nil), ([other], APIErrorType.security)] {
            var configuration = TransportConfiguration()
            configuration.tls.additionalAuthorities = .file(authority.certificate)
            configuration.tls.pinnedPublicKeys = ["127.0.0.1": pins]
            let proxy = APIProxy(transport: try CurlTransport(configuration))
            var ending: APIErrorType?
            do throws(APIError) { _ = try await proxy.send(HTTPRequest(.get, start)) } catch { ending = error.type }
            #expect(ending == type)
        }
        _ = (server, target)
    }

    // Older versions of libcurl do not compare keys over HTTP/3.
    @Test func `A host with pinned keys is not offered HTTP 3`() throws {
        var settings = try CurlSettings(TransportConfiguration())
        settings.configuration.assumesHTTP3Capable = true
        let handle = try CurlHandle(settings)
        let request = HTTPRequest(.get, URL("https://api.a.test/"))
        let free = try CurlExchange(request, progress: nil)
        let pinned = try CurlExchange(request, pins: [pin], progress: nil)
        #expect(handle.httpVersion(for: free) == CurlValue.httpVersion3)
        #expect(handle.httpVersion(for: pinned) == CurlValue.httpVersion2TLS)
    }

    @Test func `A request that cannot be authenticated ends once, and is not sent`() async throws {
        let (program, socket) = try authority.serve("many", onSocket: "unsent", ["-www"])
        let transport = try transport(socket, ["api.a.test": [pin]])
        let place = authority.directory.appending(path: "unsent.download")
        for _ in 1...3 {
            for url in ["http://api.a.test/", "https://b%C3%BCcher.example/", "https://api.a.test../"] {
                var request = HTTPRequest(.get, URL(url))
                #expect(await transport.ending(of: request) == .security)
                request.destination = .file(place)
                #expect(await transport.ending(of: request) == .security)
            }
            #expect(!FileManager.default.fileExists(atPath: place.path))
            #expect(await ending(transport, "api.a.test") == nil)
        }
        withExtendedLifetime(program) {}
    }
}
#endif
