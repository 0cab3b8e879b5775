#if os(Linux)
import FixtureServer
import Foundation
import Testing
import TestSupport
@testable import Errand
@testable import ErrandTestSupport

private let isPossible = TestAuthority.isAvailable && TestProgram.path(of: "nginx") != nil

/// A server and a relay that does not forward the first connections, so that their TLS handshake hangs.
@Suite(
    "A handshake that hangs",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: isPossible, "nginx or openssl is not installed")
)
struct CurlHandshakeTests {
    /// The version of HTTP that the server supports over TLS.
    enum Version: String, CaseIterable {
        case http1 = ""
        case http2 = "http2"
    }

    private let authority: TestAuthority
    private let folder: TemporaryFolder
    private let backend: FixtureServer

    init() throws {
        authority = try TestAuthority.shared.get()
        folder = try TemporaryFolder()
        // Longer than any exchange waits for the connection of another one.
        backend = try FixtureServer.start { request in
            request.path == "/slow" ? .text("ok").delayed(by: .milliseconds(1_300)) : .text("ok")
        }
    }

    private func startNginx(_ version: Version) async throws -> (TestProgram, UInt16) {
        let settings = "location / { proxy_pass http://127.0.0.1:\(backend.port); }"
        return try await authority.serveWithNginx(in: folder.url, listen: "ssl \(version.rawValue)", settings)
    }

    private func transport() throws -> CurlTransport {
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        return try CurlTransport(configuration)
    }

    private func url(_ port: UInt16, _ path: String = "/") -> URL {
        URL("https://localhost:\(port)\(path)")
    }

    @Test(.fault(89), arguments: Version.allCases, [1, 2])
    func `The other requests to the host use other connections`(
        _ version: Version,
        _ hanging: Int
    ) async throws {
        let (nginx, port) = try await startNginx(version)
        let relay = try DelayingForwarder(to: port, holding: hanging)
        let transport = try transport()
        let stuck = Task { try await transport.send(HTTPRequest(.get, url(relay.port))) }
        try await until { relay.connections == 1 }
        let start = ContinuousClock.now
        // With two hanging connections, the request that opens the second one hangs as well.
        let others = (1..<10).map { _ in Task { try await transport.send(HTTPRequest(.get, url(relay.port))).status } }
        try await until { backend.totalRequests == 10 - hanging }
        #expect(start.duration(to: .now) < .seconds(15), "half of the connect timeout")
        #expect(!stuck.isCancelled)
        stuck.cancel()
        relay.passOn()
        for other in others { #expect(try await other.value == 200) }
        #expect(await stuck.result.failureKind == .cancelled)
        #expect(backend.totalRequests == 9)
        nginx.stop()
    }

    @Test func `A slow handshake is not started again`() async throws {
        let (nginx, port) = try await startNginx(.http2)
        let relay = try DelayingForwarder(to: port, holding: 1)
        let transport = try transport()
        let slow = Task { try await transport.send(HTTPRequest(.get, url(relay.port))).status }
        try await until { relay.connections == 1 }
        let other = Task { try await transport.send(HTTPRequest(.get, url(relay.port))).status }
        // The other request no longer waits for the first connection, and the time for that has passed for both.
        #expect(try await other.value == 200)
        relay.passOn()
        #expect(try await slow.value == 200)
        #expect(relay.connections == 2)
        nginx.stop()
    }

    @Test(arguments: Version.allCases)
    func `A slow request is processed once, however long others wait for a connection`(
        _ version: Version
    ) async throws {
        let (nginx, port) = try await startNginx(version)
        let transport = try transport()
        let responses = try await withThrowingTaskGroup(of: HTTPResponse.self) { group in
            for number in 0..<20 {
                let request = HTTPRequest(.post, url(port, "/slow"), body: .data(Data("\(number)".utf8)))
                group.addTask { try await transport.send(request) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(responses.map(\.status) == Array(repeating: 200, count: 20))
        #expect(responses.allSatisfy { $0.isMultiplexed == (version == .http2) })
        #expect(backend.requests.compactMap { Int($0.text) }.sorted() == Array(0..<20))
        nginx.stop()
    }
}

extension Result {
    fileprivate var failureKind: TransportError.Kind? {
        guard case .failure(let error) = self else { return nil }
        return (error as? TransportError)?.kind
    }
}

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

@Suite(
    "A pinned key cannot be avoided",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: TestAuthority.isAvailable, "openssl is not installed")
)
struct CurlPinTests {
    private static let identities = Result {
        let authority = try TestAuthority()
        try authority.sign("many", names: "DNS:api.a.test,DNS:a.test,DNS:b.test,IP:127.0.0.1,IP:::1")
        return (authority, pin: try authority.pin("many"), other: try authority.pin("other"))
    }
    private let authority: TestAuthority
    private let (pin, other): (String, String)

    init() throws { (authority, pin, other) = try Self.identities.get() }

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

@Suite("The file of additional authorities", .timeLimit(.minutes(10)))
struct CurlCABundleTests {
    private static let certificate = Data("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n".utf8)
    private let configuration: TLSConfiguration

    init() {
        var configuration = TLSConfiguration()
        configuration.additionalAuthorities = .data(Self.certificate)
        self.configuration = configuration
    }

    @Test(.startsLate) func `The file has no name by which it could be removed, and child processes do not inherit it`()
        async
    {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("TMPDIR", folder.url.path, 1)
            let bundle = try CurlCABundle(CurlCABundleTests().configuration)
            #expect(try folder.names.isEmpty)
            let path = try #require(bundle.path)
            #expect(FileManager.default.contents(atPath: path)?.suffix(Self.certificate.count) == Self.certificate)
            let number = try #require(URL(fileURLWithPath: path).pathComponents.last.flatMap { CInt($0) })
            #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
        }
    }

    @Test(.startsLate) func `Where open files are not listed, the file has a name until it is released`() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            setenv("TMPDIR", folder.url.path, 1)
            var bundle: CurlCABundle? = try CurlCABundle(CurlCABundleTests().configuration, openFiles: "/nowhere")
            let path = try #require(bundle?.path)
            #expect(try folder.names == [URL(fileURLWithPath: path).lastPathComponent])
            bundle = nil
            #expect(try folder.names.isEmpty)
        }
    }

    @Test(arguments: [
        "MAA=", "\n-----END CERTIFICATE-----",
        // Base64, but not a certificate: of another type, too short, too long, without a length.
        "AAAA\n-----END CERTIFICATE-----", "MIIB\n-----END CERTIFICATE-----", "MAAA\n-----END CERTIFICATE-----",
        "MIAA\n-----END CERTIFICATE-----",
    ])
    func `A damaged certificate is refused with its number when the transport is created`(_ damaged: String) {
        var configuration = TransportConfiguration()
        let text = "-----BEGIN CERTIFICATE-----\n\(damaged)"
        configuration.tls.additionalAuthorities = .data(Self.certificate + Data(text.utf8))
        let error = #expect(throws: TransportError.self) { try CurlTransport(configuration) }
        #expect(error?.reason == TransportError.invalidAuthority(number: 2).reason)
    }

    @Test(.startsLate) func `Without the system's authorities, additional ones are refused`() async {
        await #expect(processExitsWith: .success) {
            unsetenv("SSL_CERT_FILE")
            let configuration = CurlCABundleTests().configuration
            let error = #expect(throws: TransportError.self) {
                try CurlCABundle(configuration, systemFiles: ["/nowhere"])
            }
            #expect(error?.kind == .invalidRequest)
            #expect(error?.reason.contains("tls.additionalAuthorities") == true)
            #expect(error?.reason.contains("SSL_CERT_FILE") == true)
            let unchanged = try CurlCABundle(TLSConfiguration(), systemFiles: [])
            #expect(unchanged.path == nil)
        }
    }

    @Test(.startsLate) func `The file of SSL_CERT_FILE has the system's authorities where no other is found`() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let file = folder.url.appending(path: "system.pem")
            try Data("system".utf8).write(to: file)
            setenv("SSL_CERT_FILE", file.path, 1)
            let bundle = try CurlCABundle(CurlCABundleTests().configuration, systemFiles: [])
            let path = try #require(bundle.path)
            #expect(FileManager.default.contents(atPath: path) == Data("system\n".utf8) + Self.certificate)
        }
    }

    @Test(.startsLate) func `Without a place for the file there is no transport`() async {
        await #expect(processExitsWith: .success) {
            setenv("TMPDIR", "/nowhere", 1)
            let error = #expect(throws: TransportError.self) { try CurlCABundle(CurlCABundleTests().configuration) }
            #expect(error?.kind == .storage)
        }
    }
}
#endif
