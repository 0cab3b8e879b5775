import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("A member is found in a JSON text without decoding it")
struct JSONMemberTests {
    private func member(_ path: String, _ text: String, convertsNames: Bool = false) throws -> String? {
        let data = Data("#".utf8) + Data(text.utf8)
        // A slice, whose indices do not begin at 0.
        let range = try JSONMember.range(of: path, in: data.dropFirst(), convertsNames: convertsNames)
        return range.map { String(decoding: data[$0], as: UTF8.self) }
    }

    @Test(arguments: [
        (#"{"a":1}"#, "1"), (#" { "b" : [ {"a":2} ] , "a" : -1.50e+9 } "#, "-1.50e+9"),
        (#"{"a":"}\\\""}"#, #""}\\\"""#),
        (#"{"a":[[],{"a":"]"}]}"#, #"[[],{"a":"]"}]"#), (#"{"b":"\"a\":1","a":true,}"#, "true"),
        (#"{"a":1,"a":2}"#, "1"),
        ("\u{FEFF}{\"a\":null}", "null"), (#"{"\u0061":3}"#, "3"), (#"{"茶":1,"a":"茶"}"#, #""茶""#),
    ])
    func `Its value is found`(_ text: String, _ value: String) throws {
        #expect(try member("a", text) == value)
    }

    @Test(arguments: ["{}", #"{"b":{"a":1}}"#, "[1]", "1", "", #"{"A":1}"#])
    func `There is none`(_ text: String) throws {
        #expect(try member("a", text) == nil)
    }

    @Test func `A path leads through objects alone`() throws {
        #expect(try member("a.b", #"{"a":{"b":1}}"#) == "1")
        #expect(try member("a.b", #"{"a":null}"#) == nil)
        #expect(try member("a.b", #"{"a":[{"b":1}]}"#) == nil)
        #expect(try member("aB.cD", #"{"a_b":{"c_d":1}}"#, convertsNames: true) == "1")
        #expect(try member("aB", #"{"a_b":1}"#) == nil)
    }

    @Test(arguments: [
        #"{"a""#, #"{"b":"#, #"{"a":["#, #"{"a":"x\"#, #"{'a':1}"#, #"{"b":1 "a":2}"#, "{\0", #"{"a":]}"#,
    ])
    func `A malformed text is an error without its contents`(_ text: String) {
        let error = #expect(throws: DecodingError.self) { try member("a", text) }
        #expect(error.map { "\($0)".contains("at byte") } == true)
    }
}
