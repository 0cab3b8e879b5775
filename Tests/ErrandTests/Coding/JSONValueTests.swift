import Foundation
import Testing

@testable import Errand

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

    @Test func `A number is an integer, a double or a decimal, depending on its digits`() throws {
        let value = try JSONDecoder().decode(JSONValue.self, from: Data("[1,0.5,18446744073709551615]".utf8))
        #expect(value[0] == .int(1))
        #expect(value[1] == .double(0.5))
        #expect(value[2] == .decimal(Decimal(UInt64.max)))
        #expect(value[3] == nil)
        #expect(value["a"] == nil)
    }
}
