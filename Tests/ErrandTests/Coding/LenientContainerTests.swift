import Foundation
import Testing

@testable import Errand

@Suite("Containers of a lenient decoder are those of an exact one", .timeLimit(.minutes(10)))
struct LenientContainerTests {
    private class Base: Decodable {
        let id: Int

        enum CodingKeys: CodingKey { case id }
    }

    private final class Derived: Base {
        private enum CodingKeys: CodingKey { case base, pair, list, info, nothing }

        let found: [String]

        required init(from decoder: any Decoder) throws {
            let object = try decoder.container(keyedBy: CodingKeys.self)
            var pair = try object.nestedUnkeyedContainer(forKey: .pair)
            var inner = try pair.nestedUnkeyedContainer()
            let first = try inner.decode(Int.self)
            let name = try pair.nestedContainer(keyedBy: CodingKeys.self).decode(String.self, forKey: .info)
            let isNull = try pair.decodeNil()
            let isNotNull = try !pair.decodeNil()
            let last = try pair.superDecoder().singleValueContainer().decode(Double.self)
            let none = try object.superDecoder(forKey: .nothing).singleValueContainer().decodeNil()
            let info = try object.nestedContainer(keyedBy: CodingKeys.self, forKey: .info)
            found = [
                "\(first) \(name) \(isNull) \(isNotNull) \(last) \(none) \(pair.isAtEnd) \(pair.count ?? -1)",
                "\(try info.decodeNil(forKey: .list)) \(info.contains(.pair)) \(info.allKeys.count)",
                "\(Self.key.flatMap { decoder.userInfo[$0] } ?? "none")",
                inner.codingPath.map(\.stringValue).joined(separator: "/"),
                "\(try inner.decodeIfPresent(Int128.self) ?? -1) \(try object.decode(UInt128.self, forKey: .list))",
            ]
            try super.init(from: object.superDecoder())
        }

        static let key = CodingUserInfoKey(rawValue: "info")
    }

    private static let json = #"""
        {"a":[{"pair":[[7],{"info":"x"},null,2.5],"info":{"list":null,"base":1},"list":9,"super":{"id":3}}]}
        """#

    @Test func `Nested containers, super decoders, paths and user information`() throws {
        let decoders = [JSONDecoder(), .lenient]
        let values = try decoders.map { decoder in
            decoder.userInfo[try #require(Derived.key)] = "info"
            return try decoder.decode([String: [Derived]].self, from: Data(Self.json.utf8))["a"]
        }
        #expect(values[1]?.first?.id == 3)
        #expect(values[1]?.first?.found[2] == "info")
        #expect(values[1]?.first?.found == values[0]?.first?.found)
    }

    private struct Model: Decodable {
        struct Part: Decodable { let id: Int }
        struct Three: Decodable {
            init(from decoder: any Decoder) throws {
                var list = try decoder.unkeyedContainer()
                for _ in 0..<3 { _ = try list.decode(Int.self) }
            }
        }

        let part: Part?
        let parts: [Part]?
        let byName: [String: Part]?
        let three: Three?
        let link: URL?
        let data: Data?
    }

    @Test(arguments: [
        #"{"part":{}}"#, #"{"part":{"id":null}}"#, #"{"part":{"id":[]}}"#, #"{"part":[]}"#, #"{"parts":{}}"#, "[]",
        "null", "7",
        #"{"parts":[{"id":1},{"id":{}}]}"#, #"{"parts":[{"id":1},null]}"#, #"{"byName":{"x":{"id":false}}}"#,
        #"{"three":[1,2]}"#, #"{"link":""}"#, #"{"data":"%"}"#, #"{"data":{}}"#,
    ]) func `Decoding stops at the same place`(_ json: String) throws {
        let places = [JSONDecoder(), .lenient].map { decoder in
            let error = #expect(throws: DecodingError.self) { try decoder.decode(Model.self, from: Data(json.utf8)) }
            return error?.path
        }
        #expect(places[0] == places[1] && places[0] != nil)
    }

    // MARK: Elements

    private struct Shop: Decodable, Equatable {
        let goods: [Model.Part]
        let lists: [[Int]]
        static func == (one: Shop, other: Shop) -> Bool {
            one.goods.map(\.id) == other.goods.map(\.id) && one.lists == other.lists
        }
    }

    @Test func `Bad elements are left out when that is asked for, and fail otherwise`() throws {
        let json = Data(#"{"goods":[{"id":1},{"id":"x"},null,{},{"id":"2"}],"lists":[[1,"a",3],7,[]]}"#.utf8)
        let shop = try JSONDecoder.lenient(skippingBadElements: true).decode(Shop.self, from: json)
        #expect(shop.goods.map(\.id) == [1, 2])
        #expect(shop.lists == [[1, 3], []])
        for decoder in [JSONDecoder(), .lenient, .lenient(skippingBadElements: false)] {
            #expect(throws: DecodingError.self) { try decoder.decode(Shop.self, from: json) }
        }
        let root = try JSONDecoder.lenient(skippingBadElements: true).decode([Int].self, from: Data("[{}]".utf8))
        #expect(root == [])
        #expect(throws: DecodingError.self) {
            try JSONDecoder.lenient(skippingBadElements: true).decode([Int].self, from: Data("{}".utf8))
        }
    }

    private struct Page: Decodable, Equatable {
        @EmptyIfMissing var goods: [Int]
        @EmptyIfMissing var tags: Set<String>
    }

    @Test(arguments: [JSONDecoder(), .lenient])
    func `An array is empty if it is missing or null`(_ decoder: JSONDecoder) throws {
        func page(_ json: String) throws -> Page { try decoder.decode(Page.self, from: Data(json.utf8)) }
        #expect(try page("{}") == Page(goods: [], tags: []))
        #expect(try page(#"{"goods":null,"tags":null}"#) == Page(goods: [], tags: []))
        #expect(try page(#"{"goods":[1],"tags":["a"]}"#) == Page(goods: [1], tags: ["a"]))
        let lists = try decoder.decode([EmptyIfMissing<[Int]>].self, from: Data("[null,[1]]".utf8))
        #expect(lists.map(\.wrappedValue) == [[], [1]])
        for (json, path) in [(#"{"goods":7}"#, "goods"), (#"{"goods":[{}]}"#, "goods.Index 0")] {
            let error = #expect(throws: DecodingError.self) { try page(json) }
            #expect(error?.path == path)
        }
    }
}
