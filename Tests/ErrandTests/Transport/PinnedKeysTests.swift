import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
