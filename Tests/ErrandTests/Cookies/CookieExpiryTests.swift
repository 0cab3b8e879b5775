import Foundation
import Testing
import TestSupport

@testable import Errand
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
        jar.removeAll()
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

@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct CookieDateTests {
    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        let test: String
        let expected: String?
        var testDescription: String { test }
    }

    static let cases = cases(in: "examples.json") + cases(in: "bsd-examples.json")

    @Test(
        "A date of the http-state suite is parsed as the suite expects",
        .enabled(if: SharedData.httpState.exists, "the conformance data is not here"),
        arguments: cases
    )
    func reads(_ test: Case) throws {
        let expected = try test.expected.map { try Self.date($0) }
        #expect(CookieDate.parse(test.test.utf8) == expected)
    }

    @Test("The suite has 70 dates", .enabled(if: SharedData.httpState.exists, "the conformance data is not here"))
    func isComplete() {
        #expect(Self.cases.count == 70)
    }

    @Test(
        "A day that the month does not have is refused",
        arguments: ["31 Apr 2021", "29 Feb 2021", "29 Feb 2100", "0 Jan 2021"]
    )
    func refusesDay(_ day: String) {
        #expect(CookieDate.parse("\(day) 00:00:00 GMT".utf8) == nil)
    }

    @Test(
        "Years from 1601 to 9999 are accepted",
        arguments: ["1600": false, "1601": true, "9999": true, "10000": false, "1": false]
    )
    func boundsYear(_ year: String, isDate: Bool) {
        #expect((CookieDate.parse("1 Jan \(year) 00:00:00".utf8) != nil) == isDate)
    }

    @Test("Leap days and the first and last days of years are the same as in Foundation's calendar")
    func agreesWithFoundation() throws {
        for year in 1601...2400 {
            for day in ["28 Feb", "1 Mar", "31 Dec", "1 Jan"] {
                let text = "Day, \(day) \(year) 12:34:56 GMT"
                #expect(try CookieDate.parse(text.utf8) == Self.date(text))
            }
        }
    }

    /// Parses `Wed, 09 Dec 2009 16:27:23 GMT` with Foundation's calendar.
    private static func date(_ text: String) throws -> Date {
        let parts = text.split(whereSeparator: { " ,:".contains($0) })
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        var components = DateComponents(calendar: gregorian, timeZone: .gmt)
        components.day = Int(parts[1])
        components.month = try #require(months.firstIndex(of: String(parts[2]))) + 1
        components.year = Int(parts[3])
        (components.hour, components.minute, components.second) = (Int(parts[4]), Int(parts[5]), Int(parts[6]))
        return try #require(components.date)
    }

    private static let gregorian = Calendar(identifier: .iso8601)

    private static func cases(in name: String) -> [Case] {
        guard let text = try? String(decoding: SharedData.httpState.bytes("dates/\(name)"), as: UTF8.self) else {
            return []
        }
        let json = text.split(separator: "\n").filter { !$0.hasPrefix("//") }.joined(separator: "\n")
        return (try? JSONDecoder().decode([Case].self, from: Data(json.utf8))) ?? []
    }
}
