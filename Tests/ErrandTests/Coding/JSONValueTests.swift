import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("JSON of unknown shape keeps its values", .timeLimit(.minutes(10)))
struct JSONValueTests {
    @Test(arguments: [
        "null", "true", "0", "-1", "9223372036854775807", "18446744073709551615", "0.1", "1e+300", "\"a\"", "[]", "{}",
        #"{"a":[1,{"b":null}],"c":"\u00fc"}"#, "12345678901234567890.123",
    ])
    func `A value is decoded and encoded without change`(_ text: String) throws {
        let value = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
        let again = try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value))
        #expect(again == value)
    }

    @Test(arguments: [15, 16, 100, 500], [("[", "]"), (#"{"a":"#, "}")])
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
        for depth in [0, 15, 100, 500] {
            let nested = String(repeating: "[", count: depth) + text + String(repeating: "]", count: depth)
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONValue.self, from: Data(nested.utf8)) }
        }
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
