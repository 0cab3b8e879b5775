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
