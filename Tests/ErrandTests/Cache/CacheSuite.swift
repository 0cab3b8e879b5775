import Foundation

@testable import Errand
@testable import ErrandTestSupport

/// The cases of http-tests/cache-tests, in the words of its `CONTRIBUTING.md`.
struct CacheSuite {
    /// All cases, in their order.
    let tests: [Test]

    /// Reads the shared data.
    init() throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let groups = try decoder.decode([Group].self, from: SharedData.cacheTests.bytes("cache-tests.json"))
        tests = groups.flatMap(\.tests)
    }

    private struct Group: Decodable {
        let tests: [Test]
    }

    /// One case: requests that follow each other, and what is expected of them.
    struct Test: Decodable, Sendable {
        enum Kind: String, Decodable {
            case required
            case optimal
            case check
        }

        let id: String
        let name: String
        let requests: [Step]
        let dependsOn: [String]?
        private let kind: Kind?
        private let cdnOnly: Bool?

        /// What a case without a kind checks is required.
        var requirement: Kind { kind ?? .required }

        /// Whether it is about the cache of one user.
        var isForPrivateCache: Bool { cdnOnly != true && !name.lowercased().contains("shared") }
    }

    /// One request, the server's response, and what is expected of both.
    ///
    /// `redirect` is not read: no request of the suite is to be redirected.
    struct Step: Decodable, Sendable {
        let requestMethod: String?
        let requestHeaders: [Header]?
        let requestBody: String?
        let queryArg: String?
        let filename: String?
        let cache: String?
        let magicIms: Bool?
        let rfc850date: Set<String>?
        let pauseAfter: Bool?

        let disconnect: Bool?
        let magicLocations: Bool?
        let interimResponses: [InterimResponse]?
        let responsePause: Int?
        let responseStatus: Status?
        let responseHeaders: [Header]?
        let responseBody: String?

        let checkBody: Bool?
        let expectedType: ExpectedType?
        let expectedMethod: String?
        let expectedStatus: Expectation<Int>
        let expectedResponseText: Expectation<String>
        let expectedRequestHeaders: [HeaderExpectation]?
        let expectedRequestHeadersMissing: [HeaderExpectation]?
        let expectedResponseHeaders: [HeaderExpectation]?
        let expectedResponseHeadersMissing: [HeaderExpectation]?
        let expectedInterimResponses: [InterimResponse]?
        private let setup: Bool?
        private let setupTests: Set<String>?

        /// Whether a failure of this check means that nothing was tested.
        func isSetup(_ check: String) -> Bool { setup == true || setupTests?.contains(check) == true }
    }

    /// Where a response comes from.
    enum ExpectedType: String, Decodable {
        case cached
        case notCached = "not_cached"
        case validatedByDate = "lm_validated"
        case validatedByTag = "etag_validated"

        /// The field, in lower case, with which the cache validates what it has stored.
        var condition: String? {
            switch self {
            case .cached, .notCached: nil
            case .validatedByDate: "if-modified-since"
            case .validatedByTag: "if-none-match"
            }
        }
    }
}

extension CacheSuite {
    /// A header line; a number is a date, in seconds after the server's.
    struct Header: Decodable, Sendable {
        enum Value: Decodable, Sendable {
            case text(String)
            case seconds(Int)

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                self = try (try? .seconds(container.decode(Int.self))) ?? .text(container.decode(String.self))
            }
        }

        let name: String
        var value: Value
        /// Whether the client has to receive it.
        let isExpected: Bool

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            name = try container.decode(String.self)
            value = try container.decode(Value.self)
            isExpected = try container.decodeIfPresent(Bool.self) ?? true
        }

        /// The value as it is sent.
        var text: String {
            switch value {
            case .text(let text): text
            case .seconds(let seconds): String(seconds)
            }
        }

        /// This line with its date as text, `now` in milliseconds since 1970, and with its location below `base`.
        func resolved(by step: Step, now: Int?, base: String?) -> Header {
            var header = self
            let name = name.lowercased()
            if Self.dates.contains(name), case .seconds(let seconds) = value, let now {
                let isObsolete = step.rfc850date?.contains(name) == true
                header.value = .text(CacheSuiteDate.text(now / 1_000 + seconds, isObsolete: isObsolete))
            }
            if Self.locations.contains(name), step.magicLocations == true, let base {
                header.value = .text(text.isEmpty ? base : "\(base)/\(text)")
            }
            return header
        }

        private static let dates: Set = [
            "date", "expires", "last-modified", "if-modified-since", "if-unmodified-since",
        ]
        private static let locations: Set = ["location", "content-location"]
    }

    /// What is expected of the lines of one name.
    enum HeaderExpectation: Decodable, Sendable {
        case name(String)
        case value(Header)
        case sameValue(String, as: String)
        case greater(String, than: Int)

        init(from decoder: any Decoder) throws {
            if let name = try? decoder.singleValueContainer().decode(String.self) {
                self = .name(name)
                return
            }
            var container = try decoder.unkeyedContainer()
            guard container.count == 3 else {
                self = .value(try Header(from: decoder))
                return
            }
            let name = try container.decode(String.self)
            switch try container.decode(String.self) {
            case "=": self = .sameValue(name, as: try container.decode(String.self))
            case ">": self = .greater(name, than: try container.decode(Int.self))
            default: throw DecodingError.dataCorruptedError(in: container, debugDescription: "unknown operator")
            }
        }

        var name: String {
            switch self {
            case .name(let name), .sameValue(let name, _), .greater(let name, _): name
            case .value(let header): header.name
            }
        }
    }

    /// The status and the reason phrase of a response.
    struct Status: Decodable, Sendable {
        let code: Int

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            code = try container.decode(Int.self)
        }
    }

    /// A response of a 1xx status.
    struct InterimResponse: Decodable, Sendable {
        let status: Int
        let headers: [Header]

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            status = try container.decode(Int.self)
            headers = try container.decodeIfPresent([Header].self) ?? []
        }
    }

    /// An expectation in which `null` differs from a missing member.
    enum Expectation<Value: Decodable & Sendable>: Decodable, Sendable {
        case unstated
        /// Whatever the value is.
        case any
        case exactly(Value)

        init(from decoder: any Decoder) throws { self = .exactly(try Value(from: decoder)) }
    }
}

extension KeyedDecodingContainer {
    // The decoding that the compiler writes calls it instead of the method of the protocol.
    func decode<Value>(
        _ type: CacheSuite.Expectation<Value>.Type,
        forKey key: Key
    ) throws -> CacheSuite.Expectation<Value> {
        guard contains(key) else { return .unstated }
        return try decodeNil(forKey: key) ? .any : .exactly(decode(Value.self, forKey: key))
    }
}

/// The dates of header lines, made by the system and not by the code under test.
enum CacheSuiteDate {
    /// Returns the date that is this many seconds after 1970, on request in the obsolete format of RFC 850.
    static func text(_ seconds: Int, isObsolete: Bool = false) -> String {
        var (time, parts) = (time_t(seconds), tm())
        gmtime_r(&time, &parts)
        let format = isObsolete ? "%A, %d-%b-%y %H:%M:%S GMT" : "%a, %d %b %Y %H:%M:%S GMT"
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress, strftime(start, buffer.count, format, &parts) > 0 else { return "" }
            return String(cString: start)
        }
    }
}

/// Header values as the suite sees them: each byte is a character of ISO 8859-1.
extension String {
    init(latin1 bytes: some Sequence<UInt8>) {
        self.init(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    var latin1: [UInt8] { unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }

    /// The number at the beginning, as `parseInt` of JavaScript reads it.
    var leadingNumber: Int? {
        let digits = drop { $0 == " " }.prefix { $0.isASCII && ($0.isNumber || $0 == "-") }
        return Int(digits)
    }
}

/// Compares one response, and the request that the server has received for it, with what the suite expects.
///
/// The checks have the order of the suite's own client, whose first failure is that of the case.
struct CacheSuiteCheck {
    private let step: CacheSuite.Step
    private let number: Int
    private let response: CacheSuiteResponse

    /// `number` counts from 1.
    init(_ step: CacheSuite.Step, number: Int, _ response: CacheSuiteResponse) {
        (self.step, self.number, self.response) = (step, number, response)
    }

    /// Checks the response, whose body is `body` unless the step has another one.
    func check(body: String) throws(CacheSuiteFailure) {
        try checkNumbers()
        try checkType()
        try checkStatus()
        for header in step.expectedResponseHeaders ?? [] { try check(present: header) }
        for header in step.expectedResponseHeadersMissing ?? [] { try check(missing: header) }
        if let expected = step.expectedInterimResponses { try checkInterimResponses(expected) }
        try checkBody(or: body)
    }

    private func check(
        _ condition: Bool,
        _ check: String,
        _ message: @autoclosure () -> String
    ) throws(CacheSuiteFailure) {
        try CacheSuiteFailure.check(condition, setup: step.isSetup(check), message())
    }

    /// For what fails only if nothing is tested.
    private func checkSetup(_ condition: Bool, _ message: @autoclosure () -> String) throws(CacheSuiteFailure) {
        try CacheSuiteFailure.check(condition, setup: true, message())
    }

    // MARK: The response

    /// A request that was sent twice.
    private func checkNumbers() throws(CacheSuiteFailure) {
        let numbers = response["Request-Numbers"]?.split(separator: " ") ?? []
        try checkSetup(Set(numbers).count == numbers.count, "retry")
    }

    private func checkType() throws(CacheSuiteFailure) {
        let count = response.serverCount
        switch step.expectedType {
        case .cached where response.status != 304 || count != nil:
            let isCached = count.map { $0 < number } == true
            try check(isCached, "expected_type", "Response \(number) does not come from cache")
        case .notCached:
            try check(count == number, "expected_type", "Response \(number) comes from cache")
        default:
            break
        }
    }

    private func checkStatus() throws(CacheSuiteFailure) {
        let status = response.status
        let shown = status.map { String($0) } ?? "missing"
        switch (step.expectedStatus, step.responseStatus?.code) {
        case (.any, _):
            break
        case (.exactly(let expected), _):
            try check(status == expected, "expected_status", "Response \(number) status is \(shown), not \(expected)")
        case (.unstated, let expected?):
            try checkSetup(status == expected, "Response \(number) status is \(shown), not \(expected)")
        case (.unstated, nil):
            let message = "Request \(number) should have been conditional, but it was not."
            try check(status != 999, "expected_type", message)
            try checkSetup(status == 200, "Response \(number) status is \(shown), not 200")
        }
    }

    private func check(present expectation: CacheSuite.HeaderExpectation) throws(CacheSuiteFailure) {
        let name = expectation.name
        let value = response[name]
        let shown = "Response \(number) header \(name) is \"\(value ?? "null")\""
        if case .value(let header) = expectation {
            let base = response["Server-Base-Url"]
            let now = response["Server-Now"]?.leadingNumber
            let expected = header.resolved(by: step, now: now, base: base).text
            try check(value == expected, "expected_response_headers", "\(shown), not \"\(expected)\"")
            return
        }
        try check(value != nil, "expected_response_headers", "Response \(number) \(name) header not present.")
        switch expectation {
        case .name, .value:
            break
        case .sameValue(_, let other):
            let expected = response[other]
            let message = "\(shown), should match \(other) (\(expected ?? "null"))"
            try check(value == expected, "expected_response_headers", message)
        case .greater(_, let limit):
            let isGreater = value?.leadingNumber.map { $0 > limit } == true
            try check(isGreater, "expected_response_headers", "\(shown), should be bigger than \(limit)")
        }
    }

    /// As documented; the suite's own client never finds the value.
    private func check(missing expectation: CacheSuite.HeaderExpectation) throws(CacheSuiteFailure) {
        guard let value = response[expectation.name] else { return }
        let kind = "expected_response_headers_missing"
        if case .value(let header) = expectation {
            let message = "Response \(number) header \(header.name) still has value \"\(value)\""
            try check(!value.contains(header.text), kind, message)
        } else {
            try check(false, kind, "Response \(number) includes unexpected header \(expectation.name): \"\(value)\"")
        }
    }

    /// Also compares the values, of which the suite's own client compares only the names.
    private func checkInterimResponses(_ expected: [CacheSuite.InterimResponse]) throws(CacheSuiteFailure) {
        let kind = "expected_interim_responses"
        let received = response.interimResponses
        for (index, expected) in expected.enumerated() {
            let title = "Interim response \(index + 1)"
            guard received.indices.contains(index) else { return try check(false, kind, "\(title) not received") }
            let (status, headers) = received[index]
            try check(status == expected.status, kind, "\(title) status is \(status), not \(expected.status)")
            for header in expected.headers {
                let values = headers.values(header.name)
                let message = "\(title) header \(header.name) is \(values), not \"\(header.text)\""
                try check(values == [header.text], kind, message)
            }
        }
        let message = "Received \(received.count) interim response(s), expected \(expected.count)"
        try check(received.count == expected.count, kind, message)
    }

    private func checkBody(or standard: String) throws(CacheSuiteFailure) {
        guard step.checkBody != false else { return }
        let message = { (expected: String) in "Response body is \"\(response.body)\", not \"\(expected)\"" }
        switch (step.expectedResponseText, step.responseBody) {
        case (.any, _):
            break
        case (.exactly(let expected), _):
            try check(response.body == expected, "expected_response_text", message(expected))
        case (.unstated, let expected?):
            try checkSetup(response.body == expected, message(expected))
        case (.unstated, nil):
            let hasBody = response.status != 204 && response.status != 304 && step.requestMethod != "HEAD"
            try checkSetup(!hasBody || response.body == standard, message(standard))
        }
    }

    // MARK: The request

    /// Checks the request that the server has received; `nil` if it has received none.
    func check(_ arrival: CacheSuiteResource.Arrival?) throws(CacheSuiteFailure) {
        if step.expectedType == .notCached {
            let arrival = try received(arrival)
            let shown = arrival.number.map { String($0) } ?? "null"
            let message = "Response \(number) comes from cache (\(shown) on server)"
            try check(arrival.number == number, "expected_type", message)
        }
        if let condition = step.expectedType?.condition {
            try check(arrival != nil, "expected_type", "request \(number) wasn't sent to server")
            let isConditional = arrival?.headers[condition] != nil
            try check(isConditional, "expected_type", "request \(number) doesn't have \(condition) header")
        }
        for header in step.expectedRequestHeaders ?? [] {
            try check(header, of: try received(arrival), isMissing: false)
        }
        for header in step.expectedRequestHeadersMissing ?? [] {
            try check(header, of: try received(arrival), isMissing: true)
        }
        for header in arrival?.expectedHeaders ?? [] { try check(received: header) }
        guard let method = step.expectedMethod else { return }
        let sent = try received(arrival).method
        try check(sent == method, "expected_method", "Request \(number) had method \(sent), not \(method)")
    }

    /// What the suite's own client reads of a request that there is not.
    private func received(
        _ arrival: CacheSuiteResource.Arrival?
    ) throws(CacheSuiteFailure) -> CacheSuiteResource.Arrival {
        guard let arrival else { throw .error("Request \(number) has not reached the server") }
        return arrival
    }

    private func check(
        _ expectation: CacheSuite.HeaderExpectation,
        of arrival: CacheSuiteResource.Arrival,
        isMissing: Bool
    ) throws(CacheSuiteFailure) {
        let value = arrival.headers[expectation.name.lowercased()]
        let kind = isMissing ? "expected_request_headers_missing" : "expected_request_headers"
        let title = "Request \(number) header \(expectation.name) is \"\(value ?? "undefined")\""
        if case .value(let header) = expectation {
            let isEqual = value == header.text
            try check(isEqual != isMissing, kind, isMissing ? title : "\(title), not \"\(header.text)\"")
        } else {
            try check((value == nil) == isMissing, kind, isMissing ? title : "\(title), and should be present")
        }
    }

    /// A line that the server has sent; not the date, which a cache may change.
    private func check(received line: (name: String, value: String)) throws(CacheSuiteFailure) {
        guard line.name.lowercased() != "date" else { return }
        let value = response[line.name]
        let message = "Response \(number) header \(line.name) is \"\(value ?? "null")\", not \"\(line.value)\""
        try checkSetup(value == line.value, message)
    }
}
