import ErrandTesting
import Foundation
import Testing
import TestSupport

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

    @Test func `Numbers of JSON5 that are infinite, or none, are those of Double`() throws {
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        let value = try decoder.decode(JSONValue.self, from: Data("[Infinity, -Infinity, NaN]".utf8))
        #expect(value[0] == .double(.infinity) && value[1] == .double(-.infinity))
        guard case .double(let none)? = value[2] else { return #expect(Bool(false), "\(value)") }
        #expect(none.isNaN)
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

@Suite("Exact parsing of JSON", .timeLimit(.minutes(10)))
struct JSONReaderTests {
    private static let seeds: Range<UInt64> = CookieProbe.runsSlowTests ? 0..<20 : 0..<6

    @Test(.fault(54), arguments: seeds) func `A text of any shape and depth is parsed`(_ seed: UInt64)
        throws
    {
        var random = SplitMix(seed: seed)
        for _ in 0..<200 {
            let sample = JSONSample.sample(depth: .random(in: 0...6, using: &random), using: &random)
            let depth = Int.random(in: 0...100, using: &random)
            let nested = JSONSample.nested(sample, depth: depth, using: &random)
            #expect(try JSONValue(json: nested.data) == nested.value, "\(nested.text)")
            #expect(try JSONValue(json: Data("\u{FEFF} \n\(nested.text)\t".utf8)) == nested.value)
        }
    }

    @Test(.fault(54), arguments: seeds) func `A text with an error is refused where Foundation refuses it`(
        _ seed: UInt64
    ) {
        var random = SplitMix(seed: seed)
        let alphabet = Array("[]{},:\"\\0123456789.-+eEtrufalsn/ \u{1}".utf8)
        for _ in 0..<500 {
            var bytes = Array(JSONSample.sample(depth: 4, using: &random).text.utf8)
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let place = Int.random(in: 0...bytes.count, using: &random)
                let letter = alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
                if place < bytes.count, Bool.random(using: &random) {
                    bytes[place] = letter
                } else {
                    bytes.insert(letter, at: place)
                }
            }
            let isRead = (try? JSONValue(json: Data(bytes))) != nil
            let isJSON = (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
            #expect(isRead == isJSON, "\(String(decoding: bytes, as: UTF8.self))")
        }
    }

    @Test(.fault(54), arguments: seeds) func `A truncated text is refused`(_ seed: UInt64) {
        var random = SplitMix(seed: seed)
        let text = JSONSample.array([.sample(depth: 4, using: &random)]).data
        for length in 0..<text.count {
            #expect(throws: DecodingError.self) { try JSONValue(json: text.prefix(length)) }
        }
    }

    @Test(.fault(54), .enabled(if: SharedData.jsonTestSuite.exists, "the conformance data is not here"))
    func `The JSON test suite passes, except for the trailing commas that Foundation accepts`() throws {
        let folder = SharedData.jsonTestSuite.folder.appending(path: "test_parsing")
        let lenient = ["n_array_extra_comma", "n_array_number_and_comma", "n_object_trailing_comma"].map {
            $0 + ".json"
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
        #expect(files.count > 250)
        for file in files {
            let value = try? JSONValue(json: Data(contentsOf: folder.appending(path: file)))
            #expect((value != nil) == (file.hasPrefix("y_") || lenient.contains(file)), "\(file)")
        }
    }

    @Test(
        arguments: [
            ("0", .int(0)), ("-0", .double(-0.0)), ("-0.0", .double(-0.0)), ("1.0", .int(1)), ("1e2", .int(100)),
            ("120e-1", .int(12)),
            ("9223372036854775807", .int(.max)), ("-9223372036854775808", .int(.min)),
            ("1e18", .int(1_000_000_000_000_000_000)),
            ("9007199254740993.0", .int(9_007_199_254_740_993)),
            ("1.00000000000000000000000000000000000000000000", .int(1)),
            ("0.1", .double(0.1)), ("5e-324", .double(.leastNonzeroMagnitude)),
            ("4.9e-324", .double(.leastNonzeroMagnitude)), ("1e19", .double(1e19)),
            ("10000000000000000000", .double(1e19)), ("1.7976931348623157e308", .double(1.7976931348623157e308)),
            ("0.30000000000000004", .double(0.30000000000000004)), ("1e-400", .int(0)), ("-1e-400", .int(0)),
            ("12345678901234567e150", .double(1.2345678901234567e166)),
        ] as [(String, JSONValue)]
    )
    func `An exact number is an integer or a double`(_ text: String, _ value: JSONValue) throws {
        #expect(try JSONValue(json: Data(text.utf8)) == value)
    }

    @Test(arguments: [
        "9223372036854775808", "-9223372036854775809", "18446744073709551615", "9007199254740993.5",
        "1.0000000000000001",
        "12345678901234567890.123", "0.10000000000000000555", "1234567890123456789012345678901234567890",
        "-0.12345678901234567",
        "340282366920938463463374607431768211455", "340282366920938463463374607431768211455e-30",
    ])
    func `Any other number is a decimal`(_ text: String) throws {
        let decimal = try #require(Decimal(string: text))
        #expect(try JSONValue(json: Data(text.utf8)) == .decimal(decimal))
    }

    @Test func `A number whose zeros exceed the exponent of a decimal is a double`() throws {
        #expect(try JSONValue(json: Data("12345678901234567890e127".utf8)) == .double(12_345_678_901_234_567_890e127))
    }

    @Test(
        .fault(54),
        arguments: ["1e400", "-1e400", "1e99999999999999999999", "1" + String(repeating: "0", count: 100_000)]
    )
    func `A number outside the range of doubles is refused`(_ text: String) {
        #expect(throws: DecodingError.self) { try JSONValue(json: Data("[\(text)]".utf8)) }
    }

    @Test(.fault(54)) func `The first of two members with one name is used, as by a decoder`() throws {
        let text = Data(#"{"a":1,"b":2,"a":"c","\u0061":3}"#.utf8)
        #expect(try JSONValue(json: text) == .object(["a": .int(1), "b": .int(2)]))
        #expect(try JSONDecoder().decode([String: JSONValue].self, from: text) == ["a": .int(1), "b": .int(2)])
    }

    @Test(
        .fault(54),
        arguments: [
            #""\uD800""#, #""\uDC00""#, #""\uD800x""#, #""\uD800\u0041""#, #""\uD800\n""#, #"{"\uDFFF":1}"#,
            "\u{FEFF}\u{FEFF}[]",
            "[\u{0}]", "1\u{0}", "\"\u{0}\"", "\"\u{1F}\"", #""\u00""#, #""\u+0041""#, #""\x""#, "",
        ]
    )
    func `Half a surrogate, two byte order marks and bare control characters are refused`(_ text: String) {
        #expect(throws: DecodingError.self) { try JSONValue(json: Data(text.utf8)) }
    }

    @Test(
        .fault(54),
        arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE8, 0x8C]]
    )
    func `A string that is not UTF-8 is refused`(_ bytes: [UInt8]) {
        for (begin, end) in [(#"""#, #"""#), (#"["\n"#, #""]"#)] {
            let text = Data(begin.utf8) + Data(bytes) + Data(end.utf8)
            #expect(throws: DecodingError.self) { try JSONValue(json: text) }
        }
    }

    @Test(.fault(84), arguments: [1, 2, 511, 512, 513, 100_000])
    func `The maximum depth is that of Foundation`(_ depth: Int) {
        for (begin, end) in [("[", "]"), (#"{"a":"#, "}"), (#"[{"a":"#, "}]")] {
            let count = depth / begin.filter { "[{".contains($0) }.count
            let text = String(repeating: begin, count: count) + "1" + String(repeating: end, count: count)
            let isRead = (try? JSONValue(json: Data(text.utf8))) != nil
            #expect(
                isRead
                    == ((try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil)
            )
        }
    }

    @Test func `An error quotes nothing`() throws {
        let error = #expect(throws: DecodingError.self) {
            try JSONValue(json: Data(#"{"s3cret":"s3cret"s3cret}"#.utf8))
        }
        #expect(!"\(try #require(error))".contains("s3cret"))
    }
}

/// Decoding of `JSONValue` inside other types, with and without the text.
@Suite("JSON of unknown shape inside other types", .timeLimit(.minutes(10)))
struct JSONDocumentTests {
    private struct Leaf: Decodable, Equatable {
        let userID: Int
        let userData: JSONValue
    }

    private final class Base: Decodable, Equatable, Sendable {
        let open: JSONValue
        init(open: JSONValue) { self.open = open }
        static func == (left: Base, right: Base) -> Bool { left.open == right.open }
    }

    private struct Everything: Decodable, Equatable {
        let one: JSONValue
        let none: JSONValue?
        let missing: JSONValue?
        let list: [JSONValue]
        let byName: [String: JSONValue]
        let byNumber: [Int: JSONValue]
        let pairs: [[Bool]: JSONValue]
        let deep: [[String: [Leaf]]]
        let nested: JSONValue
        let base: Base
        let embedded: JSONValue

        private enum Key: String, CodingKey {
            case one, none, missing, list, byName, byNumber, pairs, deep, nested, base, text
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            one = try container.decode(JSONValue.self, forKey: .one)
            none = try container.decode(JSONValue?.self, forKey: .none)
            missing = try container.decodeIfPresent(JSONValue.self, forKey: .missing)
            list = try container.decode([JSONValue].self, forKey: .list)
            byName = try container.decode([String: JSONValue].self, forKey: .byName)
            byNumber = try container.decode([Int: JSONValue].self, forKey: .byNumber)
            pairs = try container.decode([[Bool]: JSONValue].self, forKey: .pairs)
            deep = try container.decode([[String: [Leaf]]].self, forKey: .deep)
            var unkeyed = try container.nestedUnkeyedContainer(forKey: .nested)
            _ = try unkeyed.decode(JSONValue.self)
            nested = try unkeyed.nestedContainer(keyedBy: Key.self).decode(JSONValue.self, forKey: .one)
            base = try Base(from: container.superDecoder(forKey: .base))
            // A text inside the text has members with the same names.
            let text = Data(try container.decode(String.self, forKey: .text).utf8)
            embedded = try JSONDecoder().decode([String: JSONValue].self, from: text)["one"] ?? .null
        }
    }

    private static func text(_ userID: String, _ userData: String) -> Data {
        let leaf = #"{"\#(userID)":1,"\#(userData)":{"a_b":[1.0000000000000001]},"x_y":0}"#
        let members = [
            #""one":{"snake_case":[1,2.5]}"#, #""none":null"#, #""list":[1,"a",[null],{"k_l":true}]"#,
            #""byName":{"a_b":1,"aB":[2]},"by_name":{"a_b":1,"aB":[2]}"#,
            #""byNumber":{"7":"x"},"by_number":{"7":"x"}"#,
            #""pairs":[[true],"p",[false],{"q":0}]"#, #""deep":[{"some_name":[\#(leaf),\#(leaf)]},{}]"#,
            #""nested":[0,{"one":"in"}]"#, #""base":{"open":{"n_m":1}}"#, #""text":"{\"one\":\"embedded\"}""#,
        ]
        return Data("{\(members.joined(separator: ","))}".utf8)
    }

    @Test(arguments: [nil, Envelope()]) func `Each value is that of its coding path`(_ envelope: Envelope?) throws {
        let service = APIService.sample { $0.envelope = envelope }
        let text = Self.text("userID", "userData")
        let everything = try decode(Everything.self, text, service)
        #expect(everything.one == .object(["snake_case": .array([.int(1), .double(2.5)])]))
        #expect(everything.none == nil)
        #expect(everything.list == [.int(1), .string("a"), .array([.null]), .object(["k_l": .bool(true)])])
        #expect(everything.byName == ["a_b": .int(1), "aB": .array([.int(2)])])
        #expect(everything.byNumber == [7: .string("x")])
        #expect(everything.pairs == [[true]: .string("p"), [false]: .object(["q": .int(0)])])
        let exact = try #require(Decimal(string: "1.0000000000000001"))
        #expect(everything.deep[0]["some_name"]?[1].userData == .object(["a_b": .array([.decimal(exact)])]))
        #expect(everything.nested == .string("in"))
        #expect(everything.base.open == .object(["n_m": .int(1)]))
        #expect(everything.embedded == .string("embedded"))
    }

    @Test(arguments: [("user_id", "user_data"), ("userID", "userData")])
    func `Names are converted for an app's members, not inside JSON of unknown shape`(
        _ id: String,
        _ data: String
    ) throws {
        let service = APIService.sample { $0.decoder.keyDecodingStrategy = .convertFromSnakeCase }
        let text = Data(#"[{"some_name":[{"\#(id)":1,"\#(data)":{"a_b":[1]},"x_y":0}]}]"#.utf8)
        let leaves = try decode([[String: [ConvertedLeaf]]].self, text, service)
        #expect(leaves[0]["some_name"]?[0].userData == .object(["a_b": .array([.int(1)])]))
    }

    @Test(arguments: [#"{"user_data":{"a":1},"userData":{"b":2}}"#, #"{"userData":{"b":2},"user_data":{"a":1}}"#])
    func `Of members that are converted to one name, the decoder chooses`(_ text: String) throws {
        struct Exact: Decodable { let userData: [String: Int] }
        struct Open: Decodable { let userData: JSONValue }
        let service = APIService.sample {
            $0.envelope = nil
            $0.decoder.keyDecodingStrategy = .convertFromSnakeCase
        }
        let exact = try decode(Exact.self, Data(text.utf8), service).userData
        let open = try decode(Open.self, Data(text.utf8), service).userData
        #expect(open == .object(exact.mapValues { .int(Int64($0)) }))
    }

    @Test func `A custom key strategy uses the decoder`() throws {
        let service = APIService.sample {
            $0.envelope = nil
            $0.decoder.keyDecodingStrategy = .custom { Name($0.last?.stringValue == "a" ? "b" : "a") }
        }
        let text = Data(#"{"a":{"userData":1},"b":{"userData":{"a":[2]}}}"#.utf8)
        #expect(
            try decode(Swapped.self, text, service)
                == Swapped(a: .object(["userData": .object(["a": .array([.int(2)])])]))
        )
    }

    @Test(arguments: 0..<20) func `A value is the same with and without the text`(_ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let service = APIService.sample { $0.envelope = nil }
        for _ in 0..<30 {
            let sample = JSONSample.sample(depth: 4, using: &random)
            let text = Data(#"[{"v":\#(sample.text)},{"v":[\#(sample.text)]}]"#.utf8)
            let values = try decode([[String: JSONValue]].self, text, service)
            #expect(values == [["v": sample.value], ["v": .array([sample.value])]])
            let whole = try ResponseSerializer<JSONValue>.json.value(of: response(sample.data), from: service)
            #expect(whole == sample.value)
        }
    }

    @Test func `Another decoder decodes the same values`() throws {
        let text = Data(#"{"a":[1,-2.5,"x",null,true,18446744073709551615,{}],"b_c":{"d":[[]]}}"#.utf8)
        #expect(try JSONDecoder().decode(JSONValue.self, from: text) == JSONValue(json: text))
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        #expect(try decoder.decode(JSONValue.self, from: text)["b_c"] != nil)
        let list = try PropertyListEncoder().encode(["a": ["b": [1, 2]]])
        #expect(try PropertyListDecoder().decode(JSONValue.self, from: list)["a"]?["b"]?[1]?.int == 2)
    }

    @Test(arguments: [
        String.Encoding.utf16, .utf16BigEndian, .utf16LittleEndian, .utf32BigEndian, .utf32LittleEndian,
    ])
    func `A text in another encoding has the same values`(_ encoding: String.Encoding) throws {
        let text = #"{"userID":1,"userData":{"茶":[1,"é",1e2]}}"#
        let service = APIService.sample { $0.envelope = nil }
        let leaf = try decode(Leaf.self, try #require(text.data(using: encoding)), service)
        #expect(leaf == Leaf(userID: 1, userData: ["茶": [1, "é", 100]]))
    }

    @Test(arguments: [#""Tom\ud83d""#, #""\udc00 and more""#, "1e400", "-1e999"])
    func `Damage in a part that nothing decodes is no fault of the others`(_ damaged: String) throws {
        let text = Data(#"{"userID":1,"userData":{"a":[1,"x"]},"nick":\#(damaged)}"#.utf8)
        let leaf = try JSONDocument.decode(text, with: JSONDecoder()) { try Leaf(from: $0) }
        #expect(leaf == Leaf(userID: 1, userData: ["a": [1, "x"]]))
        for inside in [damaged, #"{"a":[\#(damaged)]}"#, #"{"b\ud83d":1}"#] {
            let text = Data(#"{"userID":1,"userData":\#(inside)}"#.utf8)
            #expect(throws: DecodingError.self) {
                try JSONDocument.decode(text, with: JSONDecoder()) { try Leaf(from: $0) }
            }
        }
    }

    private func decode<Value: Decodable & Sendable>(
        _ type: Value.Type,
        _ text: Data,
        _ service: APIService
    ) throws -> Value {
        let body = service.envelope == nil ? text : Data(#"{"errcode":200,"data":"#.utf8) + text + Data("}".utf8)
        return try ResponseSerializer<Value>.json.value(of: response(body), from: service)
    }

    private func response(_ body: Data) -> APIResponse {
        APIResponse(HTTPResponse(status: 200, body: body), url: URL("http://shop.test"))
    }
}

private struct Swapped: Decodable, Equatable {
    let a: JSONValue
}

private struct ConvertedLeaf: Decodable {
    let userData: JSONValue
}

private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ text: String) { stringValue = text }
    init(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}

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

@MainActor @Suite("JSON of unknown shape costs no more than other JSON", .limitedConcurrency, .timeLimit(.minutes(10)))
struct JSONTimeTests {
    /// The allowed multiple of the time of `JSONSerialization`, which is optimized, while these sources may not be.
    private static let limit = _isDebugAssertConfiguration() ? 40.0 : 2

    private static let shapes: [(String, String)] = [("[", "]"), (#"{"a":"#, "}"), (#"[1,{"a":"#, "},true]")]

    /// Texts of about forty kilobytes in an optimized build, whose numbers, strings and objects are within `depth` containers.
    private static func texts(depth: Int) -> [Data] {
        let mixed = (0..<rounds(400)).map {
            #"{"id":\#($0),"name":"茶 \#($0)\n","price":\#(Double($0) / 8),"tags":[null,true]}"#
        }
        let contents = [
            (0..<rounds(4_000)).map(String.init), mixed, (0..<rounds(2_000)).map { "1234567890123456789\($0).5" },
        ]
        return contents.flatMap { content in
            shapes.map { begin, end in
                let count = (depth - 3) / begin.filter { "[{".contains($0) }.count
                let (head, tail) = (String(repeating: begin, count: count), String(repeating: end, count: count))
                return Data("\(head)[\(content.joined(separator: ","))]\(tail)".utf8)
            }
        }
    }

    @Test(.fault(84), arguments: [4, 64, 500, 510]) func `A text of any depth is parsed in linear time`(_ depth: Int)
        throws
    {
        for text in Self.texts(depth: depth) {
            let limit = try cpuTime { try JSONSerialization.jsonObject(with: text) } * Self.limit
            let own = try cpuTime(below: limit) { try JSONValue(json: text) }
            #expect(own < limit)
        }
    }

    @Test(.fault(84), arguments: [nil, Envelope()]) func `A response and an envelope are decoded in linear time`(
        _ envelope: Envelope?
    ) throws {
        let service = APIService.sample { $0.envelope = envelope }
        for text in Self.texts(depth: 500) {
            let body = envelope == nil ? text : Data(#"{"errcode":200,"data":"#.utf8) + text + Data("}".utf8)
            let response = APIResponse(HTTPResponse(status: 200, body: body), url: service.baseURL)
            let limit = try cpuTime { try JSONSerialization.jsonObject(with: body) } * Self.limit
            let own = try cpuTime(below: limit) {
                try ResponseSerializer<JSONValue>.json.value(of: response, from: service)
            }
            #expect(own < limit)
        }
    }

    private struct Item: Decodable {
        let id: Int
        let extra: JSONValue
        let more: [String: JSONValue]?
        let list: [JSONValue]?
    }

    @Test(.fault(84), arguments: [JSONDecoder.KeyDecodingStrategy.useDefaultKeys, .convertFromSnakeCase])
    func `A value in a custom type is decoded in linear time`(_ strategy: JSONDecoder.KeyDecodingStrategy) throws {
        let service = APIService.sample {
            $0.envelope = nil
            $0.decoder.keyDecodingStrategy = strategy
        }
        for text in Self.texts(depth: 490) {
            let body = Data(#"{"id":7,"more":{"a_b":[]},"extra":"#.utf8) + text + Data("}".utf8)
            let response = APIResponse(HTTPResponse(status: 200, body: body), url: service.baseURL)
            let limit = try cpuTime { try JSONSerialization.jsonObject(with: body) } * Self.limit
            let own = try cpuTime(below: limit) { try ResponseSerializer<Item>.json.value(of: response, from: service) }
            #expect(own < limit)
        }
    }

    private struct Renamed: Decodable {
        let metaData: JSONValue
        let address2: JSONValue?
    }

    @Test(.fault(84), arguments: ["meta_DATA", "meta__data", "metaData", "meta_data"])
    func `A value whose name is converted is decoded in linear time`(_ name: String) throws {
        let service = APIService.sample {
            $0.envelope = nil
            $0.decoder.keyDecodingStrategy = .convertFromSnakeCase
        }
        for text in Self.texts(depth: 490) {
            let body = Data(#"{"address_2":1,"\#(name)":"#.utf8) + text + Data("}".utf8)
            let response = APIResponse(HTTPResponse(status: 200, body: body), url: service.baseURL)
            let limit = try cpuTime { try JSONSerialization.jsonObject(with: body) } * Self.limit
            let own = try cpuTime(below: limit) {
                try ResponseSerializer<Renamed>.json.value(of: response, from: service)
            }
            #expect(own < limit)
            #expect(try ResponseSerializer<Renamed>.json.value(of: response, from: service).address2 == 1)
        }
    }

    /// What was once a reason to look for all values of a text with the decoder.
    enum Oddity: CaseIterable {
        case number, surrogate, utf16, ambiguousNames, control, escape, zeros, minus
    }

    @Test(.fault(84), arguments: Oddity.allCases)
    func `A value in a text with a fault elsewhere is decoded in linear time`(_ oddity: Oddity) throws {
        let service = APIService.sample {
            $0.envelope = nil
            $0.decoder.keyDecodingStrategy = oddity == .ambiguousNames ? .convertFromSnakeCase : .useDefaultKeys
        }
        let member =
            switch oddity {
            case .number: #""z":1e400"#
            case .surrogate: #""z":"\ud83d""#
            case .utf16: #""z":0"#
            case .ambiguousNames: #""a_b":1,"aB":2"#
            case .control: "\"z\":\"\t\""
            case .escape: #""z":"\q""#
            case .zeros: #""z":[01,1.2.3]"#
            case .minus: #""z":-"#
            }
        for text in Self.texts(depth: 490) {
            let text = #"{"id":7,\#(member),"extra":\#(String(decoding: text, as: UTF8.self))}"#
            let body = oddity == .utf16 ? Data(text.data(using: .utf16) ?? Data()) : Data(text.utf8)
            let response = APIResponse(HTTPResponse(status: 200, body: body), url: service.baseURL)
            let good = text.replacing(member, with: #""z":0"#)
            let limit = try cpuTime { try JSONSerialization.jsonObject(with: Data(good.utf8)) } * Self.limit * 2
            let own = try cpuTime(below: limit) { try ResponseSerializer<Item>.json.value(of: response, from: service) }
            #expect(own < limit)
        }
    }

    private struct Rows: Decodable {
        struct Row: Decodable { let line1: JSONValue }

        let list2: [Row]
        let meta: [String: JSONValue]
    }

    @Test(.fault(84)) func `Values with converted names are found in linear time in an object of any size`() throws {
        let service = APIService.sample {
            $0.envelope = nil
            $0.decoder.keyDecodingStrategy = .convertFromSnakeCase
        }
        let others = (0..<3_000).map { #""f_\#($0)_x":0"# }.joined(separator: ",")
        let rows = Array(repeating: #"{"line_1":1}"#, count: 3_000).joined(separator: ",")
        let body = Data(#"{\#(others),"list_2":[\#(rows)],"meta":{\#(others)}}"#.utf8)
        let response = APIResponse(HTTPResponse(status: 200, body: body), url: service.baseURL)
        let limit = try cpuTime { try JSONSerialization.jsonObject(with: body) } * Self.limit * 10
        let own = try cpuTime(below: limit) { try ResponseSerializer<Rows>.json.value(of: response, from: service) }
        #expect(own < limit)
        let value = try ResponseSerializer<Rows>.json.value(of: response, from: service)
        #expect(value.list2.count == 3_000 && value.meta.count == 3_000)
    }

    private indirect enum Nest: Decodable {
        case elements([Nest])

        init(from decoder: any Decoder) throws {
            self = .elements(try decoder.singleValueContainer().decode([Nest].self))
        }
    }

    @Test(.fault(84)) func `Bad elements are left out in a time that their depth hardly changes`() throws {
        let decoder = JSONDecoder.lenient(skippingBadElements: true)
        let times = try [5, 500].map { depth in
            let (head, tail) = (String(repeating: "[", count: depth), String(repeating: "]", count: depth))
            let text = Data((head + Array(repeating: "1", count: rounds(4_000)).joined(separator: ",") + tail).utf8)
            return try cpuTime { try decoder.decode(Nest.self, from: text) }
        }
        #expect(times[1] < times[0] * 20)
    }

    @Test(.fault(84)) func `A text that no decoder reads is refused by a lenient one in linear time`() throws {
        let service = APIService.sample { $0.decoder = .lenient }
        let (head, tail) = (String(repeating: "[", count: 500), String(repeating: "]", count: 500))
        let values = Array(repeating: "true", count: 8_000).joined(separator: ",")
        let (good, bad) = (Data("\(head)\(values)\(tail)".utf8), Data("\(head)\(values),1e400\(tail)".utf8))
        let response = APIResponse(HTTPResponse(status: 200, body: bad), url: service.baseURL)
        let limit = try cpuTime { try JSONSerialization.jsonObject(with: good) } * Self.limit
        let own = cpuTime(below: limit) {
            Result { try ResponseSerializer<[Int]>.json.value(of: response, from: service) }
        }
        #expect(own < limit)
    }

    private struct Tolerant: Decodable {
        let extra: JSONValue?

        private enum Key: CodingKey { case extra }

        init(from decoder: any Decoder) throws {
            extra = try? decoder.container(keyedBy: Key.self).decode(JSONValue.self, forKey: .extra)
        }
    }

    @Test(.fault(84)) func `A text with an error is parsed once, however many values are looked up in it`() throws {
        let service = APIService.sample { $0.envelope = nil }
        let items = Array(repeating: #"{"extra":1}"#, count: 4_000).joined(separator: ",")
        let (good, bad) = (Data("[\(items)]".utf8), Data(#"[\#(items),{"name":"\ud83d"}]"#.utf8))
        let times = try [good, bad].map { body in
            let response = APIResponse(HTTPResponse(status: 200, body: body), url: service.baseURL)
            return try cpuTime { try ResponseSerializer<[Tolerant]>.json.value(of: response, from: service) }
        }
        #expect(times[1] < times[0] * 8)
    }

    @Test(.fault(84)) func `A response is decoded off the main actor`() async throws {
        DispatchQueue.main.setSpecific(key: mainKey, value: true)
        defer { DispatchQueue.main.setSpecific(key: mainKey, value: nil) }
        #expect(DispatchQueue.getSpecific(key: mainKey) == true)
        let body = #"{"errcode":200,"data":{"value":[[[1]]]}}"#
        for isJoined in [false, true] {
            let request = WhereRequest(proxy: APIProxy(fake: ScriptedTransport { _ in .json(body) }))
            (request.method, request.ownOptions.coalescesIdentical) = (.get, isJoined)
            let response = try await request.value()
            #expect(!response.wasOnMain)
            #expect(response.value[0]?[0]?[0]?.int == 1)
        }
    }
}

/// The first of three times in seconds that is below `limit`, or the least of them.
private func cpuTime<Value>(below limit: Double, of work: () throws -> Value) rethrows -> Double {
    var least = Double.infinity
    for _ in 0..<3 where least >= limit {
        let start = threadTime()
        let result = try work()
        least = min(least, threadTime() - start)
        withExtendedLifetime(result) {}
    }
    return least
}

private let mainKey = DispatchSpecificKey<Bool>()

private final class WhereRequest: SampleRequest, APIManager {
    struct Response: Decodable, Sendable {
        let value: JSONValue
        let wasOnMain: Bool

        private enum Key: CodingKey { case value }

        init(from decoder: any Decoder) throws {
            value = try decoder.container(keyedBy: Key.self).decode(JSONValue.self, forKey: .value)
            wasOnMain = DispatchQueue.getSpecific(key: mainKey) == true
        }
    }
}
