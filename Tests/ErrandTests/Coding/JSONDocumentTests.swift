import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

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

    @Test(arguments: [#""Tom\ud83d""#, #""\udc00 and more""#, "1e400", "-1e999"])
    func `Damage in a part that nothing decodes is no fault of the others`(_ damaged: String) throws {
        let text = Data(#"{"userID":1,"userData":{"a":[1,"x"]},"nick":\#(damaged)}"#.utf8)
        let leaf = try JSONDocument.decode(text, with: JSONDecoder()) { try Leaf(from: $0) }
        #expect(leaf == Leaf(userID: 1, userData: ["a": [1, "x"]]))
        let inside = Data(#"{"userID":1,"userData":\#(damaged)}"#.utf8)
        #expect(throws: DecodingError.self) {
            try JSONDocument.decode(inside, with: JSONDecoder()) { try Leaf(from: $0) }
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
