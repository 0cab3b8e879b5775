import Errand
import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

/// FAULT 36, and the rules of RFC 6265bis that the http-state suite does not test.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct CookieJarTests {
    static let shop = URL("https://shop.example.org/cart/list")
    let jar = CookieJar()

    @Test(
        "A cookie that the host may not set is refused",
        .fault(36),
        arguments: [
            ("a=1; Domain=org", CookieRefusal.publicSuffix),
            ("a=1; Domain=.org", .publicSuffix),
            ("a=1; Domain=sibling.example.org", .foreignDomain),
            ("a=1; Domain=below.shop.example.org", .foreignDomain),
            ("a=1; Domain=hop.example.org", .foreignDomain),
            ("a=1; Domain=shop.example.org.", .foreignDomain),
            ("a=1; Domain=shöp.example.org", .foreignDomain),
            ("a=1; SameSite=None", .sameSiteNoneWithoutSecure),
            ("__Secure-a=1", .prefix),
            ("__SECURE-a=1", .prefix),
            ("__Host-a=1; Secure", .prefix),
            ("__Host-a=1; Secure; Path=/cart", .prefix),
            ("__Host-a=1; Secure; Path=/; Domain=shop.example.org", .prefix),
            ("__host-a=1; Path=/", .prefix),
            ("=__Host-a=1; Secure; Path=/", .prefix),
            ("__Secure-", .prefix),
            ("=", .empty),
            ("; Path=/", .empty),
            ("a=b\u{7F}", .controlCharacter),
            ("a=b; Path=/\u{0}", .controlCharacter),
        ]
    )
    func refuses(_ line: String, _ refusal: CookieRefusal) {
        #expect(jar.store(setCookie: line, from: Self.shop) == .refused(refusal))
        #expect(jar.store(setCookie: line, from: Self.shop) == false)
        #expect(jar.cookies.isEmpty)
    }

    @Test(
        "A cookie that satisfies the rules is stored",
        arguments: [
            "__Secure-a=1; Secure; Domain=example.org", "__Host-a=1; Secure; Path=/", "__HOST-a=; secure; path=/",
            "a=1; Domain=.EXAMPLE.org", "a=1; SameSite=None; Secure",
        ]
    )
    func stores(_ line: String) {
        #expect(jar.store(setCookie: line, from: Self.shop) == true)
        #expect(jar.cookies.count == 1)
    }

    @Test("An insecure connection neither sets, hides nor receives a Secure cookie", .fault(36))
    func protectsSecureCookies() {
        let insecure = URL("http://shop.example.org/cart/list")
        #expect(jar.store(setCookie: "a=1; Secure", from: insecure) == .refused(.insecureConnection))
        jar.store(setCookie: "a=1; Secure; Path=/cart", from: Self.shop)
        for line in ["a=2; Path=/cart", "a=2; Path=/cart/list", "a=2; Path=/cart; Domain=example.org"] {
            #expect(jar.store(setCookie: line, from: insecure) == .refused(.shadowsSecureCookie))
        }
        jar.store(setCookie: "a=3; Path=/", from: insecure)
        #expect(jar.header(for: insecure) == "a=3")
        #expect(jar.header(for: Self.shop) == "a=1; a=3")
    }

    @Test(
        "Loopback over http is trusted only if the jar is configured to trust it",
        arguments: [
            "http://localhost/", "http://api.localhost:8080/", "http://127.8.9.1/", "http://[::1]/",
        ]
    )
    func trustsLoopback(_ text: String) {
        jar.store(setCookie: "a=1; Secure", from: URL(text))
        #expect(jar.cookies.isEmpty)
        let trusting = CookieJar(trustworthyLoopback: true)
        trusting.store(setCookie: "a=1; Secure", from: URL(text))
        #expect(trusting.header(for: URL(text)) == "a=1")
        #expect(
            trusting.store(setCookie: "a=1; Secure", from: URL("http://127.example.org/"))
                == .refused(.insecureConnection)
        )
    }

    @Test(
        "An address has no parent domain",
        .fault(36),
        arguments: ["http://10.1.2.3/", "http://[2001:db8::1]/", "http://127.1/"]
    )
    func doesNotMatchParentsOfAddresses(_ text: String) {
        jar.store(setCookie: "a=1; Domain=2.3", from: URL(text))
        jar.store(setCookie: "a=1; Domain=1", from: URL(text))
        #expect(jar.cookies.isEmpty)
        jar.store(setCookie: "a=1", from: URL(text))
        #expect(jar.header(for: URL(text)) == "a=1")
        #expect(jar.header(for: URL("http://9.10.1.2.3/")) == nil)
    }

    @Test("A host with a trailing dot is another host", .fault(36))
    func distinguishesTrailingDot() {
        let dotted = URL("https://shop.example.org./")
        jar.store(setCookie: "a=1; Path=/", from: dotted)
        #expect(jar.store(setCookie: "b=1; Domain=org.", from: dotted) == .refused(.publicSuffix))
        #expect(jar.header(for: Self.shop) == nil)
        #expect(jar.header(for: dotted) == "a=1")
    }

    @Test(
        "Only http and https URLs have cookies",
        arguments: ["ftp://shop.example.org/", "file:///tmp/x", "data:,x", "shop"]
    )
    func ignoresOtherSchemes(_ text: String) {
        #expect(jar.store(setCookie: "a=1", from: URL(text)) == .refused(.unsupportedURL))
        #expect(jar.header(for: URL(text)) == nil)
    }

    @Test("An international host is matched in its xn-- form")
    func matchesInternationalHosts() {
        jar.store(setCookie: "a=1; Domain=xn--bcher-kva.example", from: URL("https://www.bücher.example/"))
        #expect(jar.header(for: URL("https://BÜCHER.example/")) == "a=1")
    }

    @Test(
        "Sizes have the limits of RFC 6265bis",
        arguments: [
            ("n", 4096, true), ("n", 4097, false), ("attribute", 1024, true), ("attribute", 1025, false),
        ]
    )
    func limitsSizes(_ what: String, size: Int, isTaken: Bool) {
        let pair = "a=" + String(repeating: "v", count: size - 1)
        let path = "/" + String(repeating: "p", count: size - 1)
        if what == "n" {
            let outcome: CookieJar.Outcome = jar.store(setCookie: pair, from: Self.shop)
            #expect((outcome == .refused(.tooLong)) == !isTaken)
        } else {
            jar.store(setCookie: "a=1; Path=\(path)", from: Self.shop)
            #expect((jar.cookies.first?.path == path) == isTaken)
        }
    }

    @Test("A URL with a host that no name server can know has no cookies")
    func refusesLongHost() throws {
        let longest = String(repeating: "a.", count: 126) + "abc"
        let url = URL("http://\(longest)/")
        jar.store(setCookie: "a=1", from: url)
        #expect(jar.header(for: url) == "a=1")
        for host in ["a\(longest)", String(repeating: "a.", count: 50_000) + "a"] {
            guard let url = URL(string: "http://\(host)/") else { continue }
            #expect(jar.store(setCookie: "a=1", from: url) == .refused(.unsupportedURL))
            #expect(jar.header(for: url) == nil)
        }
    }

    @Test("A cookie does not have a longer path from its URL than from an attribute", arguments: [1_024, 1_025])
    func refusesLongDefaultPath(length: Int) throws {
        let path = "/" + String(repeating: "p", count: length - 1)
        let outcome: CookieJar.Outcome = jar.store(setCookie: "a=1", from: URL("http://shop.test\(path)/x"))
        #expect((outcome == .refused(.tooLong)) == (length > 1_024))
    }

    @Test("The bytes of name and value are not changed")
    func keepsBytes() throws {
        let line = Array("k\u{e9}y=a%20\"b\" \t c".utf8) + [0xFF, 0xFE]
        jar.store(setCookie: line, from: Self.shop)
        let cookie = try #require(jar.cookies.first)
        #expect(cookie.nameBytes + [UInt8(ascii: "=")] + cookie.valueBytes == line)
        #expect(jar.header(for: Self.shop)?.hasPrefix("k\u{e9}y=a%20\"b\" \t c") == true)
    }

    @Test("A cookie's description does not contain the value")
    func hidesValue() throws {
        jar.store(setCookie: "sid=secret", from: Self.shop)
        let cookie = try #require(jar.cookies.first)
        var dumped = ""
        dump(cookie, to: &dumped)
        #expect(!"\(cookie) \(String(reflecting: cookie)) \([cookie]) \(dumped)".contains("secret"))
    }
}
