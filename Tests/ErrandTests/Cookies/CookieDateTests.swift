import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
