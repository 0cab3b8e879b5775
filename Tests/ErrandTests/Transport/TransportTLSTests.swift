import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite(
    "TLS, over every transport",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: TestAuthority.isAvailable, "openssl is not installed")
)
struct TransportTLSTests {
    private static let authority = Result { try TestAuthority() }
    private let authority: TestAuthority

    init() throws {
        authority = try Self.authority.get()
    }

    /// Returns the outcome of a request of a transport that trusts the private authority.
    private func outcome(
        _ kind: TransportKind,
        _ url: URL,
        _ configure: (inout TLSConfiguration) throws -> Void = { _ in }
    ) async throws -> TransportOutcome {
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        try configure(&configuration.tls)
        return await kind.outcome(of: HTTPRequest(.get, url), configuration)
    }

    private static let trust = "tls.additionalAuthorities"

    @Test(arguments: TransportKind.allCases)
    func `A private authority is trusted besides the system's`(_ kind: TransportKind) async throws {
        let (program, url) = try authority.serve()
        #expect(try await outcome(kind, url) == kind.expected(.status(200), with: Self.trust))
        let text = try Data(contentsOf: authority.certificate)
        let fromMemory = try await outcome(kind, url) { $0.additionalAuthorities = .data(text) }
        #expect(fromMemory == kind.expected(.status(200), with: Self.trust))
        withExtendedLifetime(program) {}
    }

    @Test(arguments: TransportKind.allCases)
    func `An unknown authority is refused`(_ kind: TransportKind) async throws {
        let (program, url) = try authority.serve()
        let ending = try await outcome(kind, url) { $0.additionalAuthorities = nil }
        try await KnownFault.authorities.known(for: kind) { #expect(ending == .failed(.security)) }
        withExtendedLifetime(program) {}
    }

    @Test(arguments: TransportKind.allCases)
    func `A certificate for another name, and one that has expired, are refused`(_ kind: TransportKind) async throws {
        for identity in ["other", "expired"] {
            let (program, url) = try authority.serve(identity)
            #expect(try await outcome(kind, url) == kind.expected(.failed(.security), with: Self.trust), "\(identity)")
            withExtendedLifetime(program) {}
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `A pinned key is accepted, and any other refused, for each host`(_ kind: TransportKind) async throws {
        let (program, url) = try authority.serve()
        let named = URL("https://localhost:\(try #require(url.port))/")
        let (pin, other) = (try authority.pin("server"), try authority.pin("other"))
        let cases: [(pins: [String: [String]], address: TransportOutcome, name: TransportOutcome)] = [
            (["127.0.0.1": [pin]], .status(200), .status(200)),
            (["127.0.0.1": [other, pin]], .status(200), .status(200)),
            (["127.0.0.1": [other]], .failed(.security), .status(200)),
            (["127.0.0.1": [other], "localhost": [pin]], .failed(.security), .status(200)),
            (["127.0.0.1": [pin], "LOCALHOST.": [other]], .status(200), .failed(.security)),
            (["*.localhost": [other]], .status(200), .status(200)),
        ]
        for (pins, address, name) in cases {
            let setting = kind.expected(address, with: Self.trust)
            #expect(try await outcome(kind, url) { $0.pinnedPublicKeys = pins } == setting, "\(pins)")
            let ending = kind.expected(name, with: Self.trust)
            #expect(try await outcome(kind, named) { $0.pinnedPublicKeys = pins } == ending, "\(pins)")
        }
        let refused = kind.expected(.failed(.security), with: "tls.pinnedPublicKeys")
        let pins = ["127.0.0.1": [other]]
        #expect(
            try await outcome(kind, url) { ($0.additionalAuthorities, $0.pinnedPublicKeys) = (nil, pins) } == refused
        )
        withExtendedLifetime(program) {}
    }

    @Test(arguments: TransportKind.allCases)
    func `A server that requires a certificate receives that of the client`(_ kind: TransportKind) async throws {
        let options = ["-www", "-Verify", "1", "-verify_return_error", "-CAfile", "ca.pem"]
        let (program, url) = try authority.serve("server", options)
        let identity = ClientIdentity(
            certificate: try authority.archive("client", "pass"),
            password: "pass",
            origins: [url]
        )
        let received = try await outcome(kind, url) { $0.clientIdentity = identity }
        #expect(received == kind.expected(.status(200), with: Self.trust))
        let alone = try await outcome(kind, url) { ($0.additionalAuthorities, $0.clientIdentity) = (nil, identity) }
        #expect(alone == kind.expected(.failed(.security), with: "tls.clientIdentity"))
        withExtendedLifetime(program) {}
    }

    @Test(arguments: TransportKind.allCases)
    func `A server with only an older version of TLS is refused`(_ kind: TransportKind) async throws {
        let (program, url) = try authority.serve("server", ["-www", "-tls1_2"])
        #expect(try await outcome(kind, url) == kind.expected(.status(200), with: Self.trust))
        let refused = try await outcome(kind, url) { ($0.additionalAuthorities, $0.minimumVersion) = (nil, .v1_3) }
        #expect(refused == kind.expected(.failed(.cannotConnect), with: "tls.minimumVersion"))
        withExtendedLifetime(program) {}
    }

    @Test(arguments: TransportKind.allCases)
    func `A server without TLS is a connection error`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _, _ in .onAccept(.write("HTTP/1.1 400 Bad Request\r\n\r\n"), .close) }
        let url = URL("https://127.0.0.1:\(server.port)/")
        let ending = try await outcome(kind, url) { $0.additionalAuthorities = nil }
        try await KnownFault.authorities.known(for: kind) { #expect(ending == .failed(.cannotConnect)) }
    }

    #if os(Linux)
    /// Whether a file of the system can be replaced for one program.
    private static let canReplaceAuthorities = TestProgram.succeeds([
        "unshare", "-rm", "mount", "--bind", "/dev/null", "/etc/ssl/certs/ca-certificates.crt",
    ])

    /// URLSession on Linux trusts the authorities of this file alone, so a program runs with another one in its place.
    @Test(
        .enabled(if: canReplaceAuthorities, "the authorities of the system cannot be replaced for a program"),
        arguments: TransportKind.allCases
    )
    func `With an authority of the system, only the right name and a current certificate are accepted`(
        _ kind: TransportKind
    ) async throws {
        let servers = try ["server", "other", "expired"].map { try authority.serve($0) }
        let script = #"mount --bind "$1" /etc/ssl/certs/ca-certificates.crt && shift && exec "$0" "$@""#
        let wrapper = ["unshare", "-rm", "sh", "-c", script, CookieProbe.path, authority.certificate.path]
        let urls = servers.map(\.1.absoluteString)
        let ending = try await TestProgram.run(wrapper + ["fetch", "\(kind)"] + urls)
        try await KnownFault.authorities.known(for: kind) {
            #expect(ending.lines == ["200", "security", "security"], "\(ending.standardError)")
        }
        withExtendedLifetime(servers) {}
    }

    @Test func `Authorities and the oldest version of TLS apply to a proxy server over TLS`() async throws {
        // The proxy server responds to the request itself.
        let (program, url) = try authority.serve("server", ["-www", "-tls1_2"])
        var configuration = TransportConfiguration()
        configuration.proxy = .url(url)
        let request = HTTPRequest(.get, URL("http://api.example/"))
        #expect(await TransportKind.curl.outcome(of: request, configuration) == .failed(.security))
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        #expect(await TransportKind.curl.outcome(of: request, configuration) == .status(200))
        configuration.tls.minimumVersion = .v1_3
        #expect(await TransportKind.curl.outcome(of: request, configuration) != .status(200))
        withExtendedLifetime(program) {}
    }

    @Test(.enabled(if: CurlLibrary.supportsHTTP3, "this libcurl does not support HTTP/3"))
    func `A server without HTTP 3 is reached over another version, and its key verified`() async throws {
        let (program, url) = try authority.serve()
        let (pin, other) = (try authority.pin("server"), try authority.pin("other"))
        let endings = [([], TransportOutcome.status(200)), ([pin], .status(200)), ([other], .failed(.security))]
        for (keys, expected) in endings {
            var configuration = TransportConfiguration()
            configuration.assumesHTTP3Capable = true
            configuration.tls.additionalAuthorities = .file(authority.certificate)
            if !keys.isEmpty { configuration.tls.pinnedPublicKeys["127.0.0.1"] = keys }
            #expect(await TransportKind.curl.outcome(of: HTTPRequest(.get, url), configuration) == expected)
        }
        withExtendedLifetime(program) {}
    }
    #endif
}
