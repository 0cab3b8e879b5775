import Errand
import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

/// The cookie suite of the IETF's http-state working group, run without a network.
@Suite(
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: SharedData.freshHTTPState.exists, "the conformance data is not here")
)
struct HTTPStateTests {
    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        let test: String
        let received: [String]
        let sent: [Pair]
        let sentTo: String?

        enum CodingKeys: String, CodingKey {
            case test, received, sent
            case sentTo = "sent-to"
        }

        var testDescription: String { test }
        /// The header field that the suite or, if the case is superseded, RFC 6265bis expects; `nil` for none.
        var expected: String? {
            if let superseded = superseded[test] { return superseded }
            guard !sent.isEmpty else { return nil }
            return sent.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
        }
    }

    struct Pair: Decodable, Sendable {
        let name: String
        let value: String
    }

    static let cases: [Case] =
        (try? JSONDecoder().decode([Case].self, from: SharedData.freshHTTPState.bytes("parser.json"))) ?? []

    /// The cases for which RFC 6265bis expects a different header field: nameless cookies are stored, header fields with
    /// control characters are refused, paths are not decoded, and the last `Domain` is used even when it is empty.
    static let superseded: [String: String?] = [
        "0004": "foo",
        "0021": "a=b; x; c=d",
        "0023": "foo",
        "0024": "foo",
        "0025": "foo",
        "0026": "foo",
        "0027": "bar",
        "0028": "foo",
        "CHROMIUM0009": "BLAHHH",
        "CHROMIUM0010": "\"BLA\\\"HHH\"",
        "CHROMIUM0012": "ABC",
        "DISABLED_CHROMIUM0022": nil,
        "DISABLED_CHROMIUM0023": nil,
        "DISABLED_PATH0029": nil,
        "MOZILLA0012": "test=\"fubar! = foo; five",
        "MOZILLA0014": "six",
        "MOZILLA0015": "seven",
        "MOZILLA0016": "eight",
        "MOZILLA0017": "eight; test=six",
        "NAME0017": "a=bar",
        "NAME0023": "foo",
        "NAME0025": "==a=bar",
        "NAME0028": "a",
        "NAME0031": "\"foo",
        "NAME0032": "\"foo\\\"bar",
        "NAME0033": "aaa",
        "OPTIONAL_DOMAIN0042": "foo=bar",
    ]

    @Test("A case of the suite sends the expected cookies", arguments: cases)
    func sends(_ test: Case) throws {
        let base = try #require(URL(string: "http://home.example.org:8888/cookie-parser?\(test.test.lowercased())"))
        let jar = CookieJar()
        for line in test.received { jar.store(setCookie: line, from: base) }
        let target = test.sentTo ?? "/cookie-parser-result?\(test.test.lowercased())"
        let url = try #require(URL(string: target, relativeTo: base))
        #expect(jar.header(for: url) == test.expected)
    }

    @Test("The suite has 222 cases, of which 27 are superseded")
    func isComplete() {
        #expect(Self.cases.count == 222)
        #expect(Set(Self.superseded.keys).isSubset(of: Self.cases.map(\.test)))
        #expect(Self.superseded.count == 27)
    }
}
