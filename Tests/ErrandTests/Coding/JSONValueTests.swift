import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("JSON of unknown shape keeps its values", .timeLimit(.minutes(10)))
struct JSONValueTests {
    private static let seeds: Range<UInt64> = CookieProbe.runsSlowTests ? 0..<20 : 0..<2
    /// `JSONDecoder` copies the path of a value for each type that it is not, so the time is a square of the depth.
    private static let greatDepth = CookieProbe.runsSlowTests ? 500 : 250

    @Test(arguments: [
        "null", "true", "0", "-1", "9223372036854775807", "18446744073709551615", "0.1", "1e+300", "\"a\"", "[]", "{}",
        #"{"a":[1,{"b":null}],"c":"\u00fc"}"#, "12345678901234567890.123",
    ])
    func `A value is decoded and encoded without change`(_ text: String) throws {
        let value = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
        let again = try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value))
        #expect(again == value)
    }

    @Test(arguments: [15, 16, 100, greatDepth], [("[", "]"), (#"{"a":"#, "}")])
    func `A decoder without a service decodes the same values at every depth`(
        _ depth: Int,
        _ container: (begin: String, end: String)
    ) throws {
        let text = #"""
            [null,true,false,0,-0.0,1.0,1e2,-9223372036854775808,9223372036854775807,9223372036854775808,1e300,1e-300,0.1,
            9007199254740993.5,12345678901234567890.123,18446744073709551615,"","\u00fc\n",[],[[]],{},{"a_b":{"c":[1,"2"]}}]
            """#
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let head = String(repeating: container.begin, count: depth)
        let tail = String(repeating: container.end, count: depth)
        var value = try decoder.decode(JSONValue.self, from: Data("\(head)\(text)\(tail)".utf8))
        for _ in 0..<depth { value = try #require(value[0] ?? value["a"]) }
        #expect(value == (try decoder.decode(JSONValue.self, from: Data(text.utf8))))
        #expect(value[21]?["a_b"]?["c"]?[1] == .string("2"))
    }

    @Test(arguments: ["[1e400]", #"["\ud800"]"#, "[1, tru]", #"{"a":[}"#, String(repeating: "[", count: 600)])
    func `A malformed value is an error at every depth`(_ text: String) throws {
        for depth in [0, 15, 100, Self.greatDepth] {
            let nested = String(repeating: "[", count: depth) + text + String(repeating: "]", count: depth)
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONValue.self, from: Data(nested.utf8)) }
        }
    }

    private static func decoded(_ text: String, depth: Int = 0) throws -> JSONValue {
        let (begin, end) = (String(repeating: "[", count: depth), String(repeating: "]", count: depth))
        var value = try JSONDecoder().decode(JSONValue.self, from: Data("\(begin)\(text)\(end)".utf8))
        for _ in 0..<depth { value = try #require(value[0]) }
        return value
    }

    /// Numbers near the limits of integers, doubles and decimals.
    private static func number(_ random: inout SplitMix) -> String {
        func digits(_ count: Int) -> String {
            (0..<count).reduce(into: "") { text, _ in text += String(Int.random(in: 0...9, using: &random)) }
        }
        let samples = [
            "4503599627370497.4", "9007199254740993", "9223372036854775807.5", "1", "0.1", "0.99999999999999999999",
            "1000000000000000000000000000000000000001", "340282366920938463463374607431768211456",
        ]
        let sign = Bool.random(using: &random) ? "-" : ""
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            let count = Int.random(in: 0...44, using: &random)
            return sign + "7" + digits(count)
        case 1:
            let (whole, part) = (Int.random(in: 0...20, using: &random), Int.random(in: 1...30, using: &random))
            return sign + "3\(digits(whole)).\(digits(part))"
        case 2:
            let count = Int.random(in: 1...45, using: &random)
            return sign + "0.\(digits(count))5"
        default: return sign + (samples.randomElement(using: &random) ?? "0")
        }
    }

    @Test(arguments: seeds) func `JSONDecoder decodes the number that the parser reads, with the sign of zero`(
        _ seed: UInt64
    ) throws {
        var random = SplitMix(seed: seed)
        let fixed = ["-0.0", "-0", "0.0", "1e-400", "4503599627370497.4", "-4503599627370497.4"]
        for text in fixed + (0..<200).map({ _ in Self.number(&random) }) {
            let parsed = try JSONValue(json: Data(text.utf8))
            #expect(try Self.decoded(text) == parsed, "\(text)")
            #expect(try Self.decoded(text, depth: 20) == parsed, "\(text)")
            if case .double(let value) = parsed {
                guard case .double(let decoded) = try Self.decoded(text) else { continue }
                #expect(value.sign == decoded.sign, "\(text)")
                #expect(value.sign == (text.hasPrefix("-") ? .minus : .plus), "\(text)")
            }
        }
    }

    @Test(arguments: seeds) func `A number is equal after encoding and parsing`(_ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let fixed = ["-0.0", "-0", "-0e7", "0e5", "1e-400", "-1e-400", "1e300", "5e-324", "1e127", "123e126"]
        for text in fixed + (0..<300).map({ _ in Self.number(&random) }) {
            let parsed = try JSONValue(json: Data(text.utf8))
            let again = try JSONValue(json: JSONEncoder().encode(parsed))
            #expect(again == parsed, "\(text)")
            let thrice = try Self.decoded(String(decoding: JSONEncoder().encode(parsed), as: UTF8.self))
            #expect(thrice == parsed, "\(text)")
        }
        #expect(try JSONValue(json: Data("-0.0".utf8)).int == 0)
    }

    @Test func `A number is an integer, a double or a decimal, depending on its digits`() throws {
        let value = try JSONDecoder().decode(JSONValue.self, from: Data("[1,0.5,18446744073709551615]".utf8))
        #expect(value[0] == .int(1))
        #expect(value[1] == .double(0.5))
        #expect(value[2] == .decimal(Decimal(UInt64.max)))
        #expect(value[3] == nil)
        #expect(value["a"] == nil)
    }
}
