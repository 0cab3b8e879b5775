import Errand
import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

/// FAULT 32: expiry times, and responses after a logout.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct CookieExpiryTests {
    let url = URL("https://shop.example.org/")
    let noon = Date(timeIntervalSince1970: 1_800_000_000)
    let jar = CookieJar()
    private static let longest: TimeInterval = 400 * 86_400

    @Test("Max-Age takes precedence over Expires, and the last attribute of each name over earlier ones")
    func ordersAttributes() {
        jar.store(setCookie: "a=1; Max-Age=10; Expires=Fri, 01 Jan 1999 00:00:00 GMT", from: url, at: noon)
        jar.store(setCookie: "b=1; Max-Age=10; Max-Age=20", from: url, at: noon)
        jar.store(setCookie: "c=1; Max-Age=10; Max-Age=x", from: url, at: noon)
        #expect(jar.cookies.map(\.expires) == [noon + 10, noon + 20, noon + 10])
    }

    @Test(
        "No lifetime is longer than 400 days",
        .fault(32),
        arguments: [
            "Max-Age=1000000000000000000000000000000", "Max-Age=9223372036854775808",
            "Expires=Fri, 31 Dec 9999 23:59:59 GMT",
            "Max-Age=\(String(repeating: "9", count: 1000))",
        ]
    )
    func capsLife(_ attribute: String) {
        jar.store(setCookie: "a=1; \(attribute)", from: url, at: noon)
        #expect(jar.cookies.map(\.expires) == [noon + Self.longest])
    }

    @Test(
        "An expiry time in the past removes the cookie",
        arguments: [
            "Max-Age=0", "Max-Age=-1", "Max-Age=-99999999999999999999", "Expires=Fri, 01 Jan 1999 00:00:00 GMT",
            "Expires=Mon, 01 Jan 1601 00:00:00 GMT",
        ]
    )
    func removes(_ attribute: String) {
        jar.store(setCookie: "a=1", from: url, at: noon)
        #expect(jar.store(setCookie: "a=; \(attribute)", from: url, at: noon) == .removed)
        #expect(jar.cookies.isEmpty)
    }

    @Test(
        "An invalid number or date makes a session cookie",
        arguments: [
            "Max-Age=", "Max-Age=1.5", "Max-Age=+5", "Max-Age=-", "Max-Age=0x1", "Max-Age=1 2", "Expires=tomorrow",
            "Expires",
        ]
    )
    func ignores(_ attribute: String) {
        jar.store(setCookie: "a=1; \(attribute)", from: url, at: noon)
        #expect(jar.cookies.map(\.expires) == [nil])
    }

    @Test("A cookie is sent until its expiry time")
    func expires() {
        jar.store(setCookie: "a=1; Max-Age=10", from: url, at: noon)
        #expect(jar.header(for: url, at: noon + 9.9) == "a=1")
        #expect(jar.header(for: url, at: noon + 10) == nil)
        #expect(jar.header(for: url, at: noon - 10 * 365 * 86_400) == "a=1")
    }

    // Seconds instead of dates, because the description of a Date traps for some of them.
    @Test(
        "Any clock can be used",
        .fault(32),
        arguments: [0, -62_135_769_600, 1e12, 1e300, .infinity, -.infinity, .nan]
    )
    func acceptsClock(_ seconds: TimeInterval) throws {
        let date = Date(timeIntervalSince1970: seconds)
        let folder = try TemporaryFolder()
        let jar = CookieJar(file: folder.file, at: date)
        jar.store(setCookie: "a=1; Max-Age=10", from: url, at: date)
        jar.store(setCookie: "b=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT", from: url, at: date)
        jar.store(setCookie: "c=1", from: url, at: date)
        try jar.flush()
        #expect(jar.header(for: url, at: date)?.contains("c=1") == true)
        #expect(CookieJar(file: folder.file, at: date).header(for: url, at: date)?.contains("c=1") == true)
    }

    @Test("An update keeps the creation time and thus the position in the header field")
    func keepsPlace() {
        for name in ["a", "b", "c"] { jar.store(setCookie: "\(name)=1", from: url, at: noon) }
        jar.store(setCookie: "a=2", from: url, at: noon + 5)
        #expect(jar.header(for: url, at: noon) == "a=2; b=1; c=1")
        #expect(jar.cookies.first?.created == noon)
    }

    @Test("The response to a request from before a logout is refused after it")
    func respectsLogout() {
        let before = jar.generation
        jar.store(setCookie: "sid=1", from: url, generation: before)
        jar.clear()
        #expect(jar.store(setCookie: "sid=2", from: url, generation: before) == .refused(.cleared))
        #expect(jar.cookies.isEmpty)
        jar.store(setCookie: "sid=3", from: url, generation: jar.generation)
        #expect(jar.header(for: url) == "sid=3")
    }

    @Test("An expired Secure cookie does not prevent an insecure one")
    func forgetsEndedSecureCookie() {
        let plain = URL("http://shop.example.org/")
        jar.store(setCookie: "sid=1; Secure; Max-Age=10", from: url, at: noon)
        #expect(jar.store(setCookie: "sid=2", from: plain, at: noon + 9) == .refused(.shadowsSecureCookie))
        jar.store(setCookie: "sid=3", from: plain, at: noon + 10)
        #expect(jar.cookies.map(\.value) == ["3"])
    }
}
