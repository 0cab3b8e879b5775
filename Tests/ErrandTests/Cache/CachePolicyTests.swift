import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// Stored responses and requests without a network: all are functions of values.
@Suite("The decisions of a cache", .timeLimit(.minutes(10)))
struct CachePolicyTests {
    private static let url = URL("http://shop.test/goods")
    /// 22:13:20 GMT on 14 November 2023.
    private static let start = Date(timeIntervalSince1970: 1_700_000_000)
    private static let date = "Tue, 14 Nov 2023 22:13:20 GMT"

    private func request(_ headers: HTTPHeaders = [:], _ method: HTTPMethod = .get) -> HTTPRequest {
        HTTPRequest(method, Self.url, headers: headers)
    }

    private func stored(
        _ headers: HTTPHeaders,
        status: Int = 200,
        body: String = "0123456789",
        to request: HTTPRequest? = nil,
        delay: TimeInterval = 0
    ) throws -> StoredResponse {
        try #require(
            StoredResponse(
                APIResponse(HTTPResponse(status: status, headers: headers, body: Data(body.utf8)), url: Self.url),
                to: request ?? self.request(),
                requestDate: Self.start,
                responseDate: Self.start + delay
            )
        )
    }

    private static func entry(_ stored: StoredResponse) -> CacheEntry {
        CacheEntry(stored: stored, body: CacheBody(Data()), name: "", key: CacheKey(url))
    }

    /// The decision as text, such as `send stale validated offline`.
    private func decision(
        _ policy: CachePolicy,
        _ stored: [StoredResponse],
        for request: HTTPRequest,
        after seconds: TimeInterval,
        usesHeuristics: Bool = false
    ) -> String {
        let (entries, date) = (stored.map(Self.entry), Self.start + seconds)
        switch policy.decision(for: request, entries, at: date, usesHeuristics: usesHeuristics) {
        case .use(_, _, let isStale): return isStale ? "use stale" : "use"
        case .send(let miss, let validated, let onError, let offline):
            let parts = [
                "send \(miss)", validated == nil ? nil : "validated", onError == nil ? nil : "onError",
                offline == nil ? nil : "offline",
            ]
            return parts.compactMap(\.self).joined(separator: " ")
        case .fail: return "fail"
        }
    }

    /// The decision by HTTP's rules.
    private func decision(
        _ stored: [StoredResponse],
        for request: HTTPRequest,
        after seconds: TimeInterval,
        usesHeuristics: Bool = false
    ) -> String {
        decision(.http, stored, for: request, after: seconds, usesHeuristics: usesHeuristics)
    }

    // MARK: Decisions

    /// A stored response, a request, a time, and the decision.
    struct Case: Sendable, CustomTestStringConvertible {
        let control: String
        var asked: HTTPHeaders = [:]
        let seconds: TimeInterval
        let expected: String

        init(_ control: String, _ asked: String?, _ seconds: TimeInterval, _ expected: String) {
            (self.control, self.seconds, self.expected) = (control, seconds, expected)
            self.asked = ["Cache-Control": asked]
        }

        init(_ control: String, _ seconds: TimeInterval, _ expected: String) {
            self.init(control, nil, seconds, expected)
        }

        var testDescription: String { "\(control), \(asked["Cache-Control"] ?? "-"), \(seconds): \(expected)" }
    }

    static let cases = [
        Case("max-age=60", 59, "use"),
        Case("max-age=60", 60, "send stale offline"),
        Case("max-age=60", 120, "send stale offline"),
        Case("max-age=60", 121, "send stale"),
        Case("max-age=60", -1, "send stale"),
        Case("max-age=60, s-maxage=1, private, proxy-revalidate", 59, "use"),
        Case("max-age=60, must-revalidate", 59, "use"),
        Case("max-age=60, must-revalidate", 61, "send stale"),
        Case("max-age=60, no-cache", 1, "send mustValidate"),
        Case("max-age=60, no-cache=\"X-Secret\"", 1, "use"),
        Case("no-store, max-age=60", 1, "use"),
        Case("", 0, "send stale offline"),
        Case("", 1, "send stale"),
        // RFC 5861.
        Case("max-age=60, stale-if-error=100", 100, "send stale onError offline"),
        Case("max-age=60, stale-if-error=100", 150, "send stale onError offline"),
        Case("max-age=60, stale-if-error=100", 161, "send stale"),
        Case("max-age=60, stale-if-error=100, must-revalidate", 61, "send stale"),
        Case("max-age=60", "stale-if-error=100", 150, "send stale onError offline"),
        Case("max-age=60, stale-while-revalidate=30", 59, "use"),
        Case("max-age=60, stale-while-revalidate=30", 60, "use stale"),
        Case("max-age=60, stale-while-revalidate=30", 90, "use stale"),
        Case("max-age=60, stale-while-revalidate=30", 91, "send stale offline"),
        Case("max-age=60, stale-while-revalidate=30, must-revalidate", 61, "send stale"),
        Case("max-age=60, stale-while-revalidate=30", "max-age=600", 61, "send stale offline"),
        Case("max-age=60, stale-while-revalidate=30", "no-cache", 61, "send mustValidate"),
        // RFC 8246.
        Case("max-age=60, immutable", "max-age=0", 5, "use"),
        Case("max-age=60, immutable", "max-age=0", 61, "send stale offline"),
        Case("max-age=60, immutable, must-revalidate", "no-cache", 5, "send mustValidate"),
        // RFC 9111 section 5.2.1.
        Case("max-age=60", "no-cache", 5, "send mustValidate"),
        Case("max-age=60", "no-store", 5, "use"),
        Case("max-age=60", "max-age=0", 0, "send stale offline"),
        Case("max-age=60", "max-age=10", 10, "use"),
        Case("max-age=60", "max-age=10", 11, "send stale offline"),
        Case("max-age=60", "max-age=100", 61, "send stale offline"),
        Case("max-age=60", "min-fresh=20", 40, "use"),
        Case("max-age=60", "min-fresh=20", 41, "send stale offline"),
        Case("max-age=60", "max-stale", 1_000_000, "use"),
        Case("max-age=60", "max-stale=10", 70, "use"),
        Case("max-age=60", "max-stale=10", 71, "send stale offline"),
        Case("max-age=60, must-revalidate", "max-stale", 61, "send stale"),
        Case("max-age=60, no-cache", "max-stale", 1, "send mustValidate"),
        Case("max-age=60", "only-if-cached", 5, "use"),
        Case("max-age=60", "only-if-cached", 61, "fail"),
        Case("max-age=60", "only-if-cached, max-stale", 61, "use"),
    ]

    @Test(arguments: cases) func `A response is used, validated or replaced as HTTP says`(_ test: Case) throws {
        let stored = try stored(["Cache-Control": test.control])
        #expect(decision([stored], for: request(test.asked), after: test.seconds) == test.expected)
    }

    @Test func `No-cache for the whole response counts also after one for some lines`() throws {
        let stored = try stored(["Cache-Control": "no-cache=\"X-Secret\", no-cache, max-age=60", "ETag": "\"a\""])
        #expect(decision([stored], for: request(), after: 1) == "send mustValidate validated")
    }

    @Test func `Pragma counts only without Cache-Control`() throws {
        let stored = try stored(["Cache-Control": "max-age=60"])
        #expect(decision([stored], for: request(["Pragma": "no-cache"]), after: 1) == "send mustValidate")
        let headers: HTTPHeaders = ["Pragma": "no-cache", "Cache-Control": "max-age=30"]
        #expect(decision([stored], for: request(headers), after: 1) == "use")
    }

    @Test func `What has a validator is validated, except a part`() throws {
        for header in [["ETag": "\"a\""], ["Last-Modified": Self.date]] as [HTTPHeaders] {
            let stored = try stored(header.merging(["Cache-Control": "max-age=60, must-revalidate"]))
            #expect(decision([stored], for: request(), after: 61) == "send stale validated")
        }
        let lines: HTTPHeaders = [
            "ETag": "\"a\"", "Content-Range": "bytes 0-3/10", "Cache-Control": "max-age=60, must-revalidate",
        ]
        let part = try stored(lines, status: 206, body: "0123")
        #expect(decision([part], for: request(["Range": "bytes=0-3"]), after: 1) == "use")
        #expect(decision([part], for: request(["Range": "bytes=0-3"]), after: 61) == "send stale")
        #expect(decision([part], for: request(), after: 1) == "send varies")
    }

    @Test func `A reload asks in any case, and onlyIfCached never`() throws {
        let stored = try stored(["Cache-Control": "max-age=60, must-revalidate", "ETag": "\"a\""])
        #expect(decision(.reload, [stored], for: request(), after: 1) == "send mustValidate validated")
        #expect(decision(.reload, [], for: request(), after: 1) == "send absent")
        #expect(decision(.onlyIfCached, [stored], for: request(), after: 1) == "use")
        #expect(decision(.onlyIfCached, [stored], for: request(), after: 61) == "fail")
        #expect(decision(.onlyIfCached, [], for: request(), after: 1) == "fail")
        let patient = try self.stored(["Cache-Control": "max-age=60, stale-while-revalidate=30"])
        #expect(decision(.onlyIfCached, [patient], for: request(), after: 61) == "fail")
    }

    @Test func `The rules of an app ignore what the server and the request say`() throws {
        let stored = try stored(["Cache-Control": "no-store, no-cache, must-revalidate", "Expires": "0"], status: 201)
        let asked = request(["Cache-Control": "no-cache, max-age=0", "Range": "bytes=0-1"], .post)
        let expected: [(CachePolicy, TimeInterval, String)] = [
            (.elseLoad, 1e9, "use"), (.elseLoad, -1e9, "use"), (.version(1), 1e9, "use"),
            (.time(.seconds(60)), 0, "use"), (.time(.seconds(60)), 60, "use"), (.time(.seconds(60)), 61, "send stale"),
            (.time(.seconds(60)), -1, "send stale"), (.time(.zero), 0, "send stale"), (.time(.zero), 1, "send stale"),
            (.fallback, 1e9, "send mustValidate offline"), (.first, 1e9, "send mustValidate offline"),
        ]
        for (policy, seconds, decision) in expected {
            #expect(self.decision(policy, [stored], for: asked, after: seconds) == decision, "\(policy), \(seconds)")
        }
        #expect(decision(.elseLoad, [], for: asked, after: 0) == "send absent")
    }

    @Test func `The newest of the stored responses that match is used`() throws {
        let english = try stored(
            ["Vary": "Accept-Language", "Cache-Control": "max-age=60"],
            to: request(["Accept-Language": "en"])
        )
        let german = try stored(
            ["Vary": "Accept-Language", "Cache-Control": "max-age=60"],
            to: request(["Accept-Language": "de"])
        )
        let decision = CachePolicy.http.decision(
            for: request(["Accept-Language": "de"]),
            [english, german].map(Self.entry),
            at: Self.start + 10
        )
        guard case .use(let entry, .seconds(10), false) = decision else {
            Issue.record("\(decision)")
            return
        }
        #expect(entry.stored.selection == german.selection)
        #expect(self.decision([english, german], for: request(), after: 1) == "send varies")
        #expect(self.decision(.onlyIfCached, [english], for: request(), after: 1) == "fail")
    }

    // MARK: Age and freshness

    @Test func `The age is that of RFC 9111`() throws {
        let expected: [(HTTPHeaders, Double)] = [
            ([:], 12), (["Age": "100"], 112), (["Age": "abc"], 12), (["Age": "-5"], 12), (["Age": "1.5"], 12),
            (["Age": "1, 2"], 13), (["Age": ""], 12),
            (["Date": Self.date], 12), (["Date": "Tue, 14 Nov 2023 22:12:50 GMT"], 42),
            (["Date": "Tue, 14 Nov 2023 22:14:50 GMT"], 12), (["Date": "yesterday"], 12),
            (["Date": "Tue, 14 Nov 2023 22:12:50 GMT", "Age": "1"], 42),
        ]
        for (headers, seconds) in expected {
            let stored = try stored(headers, delay: 2)
            #expect(stored.age(at: Self.start + 12) == .seconds(seconds), "\(headers.map(\.value))")
        }
        #expect(try stored([:], delay: 2).age(at: Self.start + 1) == nil, "the clock was set back")
    }

    @Test func `A response is fresh as long as the server says`() throws {
        let later = "Tue, 14 Nov 2023 22:14:20 GMT"
        let expected: [(HTTPHeaders, Double?)] = [
            ([:], nil), (["Cache-Control": "max-age=30"], 30), (["Expires": later], 60),
            (["Expires": later, "Date": "Tue, 14 Nov 2023 22:13:50 GMT"], 30),
            (["Expires": later, "Cache-Control": "max-age=5"], 5), (["Expires": "0"], 0), (["Expires": ""], 0),
            (["Expires": "Tue, 14 Nov 2023 22:00:00 GMT"], 0), (["Cache-Control": "s-maxage=5"], nil),
            (["Cache-Control": "max-age=abc", "Expires": later], 0),
        ]
        for (headers, seconds) in expected {
            let stored = try stored(headers)
            let lifetime = stored.explicitLifetime(CacheControl(stored.headers))
            #expect(lifetime == seconds.map { .seconds($0) }, "\(headers.map(\.value))")
        }
        var twice: HTTPHeaders = ["Expires": later]
        twice.append("Expires", later)
        #expect(try stored(twice).explicitLifetime(CacheControl(twice)) == .seconds(60))
        twice.append("Expires", Self.date)
        #expect(try stored(twice).explicitLifetime(CacheControl(twice)) == .zero)
    }

    @Test func `Heuristics are off unless chosen, and a tenth of the age`() throws {
        let modified = try stored(["Last-Modified": "Tue, 14 Nov 2023 21:56:40 GMT"])
        #expect(decision([modified], for: request(), after: 1) == "send stale validated")
        #expect(decision([modified], for: request(), after: 99, usesHeuristics: true) == "use")
        let stale = "send stale validated offline"
        #expect(decision([modified], for: request(), after: 100, usesHeuristics: true) == stale)
        let old = try stored(["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"])
        #expect(decision([old], for: request(), after: 86_399, usesHeuristics: true) == "use")
        #expect(decision([old], for: request(), after: 86_400, usesHeuristics: true) == stale)
        let error = try stored(["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"], status: 500)
        #expect(decision([error], for: request(), after: 1, usesHeuristics: true) == "send stale validated")
        let explicit = try stored(["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Cache-Control": "max-age=0"])
        #expect(decision([explicit], for: request(), after: 1, usesHeuristics: true) == "send stale validated")
    }

    @Test func `Dates have one of three forms`() {
        let date = Date(timeIntervalSince1970: 784_111_777)
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ] {
            #expect(HTTPDate.parse(text) == date, "\(text)")
        }
        for text in [
            "", "0", "-1", "784111777", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37",
            "Sun, 6 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Xxx 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT+1", "06 Nov 1994 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT",
        ] {
            #expect(HTTPDate.parse(text) == nil, "\(text)")
        }
    }

    @Test(arguments: [false, true])
    func `A head is stored, and updated by a 304, in time proportional to its size`(_ isUpdate: Bool) throws {
        let times = try [1, 4].map { factor in
            let names = (0..<1_000 * factor).map { "x\($0)" }
            let named = names.map { isUpdate ? "z" : "y" + $0 }.joined(separator: ",")
            let headers = HTTPHeaders([HTTPField("Connection", named)] + names.map { HTTPField($0, "") })
            let stored = try stored(headers)
            return cpuTime { () -> Int? in
                guard isUpdate else { return headers.storable.count }
                return stored.updated(by: headers, requestDate: Self.start, responseDate: Self.start)?.headers.count
            }
        }
        // 16 times as long if each line were compared with each name.
        #expect(times[1] < 8 * times[0])
    }

    // MARK: Cache-Control

    @Test func `Directives are read from all lines, in any case, quoted or not`() {
        let expected: [(String, Int64?)] = [
            ("max-age=60", 60), ("MAX-AGE=60", 60), ("max-age=\"60\"", 60), ("a=\"b, c\", max-age=60", 60),
            ("max-age=60, max-age=60", 60), ("max-age=60, max-age=1", 0), ("max-age=abc", 0), ("max-age=1.5", 0),
            ("max-age=-1", 0), ("max-age", 0), ("max-age=", 0), ("max-age=99999999999999999999", 3_155_760_000),
            ("xmax-age=60", nil), ("a=\", max-age=60\"", nil), ("", nil), (",, max-age=60 ,", 60),
            ("a=\"\\\", max-age=1\", max-age=60", 60),
        ]
        for (text, seconds) in expected {
            #expect(CacheControl(["Cache-Control": text]).seconds("max-age") == seconds, "\(text)")
        }
        var lines: HTTPHeaders = ["cache-control": "no-store"]
        lines.append("CACHE-CONTROL", "max-age=60")
        #expect(CacheControl(lines).contains("no-store"))
        #expect(CacheControl(lines).seconds("max-age") == 60)
        #expect(CacheControl(["Cache-Control": "no-cache=\"A, b\""]).names(in: "no-cache") == ["A", "b"])
        #expect(CacheControl(["Cache-Control": "no-cache=a"]).names(in: "no-cache") == ["a"])
        #expect(CacheControl(["Cache-Control": "no-cache"]).names(in: "no-cache") == [])
        #expect(CacheControl(["Cache-Control": "no-store"]).names(in: "no-cache") == nil)
    }

    // MARK: Ranges

    @Test(.startsPrograms, .startsLate) func `A part at the end of the longest representation is stored as it is`()
        async
    {
        await #expect(processExitsWith: .success) {
            let range = "bytes 9223372036854775800-9223372036854775805/9223372036854775807"
            let part = try CachePolicyTests().stored(["Content-Range": range], status: 206)
            #expect(part.storedRange?.contentRange == range)
        }
    }

    @Test func `A range is that of RFC 9110, or none`() {
        let expected: [(String, String?)] = [
            ("bytes=0-3", "bytes 0-3/10"), ("bytes=4-", "bytes 4-9/10"), ("bytes=-3", "bytes 7-9/10"),
            ("bytes=-20", "bytes 0-9/10"), ("bytes=5-100", "bytes 5-9/10"), ("bytes=9-9", "bytes 9-9/10"),
            ("bytes=10-", nil), ("bytes=3-2", nil), ("bytes=-0", nil), ("bytes=", nil), ("bytes=-", nil),
            ("bytes=a-b", nil), ("bytes=0-1,3-4", nil), ("items=0-1", nil), ("bytes=+0-1", nil), ("bytes=0--1", nil),
            ("bytes=99999999999999999999-", nil), ("", nil),
        ]
        for (text, range) in expected {
            #expect(StoredRange(range: text, length: 10)?.contentRange == range, "\(text)")
        }
        #expect(StoredRange(range: "bytes=0-", length: 0) == nil)
        #expect(StoredRange(contentRange: "bytes 0-3/10")?.contentRange == "bytes 0-3/10")
        for text in [
            "bytes 0-3/*", "bytes */10", "bytes 3-0/10", "bytes 0-10/10", "items 0-3/10", "bytes 0-3", "",
            "bytes -3/10",
        ] {
            #expect(StoredRange(contentRange: text) == nil, "\(text)")
        }
    }

    @Test func `Only what is stored of a representation answers a range`() throws {
        let whole = try stored(["ETag": "\"a\""])
        let part = try stored(["ETag": "\"a\"", "Content-Range": "bytes 2-5/10"], status: 206, body: "2345")
        let short = try stored(["Content-Range": "bytes 2-5/10"], status: 206, body: "23")
        #expect(whole.part(for: "bytes=-3")?.contentRange == "bytes 7-9/10")
        #expect(part.part(for: "bytes=3-4")?.contentRange == "bytes 3-4/10")
        #expect(part.part(for: "bytes=2-5") != nil)
        for range in ["bytes=0-3", "bytes=2-", "bytes=-1", "bytes=5-6"] {
            #expect(part.part(for: range) == nil, "\(range)")
        }
        #expect(short.part(for: "bytes=2-3") != nil)
        #expect(short.part(for: "bytes=2-4") == nil)
        #expect(try stored(["Content-Encoding": "gzip"]).part(for: "bytes=0-3") == nil)
        #expect(try stored([:], status: 404).part(for: "bytes=0-3") == nil)
        #expect(try stored([:], body: "").part(for: "bytes=0-3") == nil)
        let answers: [(HTTPHeaders, HTTPMethod, whole: Bool, part: Bool)] = [
            ([:], .get, true, false), (["Range": "bytes=3-4"], .get, true, true),
            (["Range": "bytes=3-4"], .head, false, false), (["Range": "bytes=3-4,6-7"], .get, false, false),
            (["Range": "bytes=3-4", "If-Range": "\"a\""], .get, true, true),
            (["Range": "bytes=3-4", "If-Range": "\"b\""], .get, false, false),
            (["Range": "bytes=3-4", "If-Range": "W/\"a\""], .get, false, false),
            (["Range": "bytes=3-4", "If-Range": Self.date], .get, false, false),
            (["If-Match": "\"a\""], .get, false, false), (["If-Unmodified-Since": Self.date], .get, false, false),
        ]
        for (headers, method, wholeAnswers, partAnswers) in answers {
            #expect(whole.answers(request(headers, method)) == wholeAnswers, "\(headers.map(\.value))")
            #expect(part.answers(request(headers, method)) == partAnswers, "\(headers.map(\.value))")
        }
        let weak = try stored(["ETag": "W/\"a\""])
        #expect(!weak.answers(request(["Range": "bytes=3-4", "If-Range": "W/\"a\""], .get)), "RFC 9110, 13.1.5")
    }

    // MARK: Vary

    @Test func `Lines are equal as far as their order and blanks have no meaning`() throws {
        func matches(_ vary: String, _ first: HTTPHeaders, _ second: HTTPHeaders, _ language: String? = nil) -> Bool {
            let selection = CacheSelection(request(first), by: ["Vary": vary])
            return selection?.matches(request(second), language: language) == true
        }
        #expect(matches("X-A", ["X-A": "1"], ["X-A": "1"]))
        #expect(!matches("x-a", ["X-A": "1"], ["X-A": "2"]))
        #expect(!matches("X-A", ["X-A": "1"], ["X-A": "1, 1"]))
        #expect(!matches("X-A", ["X-A": "a"], ["X-A": "A"]))
        #expect(!matches("X-A", [:], ["X-A": "1"]))
        #expect(!matches("X-A", [:], ["X-A": ""]))
        #expect(matches("X-A", [:], [:]))
        #expect(matches("X-A, X-B", ["X-A": "1"], ["X-A": "1", "X-C": "2"]))
        #expect(!matches("X-A, X-B", ["X-A": "1"], ["X-A": "1", "X-B": "2"]))
        #expect(matches("Accept", ["Accept": "a/b, c/d"], ["Accept": "a/b,c/d"]))
        #expect(!matches("Accept", ["Accept": "a/b, c/d"], ["Accept": "c/d, a/b"]))
        let coded: HTTPHeaders = ["Accept-Encoding": "gzip, br;q=0.5"]
        #expect(matches("Accept-Encoding", coded, ["Accept-Encoding": "BR; q=0.5,gzip"]))
        #expect(matches("Accept-Language", ["Accept-Language": "en, de"], ["Accept-Language": "de,en"]))
        #expect(!matches("Accept-Language", ["Accept-Language": "en"], ["Accept-Language": "de"]))
        var two: HTTPHeaders = ["Accept": "a/b"]
        two.append("Accept", "c/d")
        #expect(matches("Accept", two, ["Accept": "a/b, c/d"]))
        #expect(CacheSelection(request(), by: ["Vary": "X-A, *"]) == nil)
        #expect(CacheSelection(request(), by: [:])?.lines.isEmpty == true)
    }

    @Test func `A response in the preferred language is one for the request`() {
        func matches(_ second: String, _ language: String?) -> Bool {
            let selection = CacheSelection(request(["Accept-Language": "fr, en"]), by: ["Vary": "Accept-Language"])
            return selection?.matches(request(["Accept-Language": second]), language: language) == true
        }
        #expect(matches("en", "en"))
        #expect(matches("EN", "en"))
        #expect(matches("en, de;q=0.5", "en"))
        #expect(!matches("en, de", "en"))
        #expect(!matches("en;q=0.5, de", "en"))
        #expect(!matches("en", nil))
        #expect(!matches("en-GB", "en"))
        #expect(!matches("en;q=0", "en"), "it is the one that the request does not accept")
    }

    // MARK: Storing

    @Test func `Only what has a use is stored`() throws {
        let fresh: HTTPHeaders = ["Cache-Control": "max-age=60"]
        let located = fresh.merging(["Content-Location": "/goods"])
        let part: HTTPHeaders = ["Cache-Control": "max-age=60", "Content-Range": "bytes 0-9/20"]
        let expected: [(HTTPMethod, Int, HTTPHeaders, Bool)] =
            [
                (.get, 200, fresh, true), (.get, 200, [:], false), (.get, 200, ["ETag": "\"a\""], true),
                (.get, 200, ["Last-Modified": Self.date], true), (.get, 200, ["Cache-Control": "max-age=0"], true),
                (.get, 200, ["Cache-Control": "max-age=60, no-store"], false),
                (.get, 200, ["Cache-Control": "max-age=60, private"], true), (.get, 200, ["Expires": Self.date], true),
                (.get, 500, fresh, true), (.get, 500, ["ETag": "\"a\""], false), (.get, 404, ["ETag": "\"a\""], true),
                (.get, 500, ["ETag": "\"a\"", "Cache-Control": "public"], true), (.get, 304, fresh, false),
                (.get, 206, part, true), (.get, 206, fresh, false), (.get, 206, ["ETag": "\"a\""], false),
                (.get, 200, ["Cache-Control": "max-age=60, no-store, must-understand"], true),
                (.get, 599, ["Cache-Control": "max-age=60, must-understand"], false),
            ]
            + [408, 412, 416, 417, 421, 425, 428, 429, 431, 511].map { (.get, $0, fresh, false) } + [
                (.head, 200, fresh, false), (.put, 200, located, false), (.delete, 200, located, false),
                (.post, 200, located, true), (.post, 201, located, false), (.post, 200, fresh, false),
                (.post, 200, fresh.merging(["Content-Location": "/others"]), false),
                (.post, 200, ["ETag": "\"a\"", "Content-Location": "/goods"], false),
            ]
        for (method, status, headers, isStorable) in expected {
            let request = request([:], method)
            let stored = try stored(headers, status: status, to: request)
            let isStored = stored.isStorable(for: request)
            #expect(isStored == isStorable, "\(method) \(status) \(headers.map(\.value))")
        }
        let asked = request(["Cache-Control": "no-store"])
        #expect(try !stored(fresh, to: asked).isStorable(for: asked))
        let response = APIResponse(HTTPResponse(status: 200, headers: fresh.merging(["Vary": "*"])), url: Self.url)
        #expect(StoredResponse(response, to: request(), requestDate: Self.start, responseDate: Self.start) == nil)
    }

    @Test func `Lines of the connection are not stored, nor those that the server excludes`() throws {
        let stored = try stored([
            "Connection": "close, X-Hop", "Keep-Alive": "timeout=5", "Proxy-Authenticate": "Basic",
            "Proxy-Authentication-Info": "a", "Proxy-Authorization": "a", "Proxy-Connection": "close", "TE": "trailers",
            "Trailer": "X-T", "Transfer-Encoding": "chunked", "Upgrade": "h2c", "x-hop": "1", "X-Secret": "2",
            "Cache-Control": "max-age=60, no-cache=\"x-secret, X-Other\"", "X-Other": "3", "Set-Cookie": "sid=1",
            "X-Kept": "4", "Content-Length": "10",
        ])
        let names = stored.headers.map { $0.name.lowercased() }.sorted()
        #expect(names == ["cache-control", "content-length", "set-cookie", "x-kept"])
    }

    // MARK: Validation

    @Test func `A 304 replaces lines, and the age is that of the new message`() throws {
        let old = try stored([
            "ETag": "\"a\"", "Age": "50", "Date": Self.date, "Content-Type": "text/plain", "Content-Length": "10",
            "Content-Encoding": "identity", "Cache-Control": "max-age=1", "X-Old": "1",
        ])
        let lines: HTTPHeaders = [
            "ETag": "\"a\"", "Cache-Control": "max-age=60", "Content-Type": "text/html", "Content-Length": "0",
            "Content-Encoding": "gzip", "Connection": "X-Hop", "X-Hop": "1", "X-New": "2",
        ]
        let date = Self.start + 100
        let new = try #require(old.updated(by: lines, requestDate: date, responseDate: date + 1))
        #expect(new.status == 200)
        #expect(new.headers["Cache-Control"] == "max-age=60")
        #expect(new.headers["X-Old"] == "1")
        #expect(new.headers["X-New"] == "2")
        #expect(new.headers["Content-Type"] == "text/plain")
        #expect(new.headers["Content-Length"] == "10")
        #expect(new.headers["Content-Encoding"] == "identity")
        for name in ["Age", "Date", "X-Hop", "Connection"] { #expect(new.headers[name] == nil, "\(name)") }
        #expect(new.age(at: date + 11) == .seconds(11))
        #expect(new.bodyLength == 10)
    }

    @Test func `A 304 of another version updates nothing`() throws {
        let old = try stored(["ETag": "\"a\"", "Cache-Control": "max-age=1"])
        for (tag, isUpdated) in [("\"a\"", true), ("\"b\"", false), (nil, true)] as [(String?, Bool)] {
            let new = old.updated(by: ["ETag": tag], requestDate: Self.start, responseDate: Self.start)
            #expect((new != nil) == isUpdated, "\(tag ?? "-")")
        }
        let weak = try stored(["ETag": "W/\"a\""])
        #expect(weak.updated(by: ["ETag": "W/\"a\""], requestDate: Self.start, responseDate: Self.start) != nil)
        #expect(
            weak.updated(by: ["ETag": "W/\"b\""], requestDate: Self.start, responseDate: Self.start) == nil,
            "the body is not that of the new tag (RFC 9111 section 4.3.4)"
        )
        let untagged = try stored(["Last-Modified": Self.date])
        #expect(untagged.updated(by: ["ETag": "\"a\""], requestDate: Self.start, responseDate: Self.start) == nil)
    }

    @Test func `A response to HEAD is one of the same representation unless a line differs`() throws {
        let stored = try stored(["ETag": "\"a\"", "Last-Modified": Self.date, "Content-Length": "10"])
        let expected: [(HTTPHeaders, Bool)] = [
            ([:], true), (["ETag": "\"a\""], true), (["ETag": "\"b\""], false), (["Content-Length": "10"], true),
            (["Content-Length": "11"], false), (["Last-Modified": Self.date], true),
            (["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"], false),
        ]
        for (headers, isSame) in expected {
            #expect(stored.isSameRepresentation(as: headers) == isSame, "\(headers.map(\.value))")
        }
    }

    @Test func `A request's own conditions are compared with the stored response`() throws {
        let later = "Tue, 14 Nov 2023 22:14:20 GMT"
        let earlier = "Tue, 14 Nov 2023 22:12:20 GMT"
        let tagged = try stored(["ETag": "\"a\"", "Last-Modified": Self.date])
        let dated = try stored(["Last-Modified": Self.date])
        let expected: [(HTTPHeaders, tagged: Bool, dated: Bool)] = [
            ([:], false, false), (["If-None-Match": "\"a\""], true, false), (["If-None-Match": "W/\"a\""], true, false),
            (["If-None-Match": "\"b\", \"a\""], true, false), (["If-None-Match": "\"b\""], false, false),
            (["If-None-Match": "*"], true, false), (["If-Modified-Since": Self.date], true, true),
            (["If-Modified-Since": later], true, true), (["If-Modified-Since": earlier], false, false),
            (["If-Modified-Since": "now"], false, false),
            (["If-None-Match": "\"b\"", "If-Modified-Since": later], false, false),
        ]
        for (headers, isTagged, isDated) in expected {
            #expect(tagged.isNotModified(for: request(headers)) == isTagged, "\(headers.map(\.value))")
            #expect(dated.isNotModified(for: request(headers)) == isDated, "\(headers.map(\.value))")
        }
        #expect(try !stored(["ETag": "\"a\""], status: 404).isNotModified(for: request(["If-None-Match": "\"a\""])))
    }

    // MARK: Keys

    @Test func `The key of a rule has the method, the URL, the body and the version`() throws {
        let body = HTTPBody.data(Data("a".utf8))
        let requests = [
            HTTPRequest(.get, Self.url), HTTPRequest(.post, Self.url), HTTPRequest(.post, Self.url, body: body),
            HTTPRequest(.put, Self.url, body: body), HTTPRequest(.get, URL("http://shop.test/goods?a=1")),
        ]
        let policies: [CachePolicy] = [.elseLoad, .version(1), .version(2)]
        let keys = try requests.flatMap { request in
            try policies.map { try #require(CacheKey(request, by: $0)).bytes }
        }
        #expect(Set(keys).count == requests.count * policies.count)
        for policy in [.time(.seconds(1)), .fallback, .first] as [CachePolicy] {
            #expect(CacheKey(requests[2], by: policy)?.bytes == CacheKey(requests[2], by: .elseLoad)?.bytes)
        }
        let large = HTTPRequest(.post, Self.url, body: .data(Data(count: 1 << 20)))
        #expect(CacheKey(large, by: .elseLoad) == nil)
    }
}
