import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("A host in one form for all of its notations", .timeLimit(.minutes(10)))
struct HostNameTests {
    @Test(arguments: [
        ("api.example.com", "api.example.com"), ("API.Example.COM", "api.example.com"),
        ("api.example.com.", "api.example.com"), ("%61pi.example%2Ecom", "api.example.com"),
        ("api.example.com:8443", "api.example.com"), ("me:pass@api.example.com", "api.example.com"),
        ("bücher.example", "xn--bcher-kva.example"), ("xn--BCHER-kva.example", "xn--bcher-kva.example"),
        ("ＡＰＩ.example。com", "api.example.com"), ("a_b.example", "a_b.example"), ("localhost", "localhost"),
        ("1.example", "1.example"), ("1.2.3.4.example", "1.2.3.4.example"),
    ])
    func `A name is in lower case, decoded and without a trailing dot`(_ authority: String, _ name: String) throws {
        let host = try #require(HostName(URL("https://\(authority)/path?a@b")))
        #expect(host.text == name)
        #expect(!host.isAddress)
    }

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("127.1", "127.0.0.1"), ("0x7f.1", "127.0.0.1"), ("0177.0.0.01", "127.0.0.1"),
        ("2130706433", "127.0.0.1"), ("127.0.0.1.", "127.0.0.1"), ("%3127.0.0.1", "127.0.0.1"),
        ("[::1]", "::1"), ("[0:0::0001]:80", "::1"), ("[2001:DB8::A]", "2001:db8::a"),
        ("[fe80::1%25eth0]", "fe80::1"), ("[::ffff:127.0.0.1]", "127.0.0.1"), ("[::FFFF:7f00:1]", "127.0.0.1"),
    ])
    func `An address has the same form in every notation`(_ authority: String, _ address: String) throws {
        let host = try #require(HostName(URL("https://\(authority)/")))
        #expect(host.text == address)
        #expect(host.isAddress)
        #expect(Array(host.parents).isEmpty)
    }

    @Test(arguments: ["https:///a", "/a", "https://b%C3%BCcher.example/", "https://%E2%80%8Ba.test/", "https://./"])
    func `A URL without a host, or with one that is not ASCII, has none`(_ url: String) {
        #expect(HostName(URL(url)) == nil)
    }

    @Test(arguments: ["a..", "a.test..", "a%2e.", "a.%2E", "a..b", "a%2e%2eb", ".a", "..", "127.0.0.1.."])
    func `A host with an empty label has none`(_ authority: String) {
        #expect(HostName(URL("https://\(authority)/")) == nil)
    }

    /// Of a longer one, as a server can put it into JSON, the domains would take minutes.
    @Test func `A name has at most 253 characters`() {
        let longest = String(repeating: "a.", count: 126) + "b"
        #expect(HostName(URL("https://\(longest)/"))?.text == longest)
        #expect(HostName(URL("https://\(longest)./"))?.text == longest)
        for name in ["a.\(longest)", String(repeating: "a.", count: 100_000) + "b"] {
            let isName = HostName(URL("https://\(name)/")) != nil
            #expect(!isName)
        }
    }

    @Test func `The domains that contain a host are known, the longest first`() throws {
        let host = try #require(HostName(URL("https://a.b.example.com")))
        #expect(Array(host.parents) == ["b.example.com", "example.com", "com"])
        #expect(Array(try #require(HostName(URL("https://localhost"))).parents).isEmpty)
    }
}
