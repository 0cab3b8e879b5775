import FixtureServer
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@Suite(
    "TLS, over every transport",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: TestAuthority.isAvailable, "openssl is not installed")
)
struct TransportTLSTests {
    private let authority: TestAuthority

    init() throws {
        authority = try TestAuthority.shared.get()
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

@Suite("Certificates in PEM form", .timeLimit(.minutes(10)))
struct PEMCertificatesTests {
    private static func block(_ bytes: [UInt8], newline: String = "\n") -> String {
        let lines = Data(bytes).base64EncodedString(options: .lineLength64Characters).split(whereSeparator: \.isNewline)
        let text = ["-----BEGIN CERTIFICATE-----"] + lines.map(String.init) + ["-----END CERTIFICATE-----", ""]
        return text.joined(separator: newline)
    }

    private static let one = [UInt8](repeating: 1, count: 500)
    private static let two = [UInt8](repeating: 2, count: 100)

    private func decoded(_ text: String) throws -> [Data] {
        try TLSConfiguration.Certificates.data(Data(text.utf8)).decoded()
    }

    @Test(arguments: ["\n", "\r\n", "\r"])
    func `Every certificate of a text is read, and other lines are ignored`(_ newline: String) throws {
        let key = "-----BEGIN PRIVATE KEY-----\(newline)AAAA\(newline)-----END PRIVATE KEY-----\(newline)"
        let text =
            "# Errand CA\(newline)" + Self.block(Self.one, newline: newline) + "subject=CN = x\(newline)" + key
            + Self.block(Self.two, newline: newline)
        #expect(try decoded(text) == [Data(Self.one), Data(Self.two)])
    }

    @Test func `Blanks around lines are ignored`() throws {
        let lines = Self.block(Self.one).split(separator: "\n").map { "  \($0) \t" }
        #expect(try decoded(lines.joined(separator: "\n")) == [Data(Self.one)])
    }

    @Test func `A byte order mark hides no certificate`() throws {
        let text = "\u{FEFF}" + Self.block(Self.one) + Self.block(Self.two)
        #expect(try decoded(text) == [Data(Self.one), Data(Self.two)])
    }

    @Test(arguments: [
        ("-----BEGIN TRUSTED CERTIFICATE-----\nAQID\n-----END TRUSTED CERTIFICATE-----", "another kind"),
        ("-----BEGIN X509 CERTIFICATE-----\nAQID\n-----END X509 CERTIFICATE-----", "an old name"),
        ("# -----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----", "not at the start of its line"),
        ("-----BEGIN CERTIFICATE-----\nAQ$$\n-----END CERTIFICATE-----", "no Base64"),
        ("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----", "empty"),
        ("-----BEGIN CERTIFICATE-----\nAQID", "no end"),
        ("-----BEGIN CERTIFICATE-----\nAQ\n-----BEGIN CERTIFICATE-----\nAQ\n-----END CERTIFICATE-----", "two begin"),
    ])
    func `A damaged certificate is refused with its number`(_ text: String, _ mistake: String) throws {
        let error = #expect(throws: TransportError.self) { try decoded(Self.block(Self.one) + text) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("tls.additionalAuthorities") == true)
        #expect(error?.reason.contains("certificate 2 ") == true, "\(mistake)")
    }

    @Test(arguments: ["", "no certificate", "-----END CERTIFICATE-----"])
    func `A text without a certificate is refused`(_ text: String) throws {
        let error = #expect(throws: TransportError.self) { try decoded(text) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("contains no certificate") == true)
    }

    @Test func `A file that cannot be read is refused with its name`() throws {
        let missing = TLSConfiguration.Certificates.file(URL(filePath: "/nowhere/ca.pem"))
        let error = #expect(throws: TransportError.self) { try missing.decoded() }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("ca.pem cannot be read") == true)
    }

    @Test func `A URL that is no file's is refused, although its path is that of a file`() throws {
        let file = try TemporaryFile(Data(Self.block(Self.one).utf8))
        #expect(try TLSConfiguration.Certificates.file(file.url).decoded() == [Data(Self.one)])
        let remote = TLSConfiguration.Certificates.file(URL("https://a.test\(file.url.path)"))
        #expect(throws: TransportError.self) { try remote.decoded() }
    }

    @Test(.enabled(if: TestAuthority.isAvailable, "openssl is not installed"))
    func `The certificates of a file are those of openssl`() async throws {
        let authority = try TestAuthority.shared.get()
        let command = ["openssl", "x509", "-in", "ca.pem", "-outform", "DER", "-out", "ca.der"]
        let ending = try await TestProgram(command, in: authority.directory).ending()
        #expect(ending.status == 0)
        let expected = try Data(contentsOf: authority.directory.appending(path: "ca.der"))
        #expect(try TLSConfiguration.Certificates.file(authority.certificate).decoded() == [expected])
    }
}

@Suite("Pinned public keys, by host", .timeLimit(.minutes(10)))
struct PinnedKeysTests {
    /// Keys that differ in their first byte.
    private static func key(_ number: UInt8) -> String {
        "sha256//" + Data([number] + Array(repeating: 0, count: 31)).base64EncodedString()
    }

    private static let host = [key(1)]
    private static let deep = [key(2), key(3)]
    private static let domain = [key(4)]
    private static let address = [key(5)]

    private static let pins = [
        "API.example.com": host, "*.cdn.example.com.": deep, "*.example.com": domain, "bücher.example": host,
        "127.0.0.1": address, "::1": address, "[2001:db8:0::1]": address,
    ]

    @Test(arguments: [
        ("api.example.com", host), ("Api.Example.Com.", host), ("%61pi.example.com", host),
        ("api.example.com:8443", host),
        ("v2.api.example.com", domain), ("www.example.com", domain), ("a.b.example.com.", domain),
        ("cdn.example.com", domain), ("a.cdn.example.com", deep), ("a.b.CDN.example.com", deep),
        ("example.com", []), ("badexample.com", []), ("example.com.evil.test", []), ("xcdn.example", []),
        ("xn--bcher-kva.example", host), ("bücher.example", host),
        ("127.0.0.1", address), ("0x7f.1", address), ("2130706433", address), ("[::ffff:127.0.0.1]", address),
        ("127.0.0.2", []), ("[0::1]", address), ("[::1%25lo]", address), ("[2001:DB8::1]", address), ("[::2]", []),
    ])
    func `A host has the keys of the longest name that matches, in every notation`(
        _ authority: String,
        _ keys: [String]
    ) throws {
        #expect(try PinnedKeys(Self.pins).keys(for: URL("https://\(authority)/p")) == keys)
    }

    @Test(arguments: ["http://api.example.com/", "HTTP://a.cdn.example.com/", "http://127.1/"])
    func `A URL without TLS is refused for a host with keys`(_ url: String) throws {
        let keys = try PinnedKeys(Self.pins)
        let error = #expect(throws: TransportError.self) { try keys.keys(for: URL(url)) }
        #expect(error?.kind == .security)
        #expect(error?.reason.contains("https") == true)
        #expect(try keys.keys(for: URL("http://example.com/")) == [])
    }

    @Test(arguments: [
        "https://b%C3%BCcher.example/", "https://%F0%9F%98%80.test/", "https://api.example.com../",
        "https://api.example.com%2e./", "https://a.b.cdn.example.com../", "https://a..example.com/",
        "https://other.test../",
    ])
    func `A host that cannot be compared is refused where there are keys`(_ url: String) throws {
        let error = #expect(throws: TransportError.self) { try PinnedKeys(Self.pins).keys(for: URL(url)) }
        #expect(error?.kind == .security)
        #expect(try PinnedKeys([:]).keys(for: URL(url)) == [])
    }

    @Test(arguments: [
        "", "*", "*.", "*.*.a.test", "a.*.test", "*a.test", "https://a.test", "a.test/", "a.test:443", "a.test:",
        "[::1]:443", "a.test..", "*..", "*..a.test", "*.a.test..",
        "me@a.test", "a.test?b", "a.test#b", "a b", "a..test", ".a.test", "%61.test", "*.127.0.0.1", "*.[::1]", "[::1",
        "*.::1", "a.test\n", "a,b", "\\a",
    ])
    func `A name that is not a host, or a wildcard and a host, is refused`(_ name: String) {
        let error = #expect(throws: TransportError.self) { try PinnedKeys([name: Self.host]) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("tls.pinnedPublicKeys[\"") == true)
    }

    private static let malformedKeys: [[String]] = [
        [], [""], ["sha256//"], ["/etc/passwd"], ["sha256/\(key(1).dropFirst(8))"], [String(key(1).dropFirst(8))],
        ["sha1//\(Data(count: 20).base64EncodedString())"],
        ["sha256//\(Data(count: 31).base64EncodedString())"],
        ["sha256//\(Data(count: 33).base64EncodedString())"],
        ["\(key(1));\(key(2))"], [key(1), "no key"], ["\(key(1))\n"], ["SHA256//\(key(1).dropFirst(8))"],
        // The last digit has bits that no byte has.
        [key(1).replacing("A=", with: "B=")],
    ]

    @Test(arguments: malformedKeys)
    func `Keys that are none, or in another form, are refused`(_ keys: [String]) {
        let error = #expect(throws: TransportError.self) { try PinnedKeys(["a.test": keys]) }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.reason.contains("tls.pinnedPublicKeys[\"a.test\"]") == true)
    }

    @Test func `Two notations of one host are refused`() {
        let pins = ["a.test": Self.host, "A.test.": Self.deep]
        #expect(throws: TransportError.self) { try PinnedKeys(pins) }
        #expect(throws: TransportError.self) { try PinnedKeys(["127.0.0.1": Self.host, "127.1": Self.host]) }
    }

    @Test func `A password in a URL that was used as a name is not shown`() {
        let error = #expect(throws: TransportError.self) { try PinnedKeys(["https://me:s3cret@a.test": Self.host]) }
        #expect(error.map { !"\($0)".contains("s3cret") } == true)
    }

    private static let servers: [(String, String?, Bool)] = [
        ("a.cdn.example.com", key(2), true), ("a.cdn.example.com", key(3), true), ("a.cdn.example.com", key(1), false),
        ("api.example.com", key(1), true), ("api.example.com", key(4), false), ("api.example.com", nil, false),
        ("::1", key(5), true), ("::1", key(1), false), ("other.test", key(1), true), ("other.test", nil, true),
    ]

    @Test(arguments: servers)
    func `The key of a server is compared with those of its host`(
        _ server: String,
        _ key: String?,
        _ isPinned: Bool
    ) throws {
        let url = try #require(URL(serverOf: server, port: 443))
        let host = try #require(HostName(url))
        let keys = try PinnedKeys(Self.pins)
        guard !isPinned else { return try keys.check(key, of: host) }
        let error = #expect(throws: TransportError.self) { try keys.check(key, of: host) }
        #expect(error?.kind == .security)
        #expect(error?.reason == "the server's public key is not one that is pinned for \(host.text)")
    }

    @Test func `Hosts with the same keys have one list`() throws {
        #expect(try PinnedKeys(Self.pins).lists == [Self.host, Self.deep, Self.domain, Self.address])
        #expect(try PinnedKeys([:]).lists.isEmpty)
    }
}

@Suite(
    "The encoding of public keys",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: TestAuthority.isAvailable, "openssl is not installed")
)
struct SubjectPublicKeyInfoTests {
    struct Kind: Sendable, CustomStringConvertible {
        let description: String
        let algorithm: SubjectPublicKeyInfo.Algorithm
        let make: @Sendable (TemporaryFolder) async throws -> Void

        /// A key of RSA with `bits` random ones: two primes, which openssl searches for long, do not change its form.
        static func rsa(_ bits: Int, exponent: Int = 65_537) -> Kind {
            let name = exponent == 65_537 ? "RSA \(bits)" : "RSA \(bits) with exponent \(exponent)"
            return Kind(description: name, algorithm: .rsa) { folder in
                var random = SplitMix(seed: UInt64(bits))
                var digits = (0..<bits / 4).map { _ in String(random.next() % 16, radix: 16) }
                (digits[0], digits[digits.count - 1]) = ("c", "1")
                let numbers = "n=INTEGER:0x\(digits.joined())\ne=INTEGER:\(exponent)"
                try Data("asn1=SEQUENCE:key\n[key]\n\(numbers)\n".utf8).write(to: folder.url.appending(path: "conf"))
                try await openssl("asn1parse -genconf conf -noout -out key", in: folder)
                let form = "-RSAPublicKey_in -inform DER -in key -outform DER"
                try await openssl("rsa \(form) -pubout -out expected", in: folder)
            }
        }

        static func curve(_ name: String, _ algorithm: SubjectPublicKeyInfo.Algorithm) -> Kind {
            Kind(description: name, algorithm: algorithm) { folder in
                try await openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:\(name) -out key.pem", in: folder)
                try await openssl("pkey -in key.pem -pubout -outform DER -out expected", in: folder)
            }
        }
    }

    static let kinds: [Kind] = [
        .rsa(2_048), .rsa(3_072), .rsa(4_096),
        // Its exponent has one byte.
        .rsa(2_048, exponent: 3),
        .curve("P-256", .p256), .curve("P-384", .p384), .curve("P-521", .p521),
    ]

    @Test(arguments: kinds)
    func `A key is encoded as openssl encodes it, and has the same digest`(_ kind: Kind) async throws {
        let folder = try TemporaryFolder()
        try await kind.make(folder)
        let expected = try Data(contentsOf: folder.url.appending(path: "expected"))
        let encoded = SubjectPublicKeyInfo.encode(try await key(kind.algorithm, in: folder), kind.algorithm)
        #expect(encoded == expected)
        try encoded.write(to: folder.url.appending(path: "encoded"))
        let digests = try await Self.openssl("dgst -sha256 -r encoded expected", in: folder).split(separator: "\n")
        #expect(Set(digests.map { $0.prefix(64) }).count == 1)
    }

    /// Returns the key in the form of Apple's systems: PKCS #1 for RSA, an uncompressed point (X9.63) for curves.
    private func key(_ algorithm: SubjectPublicKeyInfo.Algorithm, in folder: TemporaryFolder) async throws -> Data {
        if algorithm == .rsa { return try Data(contentsOf: folder.url.appending(path: "key")) }
        let text = try await Self.openssl("pkey -in key.pem -text_pub -noout", in: folder)
        let digits = text.split(separator: "\n").filter { $0.hasPrefix("    ") }.joined().filter { $0.isHexDigit }
        var rest = Substring(digits)
        var bytes = Data()
        while !rest.isEmpty {
            bytes.append(try #require(UInt8(rest.prefix(2), radix: 16)))
            rest = rest.dropFirst(2)
        }
        #expect(bytes.first == 4)
        return bytes
    }

    @discardableResult
    private static func openssl(_ arguments: String, in folder: TemporaryFolder) async throws -> String {
        let command = ["openssl"] + arguments.split(separator: " ").map(String.init)
        let ending = try await TestProgram(command, in: folder.url).ending()
        try #require(ending.status == 0, "\(command): \(ending.standardError)")
        return ending.output
    }
}
