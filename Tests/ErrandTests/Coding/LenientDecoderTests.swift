import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("A lenient decoder reads what an exact one does, and converts scalars", .timeLimit(.minutes(10)))
struct LenientDecoderTests {
    private struct Loose: Decodable, Equatable {
        var text = "", count = 0, price = 0.0, rate: Float = 0, total = Decimal(), isNew = false
        var size: UInt8? = nil
        var kind: Kind? = nil
        var sizes: [Int]? = nil

        enum Kind: Int, Decodable { case tea = 7 }
    }

    private func loose(_ json: String) throws -> Loose {
        let zeros = #""text":"","count":0,"price":0,"rate":0,"total":0,"isNew":false"#
        return try JSONDecoder.lenient.decode(Loose.self, from: Data("{\(json),\(zeros)}".utf8))
    }

    @Test func `A number is read from a string, and a string from a number`() throws {
        #expect(try loose(#""count":"42""#) == Loose(count: 42))
        #expect(try loose(#""count":" -4.2e1 ""#) == Loose(count: -42))
        #expect(try loose(#""price":"12.50","rate":"0.5""#) == Loose(price: 12.5, rate: 0.5))
        #expect(try loose(#""total":"12345678901234567890.25""#).total.description == "12345678901234567890.25")
        #expect(try loose(#""size":"255","kind":"7","sizes":["1",2]"#) == Loose(size: 255, kind: .tea, sizes: [1, 2]))
        #expect(try loose(#""size":"007","price":"09.50","rate":"-.5""#) == Loose(price: 9.5, rate: -0.5, size: 7))
        #expect(try loose(#""count":" +05","price":"00.50","total":"5.""#) == Loose(count: 5, price: 0.5, total: 5))
        #expect(try loose(#""count":"-00""#) == Loose())
        #expect(try loose(#""text":42"#) == Loose(text: "42"))
        #expect(try loose(#""text":12.5"#) == Loose(text: "12.5"))
        #expect(try loose(#""text":10000000000000000000"#) == Loose(text: "10000000000000000000"))
        #expect(try loose(#""text":0.00001"#) == Loose(text: "0.00001"))
        #expect(try loose(#""text":12345678901234567890.25"#) == Loose(text: "12345678901234567890.25"))
    }

    @Test(.hangLimit, arguments: ["0", " ", "1"])
    func `A long text that is no number is refused in time that grows with its length`(_ part: String) {
        let text = String(repeating: part, count: 200_000) + "x"
        #expect(throws: DecodingError.self) { try loose(#""count":"\#(text)""#) }
    }

    private struct PHPShop: Decodable, Equatable {
        struct Owner: Decodable, Equatable { var name: String }
        struct Style: Decodable, Equatable { var color: String? }

        var goods: EmptyIfMissing<[Int]> = .init(wrappedValue: [])
        var tags: [String]?
        var owner: Owner?
        var style: Style?
        var prices: [String: Int]?
    }

    @Test func `What PHP sends in the place of an empty object or a missing array is that`() throws {
        let decoder = JSONDecoder.lenient
        let text = Data(#"{"goods":"","tags":"","owner":[],"style":[],"prices":[]}"#.utf8)
        let report = DecodingReport()
        let shop = try DecodingReport.$current.withValue(report) { try decoder.decode(PHPShop.self, from: text) }
        #expect(shop == PHPShop(tags: nil, owner: nil, style: .init(color: nil), prices: [:]))
        guard case .decodedLeniently(let converted, _)? = report.event else {
            Issue.record("nothing is reported")
            return
        }
        #expect(converted == ["goods": 1, "tags": 1, "owner": 1, "style": 1, "prices": 1])
        let styles = try decoder.decode([PHPShop.Style].self, from: Data(#"[[],{"color":"red"}]"#.utf8))
        #expect(styles == [PHPShop.Style(color: nil), PHPShop.Style(color: "red")])
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(PHPShop.self, from: text) }
        let owners = try decoder.decode([String: PHPShop.Owner?].self, from: Data(#"{"a":[],"b":{"name":"c"}}"#.utf8))
        #expect(owners == ["a": nil, "b": PHPShop.Owner(name: "c")])
    }

    private struct Blank: Decodable, Equatable {
        enum Size: String, Decodable { case small }

        var count: Int?
        var byte: UInt8?
        var big: UInt128?
        var price: Double?
        var rate: Float?
        var total: Decimal?
        var isNew: Bool?
        var soldAt: Date?
        var picture: URL?
        var data: Data?
        var size: Size?
        var owner: PHPShop.Owner?
        var name: String?
    }

    @Test func `An empty text is a missing value of an optional type that has no empty one`() throws {
        let names = ["count", "byte", "big", "price", "rate", "total", "isNew", "soldAt", "picture", "size", "owner"]
        let members = (names + ["data", "name"]).map { #""\#($0)":"""# }.joined(separator: ",")
        let text = Data("{\(members)}".utf8)
        let report = DecodingReport()
        let blank = try DecodingReport.$current.withValue(report) {
            try JSONDecoder.lenient.decode(Blank.self, from: text)
        }
        #expect(blank == Blank(data: Data(), name: ""))
        guard case .decodedLeniently(let converted, _)? = report.event else {
            Issue.record("nothing is reported")
            return
        }
        #expect(converted == Dictionary(names.map { ($0, 1) }) { $1 })
        // A link may be relative.
        for name in names where name != "picture" {
            let others = Data("{\(members)}".replacing(#""\#(name)":"""#, with: #""\#(name)":" x""#).utf8)
            #expect(throws: DecodingError.self) { try JSONDecoder.lenient.decode(Blank.self, from: others) }
        }
    }

    @Test func `A type that reads arrays as well reads an empty one, and other optional types fail`() throws {
        enum Either: Decodable, Equatable {
            case object, list([Int])

            init(from decoder: any Decoder) throws {
                let isObject = (try? decoder.container(keyedBy: EnvelopeKey.self)) != nil
                self = isObject ? .object : .list(try [Int](from: decoder))
            }
        }
        struct Model: Decodable, Equatable {
            var either: Either?
            var date: Date?
        }
        let decoder = JSONDecoder.lenient
        #expect(try decoder.decode(Model.self, from: Data(#"{"either":[]}"#.utf8)) == Model(either: .list([])))
        #expect(throws: DecodingError.self) { try decoder.decode(Model.self, from: Data(#"{"date":[]}"#.utf8)) }
    }

    @Test(arguments: [
        #"{"goods":"1"}"#, #"{"goods":[],"tags":[[]]}"#, #"{"goods":[],"owner":[1]}"#,
        #"{"goods":[],"owner":"x"}"#, "[]",
    ])
    func `Other mismatches of arrays and objects fail`(_ text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder.lenient.decode(PHPShop.self, from: Data(text.utf8)) }
    }

    @Test(arguments: [#""a\ud83d""#, "1e400", #"{"x\udc00":1}"#])
    func `Damage is a mismatch where it is decoded, and nowhere else`(_ damaged: String) throws {
        struct Item: Decodable, Equatable {
            var id: Int
            var name: JSONValue?
        }
        let texts = [
            #"[{"id":"1","name":"a","other":\#(damaged)},{"id":2,"name":\#(damaged)},{"id":\#(damaged)},{"id":3}]"#,
            #"[{"id":"1","name":"a"},{"id":[\#(damaged)],"name":"b"},\#(damaged),{"id":3}]"#,
        ]
        let skipping = JSONDecoder.lenient(skippingBadElements: true)
        let exact = JSONDecoder.lenient(skippingBadElements: false)
        for text in texts {
            for encoding in [String.Encoding.utf8, .utf16, .utf16LittleEndian, .utf32BigEndian] {
                let body = try #require(text.data(using: encoding))
                #expect(try skipping.decode([Item].self, from: body) == [Item(id: 1, name: "a"), Item(id: 3)])
                #expect(throws: DecodingError.self) { try exact.decode([Item].self, from: body) }
            }
        }
    }

    @Test func `A number is the nearest of its type`() throws {
        try expectEqual([Float].self, "[1.0000000596046448, 0.1, 16777217, 3.4028234e38, 1e-45, -0.0, 0]")
        for text in ["[1e-46]", "[-3.12e-182]", "[3.5e38]"] {
            #expect(throws: DecodingError.self) { try JSONDecoder.lenient.decode([Float].self, from: Data(text.utf8)) }
        }
        let lenient = JSONDecoder.lenient
        lenient.dateDecodingStrategy = .deferredToDate
        let dates = try lenient.decode([Date].self, from: Data(#"[147897614.25,"147897614.25"]"#.utf8))
        #expect(dates == Array(repeating: Date(timeIntervalSinceReferenceDate: 147_897_614.25), count: 2))
    }

    @Test func `Two members that have one name when it is converted are refused`() throws {
        struct Shop: Decodable { let shopName: String }
        let decoder = JSONDecoder.lenient(skippingBadElements: false)
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        #expect(throws: DecodingError.self) {
            try decoder.decode(Shop.self, from: Data(#"{"shop_name":"a","shopName":"b"}"#.utf8))
        }
        let harmless = #"[{"shop_name":"a","shopName":"a"},{"shop_name":"b","goods_id":1,"goodsId":2}]"#
        #expect(try decoder.decode([Shop].self, from: Data(harmless.utf8)).map(\.shopName) == ["a", "b"])
        // Not one of the bad elements of a list, which would be empty without a word.
        let skipping = JSONDecoder.lenient(skippingBadElements: true)
        skipping.keyDecodingStrategy = .convertFromSnakeCase
        #expect(throws: DecodingError.self) {
            try skipping.decode([Shop].self, from: Data(#"[{"shop_name":"a","shopName":"b"}]"#.utf8))
        }
    }

    @Test func `The names of a dictionary whose keys are no strings are converted, as by an exact decoder`() throws {
        enum Field: String, Decodable, CodingKeyRepresentable { case shopName }
        try expectEqual([Field: Int].self, #"{"shop_name":1}"#) { $0.keyDecodingStrategy = .convertFromSnakeCase }
    }

    @Test func `A type may decode others from its own decoder`() throws {
        struct Shop: Decodable {
            let raw: [String: String]
            let shopName: String

            private enum CodingKeys: CodingKey { case shopName }

            init(from decoder: any Decoder) throws {
                raw = try decoder.singleValueContainer().decode([String: String].self)
                shopName = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .shopName)
            }
        }
        let decoder = JSONDecoder.lenient(skippingBadElements: false)
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let shop = try decoder.decode(Shop.self, from: Data(#"{"shop_name":"a"}"#.utf8))
        #expect(shop.raw == ["shop_name": "a"] && shop.shopName == "a")
    }

    @Test(arguments: [
        ("1", true), (#""1""#, true), (#""true""#, true), ("0", false), (#""0""#, false), (#""false""#, false),
    ]) func `A Boolean is read from 1, 0 and their words`(_ json: String, _ flag: Bool) throws {
        let read = try JSONDecoder.lenient.decode([String: Bool].self, from: Data(#"{"a":\#(json)}"#.utf8))
        #expect(read == ["a": flag])
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([String: Bool].self, from: Data(#"{"a":\#(json)}"#.utf8))
        }
    }

    @Test(arguments: [
        (#""count":"""#, "count"), (#""count":"4x""#, "count"), (#""count":"0x10""#, "count"),
        (#""count":"1,234""#, "count"), (#""count":".""#, "count"), (#""count":"+""#, "count"),
        (#""count":"+-5""#, "count"), (#""count":"٥""#, "count"), (#""count":"5 6""#, "count"),
        (#""count":"1.5""#, "count"),
        (#""count":true"#, "count"), (#""price":"nan""#, "price"), (#""price":"\"1\"""#, "price"),
        (#""isNew":2"#, "isNew"),
        (#""isNew":"on""#, "isNew"), (#""text":true"#, "text"), (#""text":[1]"#, "text"), (#""size":"256""#, "size"),
        (#""size":300"#, "size"), (#""rate":1e39"#, "rate"), (#""kind":"8""#, "kind"),
        (#""sizes":["1","x"]"#, "sizes.Index 1"),
        (#""count":null"#, "count"),
    ]) func `What is neither fails, at its path`(_ json: String, _ path: String) throws {
        let error = #expect(throws: DecodingError.self) { try loose(json) }
        #expect(try #require(error).path == path)
    }

    // MARK: As an exact decoder

    private func decoders(_ change: (JSONDecoder) -> Void) -> (exact: JSONDecoder, lenient: JSONDecoder) {
        let decoders = (JSONDecoder(), JSONDecoder.lenient(skippingBadElements: false))
        decoders.0.dateDecodingStrategy = .iso8601
        change(decoders.0)
        change(decoders.1)
        return decoders
    }

    private func expectEqual<Value: Decodable & Equatable>(
        _ type: Value.Type,
        _ json: String,
        _ change: (JSONDecoder) -> Void = { _ in },
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let (exact, lenient) = decoders(change)
        let value = try exact.decode(type, from: Data(json.utf8))
        #expect(try lenient.decode(type, from: Data(json.utf8)) == value, sourceLocation: sourceLocation)
    }

    @Test func `An integer that a double could hold has the digits of its text`() throws {
        try expectEqual([UInt64].self, "[12345678901234567000, 9223372036854776000, 18446744073709550000]")
        try expectEqual([Double].self, "[12345678901234567000]")
        let lenient = JSONDecoder.lenient
        #expect(
            try lenient.decode([UInt64].self, from: Data(#"["12345678901234567000"]"#.utf8)) == [
                12_345_678_901_234_567_000
            ]
        )
        let long = try lenient.decode([UInt128].self, from: Data(#"["150000000000000000000000"]"#.utf8))
        #expect(long == [150_000_000_000_000_000_000_000])
        #expect(
            try lenient.decode([Int].self, from: Data("[1e15, 9007199254740993]".utf8)) == [
                1_000_000_000_000_000, 9_007_199_254_740_993,
            ]
        )
    }

    private struct Timed: Decodable, Equatable {
        let at: Date
        let dates: [Date?]
    }

    @Test func `Dates are read by each strategy`() throws {
        let iso = #"{"at":"2026-11-24T21:36:08Z","dates":["2026-11-24T21:36:08+01:00",null]}"#
        try expectEqual(Timed.self, iso)
        let numbers = #"{"at":1700000000.25,"dates":[0,null]}"#
        for strategy in [JSONDecoder.DateDecodingStrategy.deferredToDate, .secondsSince1970, .millisecondsSince1970] {
            try expectEqual(Timed.self, numbers) { $0.dateDecodingStrategy = strategy }
        }
        try expectEqual(Timed.self, #"{"at":"x","dates":["xyz"]}"#) { decoder in
            decoder.dateDecodingStrategy = .custom {
                let text = try $0.singleValueContainer().decode(String.self)
                return Date(timeIntervalSince1970: Double(text.count + $0.codingPath.count))
            }
        }
        let format = DateFormatter()
        (format.dateFormat, format.locale) = ("yyyyMMdd", Locale(identifier: "en_US_POSIX"))
        try expectEqual(Timed.self, #"{"at":"20261124","dates":["20261125"]}"#) {
            $0.dateDecodingStrategy = .formatted(format)
        }
        let lenient = JSONDecoder.lenient
        lenient.dateDecodingStrategy = .secondsSince1970
        #expect(try lenient.decode([Date].self, from: Data(#"["17"]"#.utf8)) == [Date(timeIntervalSince1970: 17)])
        let error = #expect(throws: DecodingError.self) {
            try JSONDecoder.lenient.decode([String: Date].self, from: Data(#"{"at":"yesterday"}"#.utf8))
        }
        #expect(error?.path == "at")
    }

    private struct Named: Decodable, Equatable {
        let shopName: String
        let _iconUrl_: [[String: Int]]
        let byID: [Int: Bool]
        let other: [String: Named]?
    }

    @Test func `Names are converted by each strategy, except for those of dictionaries`() throws {
        let snake = #"{"shop_name":"a","_icon_url_":[{"is_new":1}],"by_i_d":{"7":true},"other":{"a_b":NEXT}}"#
        let flat = snake.replacing("NEXT", with: #"{"shop_name":"b","_icon_url_":[],"byID":{}}"#)
        try expectEqual(Named.self, flat.replacing("by_i_d", with: "byID")) {
            $0.keyDecodingStrategy = .convertFromSnakeCase
        }
        for name in ["shop", "shopName", "shop__name", "__", "_shop", "SHOP_name_x", "icon_url_", "a_1_b"] {
            try expectEqual([String].self, name, names: .convertFromSnakeCase)
        }
        let custom = JSONDecoder.KeyDecodingStrategy.custom { path in
            Letter(stringValue: String(path.map(\.stringValue).joined(separator: "/").reversed()))
        }
        try expectEqual([String].self, "ab", names: custom)
    }

    private struct Letter: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// All names that a container has.
    private struct Names: Decodable, Equatable {
        let names: [String]

        init(from decoder: any Decoder) throws {
            names = try decoder.container(keyedBy: Letter.self).allKeys.map(\.stringValue)
        }
    }

    private func expectEqual(
        _ type: [String].Type,
        _ name: String,
        names strategy: JSONDecoder.KeyDecodingStrategy
    ) throws {
        try expectEqual([String: Names].self, #"{"a":{"\#(name)":1}}"#) { $0.keyDecodingStrategy = strategy }
    }

    private struct Various: Decodable, Equatable {
        let data: Data, link: URL, big: UInt64, huge: Int128, vast: UInt128, low: Int64, exact: Decimal, list: [Int8]
        let infinite: [Double], small: [Float], id: UUID, pair: [Int: String], none: Int?
    }

    private static let various = #"""
        {"data":"AQI=","link":"https://shop.test/a?b=c","big":18446744073709551615,
        "huge":-170141183460469231731687303715884105728,"vast":340282366920938463463374607431768211455,
        "low":-9223372036854775808,"exact":1234567890123456789012345678.25,"list":[1.0,-128,1e2],
        "infinite":["inf","-inf",0.1,1e300],"small":["inf",0.1,16777217],"id":"6F9619FF-8B86-D011-B42D-00C04FC964FF",
        "pair":{"1":"a"},"none":null}
        """#

    @Test func `Data, links and numbers of any size are exact`() throws {
        try expectEqual(Various.self, Self.various) {
            $0.nonConformingFloatDecodingStrategy = .convertFromString(
                positiveInfinity: "inf",
                negativeInfinity: "-inf",
                nan: "nan"
            )
        }
        try expectEqual([Data].self, "[[1,2],[]]") { $0.dataDecodingStrategy = .deferredToData }
        try expectEqual([Data].self, #"["ab"]"#) { decoder in
            decoder.dataDecodingStrategy = .custom { Data(try $0.singleValueContainer().decode(String.self).utf8) }
        }
        try expectEqual([String: JSONValue].self, #"{"a":["1",1,true,{"b":null}]}"#)
        let quoted = Self.various.replacing(/: ?(-?[0-9.]{5,})/) { #":"\#($0.1)""# }.replacing(#""inf""#, with: "0")
            .replacing(#""-inf""#, with: "0")
        let lenient = try JSONDecoder.lenient.decode(Various.self, from: Data(quoted.utf8))
        #expect((lenient.big, lenient.low) == (.max, .min) && (lenient.huge, lenient.vast) == (.min, .max))
        #expect(lenient.exact.description == "1234567890123456789012345678.25")
    }

    @Test func `JSON5, UTF-16 and text without outer braces are read as by an exact decoder`() throws {
        try expectEqual([String: Int].self, "{a:1,/* b */'b':+2}") { $0.allowsJSON5 = true }
        try expectEqual([String: Int].self, #""a":1"#) { $0.assumesTopLevelDictionary = true }
        let text = try #require(#"{"a":"1"}"#.data(using: .utf16))
        #expect(try JSONDecoder.lenient.decode([String: Int].self, from: text) == ["a": 1])
    }

    @Test(arguments: [Data(#""x\ud83d""#.utf8), Data("1e400".utf8), Data([0x22, 0xB2, 0xE8, 0x22])])
    func `What the type does not declare may be damaged, as for an exact decoder`(_ damaged: Data) throws {
        struct Refusal: Decodable { let errcode: Int }
        let text = Data(#"{"errcode":11010,"msg":"#.utf8) + damaged + Data("}".utf8)
        for decoder in [.lenient, .lenient(skippingBadElements: true), JSONDecoder()] {
            #expect(try decoder.decode(Refusal.self, from: text).errcode == 11_010)
        }
    }

    @Test(arguments: ["", "{", #"{"a":1"#, "nul", String(repeating: "[", count: 600), "[1e999]"])
    func `Malformed text is a decoding error`(_ text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder.lenient.decode(JSONValue.self, from: Data(text.utf8)) }
    }
}

extension DecodingError {
    /// The names to the value at which decoding stopped, with the missing one.
    var path: String {
        let keys: [any CodingKey] =
            switch self {
            case .keyNotFound(let key, let context): context.codingPath + [key]
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
                context.codingPath
            @unknown default: []
            }
        return keys.map(\.stringValue).joined(separator: ".")
    }
}

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
        #"{"part":{}}"#, #"{"part":{"id":null}}"#, #"{"part":{"id":[]}}"#, #"{"part":[1]}"#, #"{"parts":{}}"#, "[]",
        "null", "7",
        #"{"parts":[{"id":1},{"id":{}}]}"#, #"{"parts":[{"id":1},null]}"#, #"{"byName":{"x":{"id":false}}}"#,
        #"{"three":[1,2]}"#, #"{"link":{}}"#, #"{"data":"%"}"#, #"{"data":{}}"#,
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

@MainActor @Suite("Loads with a lenient decoder", .timeLimit(.minutes(10)))
struct LenientLoadTests {
    private let recorder = EventRecorder()

    private func value<Value: Decodable & Sendable>(
        _ json: String,
        _ serializer: ResponseSerializer<Value>? = nil,
        change: (inout APIService) -> Void = { $0.decoder = .lenient }
    ) async throws -> Value {
        let proxy = APIProxy(service: .sample(change), transport: ScriptedTransport { _ in .json(json) })
        proxy.monitors = [recorder]
        let serializer = serializer ?? ResponseSerializer<Value>.automatic
        return try await APIRequest<Value>("/g", responseSerializer: serializer, proxy: proxy).value()
    }

    /// What the events have of converted values and elements that were left out.
    private var reports: [(converted: [String: Int], skipped: [String])] {
        recorder.events.compactMap { event in
            guard case .decodedLeniently(let converted, let skipped) = event.kind else { return nil }
            return (converted, skipped)
        }
    }

    private let loose = #"{"errcode":200,"data":[{"id":"1","name":2},{"id":3,"name":"b"},{"id":"4","name":"c"}]}"#

    @Test func `A service converts values, and one event has how many`() async throws {
        let goods: [Goods] = try await value(loose)
        #expect(goods == [Goods(id: 1, name: "2"), Goods(id: 3, name: "b"), Goods(id: 4, name: "c")])
        #expect(reports.map(\.converted) == [["data[].id": 2, "data[].name": 1]])
        #expect(reports.map(\.skipped) == [[]])
        #expect(recorder.steps() == ["began", "started", "made", "responded 200", "lenient", "success"])
        #expect(recorder.violations.isEmpty)
    }

    @Test func `Nothing is converted by default, and nothing is reported without need`() async throws {
        let error = await #expect(throws: APIError.self) { let _: [Goods] = try await value(loose) { _ in } }
        #expect(error?.type == .decoding)
        let exact = #"{"errcode":200,"data":[{"id":1,"name":"a"}]}"#
        let goods: [Goods] = try await value(exact)
        #expect(goods.count == 1 && reports.isEmpty)
    }

    @Test func `One request leaves out bad elements, and the event has their places without values`() async throws {
        let json = #"{"errcode":200,"data":[{"id":1,"name":"a"},{"id":"s3cret","name":"b"},{"id":2},7]}"#
        let goods: [Goods] = try await value(json, .decoded(by: .lenient(skippingBadElements: true))) { _ in }
        #expect(goods.map(\.id) == [1])
        #expect(reports.map(\.skipped) == [["data.[1].id is no Int", "no data.[2].name", "data.[3] is no object"]])
        #expect(reports.map(\.converted) == [[:]])
        let event = try #require(recorder.events.first { if case .decodedLeniently = $0.kind { true } else { false } })
        #expect(event.kind.description == "decoded leniently, 0 values converted, 3 elements skipped")
        #expect(!"\(event) \(event.kind)".contains("s3cret"))
    }

    @Test func `The names of a dictionary, which are the server's, are not reported`() async throws {
        let codes: [String: Int] = try await value(#"{"errcode":200,"data":{"s3cret":"1","other":"2"}}"#)
        #expect(codes == ["s3cret": 1, "other": 2])
        #expect(reports.map(\.converted) == [["data.*": 2]])
    }

    @Test func `A whole response is converted`() async throws {
        #expect(try await value(#"{"errcode":200,"data":"7"}"#) == 7)
        let whole: Int = try await value(#""8""#) { ($0.decoder, $0.envelope) = (.lenient, nil) }
        #expect(whole == 8)
        #expect(reports.map(\.converted) == [["data": 1], ["the response": 1]])
    }

    @Test func `An empty text is a missing array as the whole data, too`() async throws {
        let array: [Int]? = try await value(#"{"errcode":200,"data":""}"#)
        #expect(array == nil)
        #expect(reports.map(\.converted) == [["data": 1]])
        let nested = try JSONDecoder.lenient.decode([[Int]?].self, from: Data(#"["",[1]]"#.utf8))
        #expect(nested == [nil, [1]])
        #expect(
            try JSONDecoder.lenient.decode([[String: Int?]?].self, from: Data(#"["",{"a":""}]"#.utf8)) == [
                nil, ["a": nil],
            ]
        )
        for type in [[[Int]].self, [Int].self, [[String: Int]].self] as [any Decodable.Type] {
            #expect(throws: DecodingError.self) { _ = try JSONDecoder.lenient.decode(type, from: Data(#"[""]"#.utf8)) }
        }
    }

    @Test func `Code and message of an envelope are not converted`() async throws {
        #expect(try await value(#"{"errcode":"200","msg":5,"data":7}"#) == 7)
        for code in [#""0200""#, #""2e2""#, "true", #""true""#] {
            let error = await #expect(throws: APIError.self) {
                let _: Int = try await value(#"{"errcode":\#(code),"msg":5,"data":7}"#)
            }
            #expect(error?.type == .server && error?.message != "5")
        }
        #expect(reports.isEmpty)
    }

    @Test func `JSON of unknown shape, text and data are as they were sent`() async throws {
        let json = #"{"errcode":200,"data":{"a":"1","b":[1,true]}}"#
        let tree: JSONValue = try await value(json)
        #expect(tree == ["a": "1", "b": [1, true]])
        let data: Data = try await value(json)
        #expect(data == Data(json.utf8))
        #expect(try await value(#"{"errcode":200,"data":"1"}"#) == "1")
        #expect(reports.isEmpty)
    }

    @Test func `Data adapters find the data of a lenient decoder`() async throws {
        let goods: [Goods] = try await value(#"{"errcode":200,"the_data":[{"id":"1","name":"a"}]}"#) { service in
            service.decoder = .lenient
            service.decoder.keyDecodingStrategy = .convertFromSnakeCase
            service.envelope?.dataKey = "theData"
            service.adapters.data = [Adapter { data, _ in data = Data(#"[{"id":"1","name":"b"}]"#.utf8) }]
        }
        #expect(goods == [Goods(id: 1, name: "b")])
        #expect(reports.map(\.converted) == [["theData[].id": 1]])
    }

    @Test func `Loads that are decoded at once have separate reports`() async throws {
        let transport = ScriptedTransport { request in
            let count = Int(request.url.lastPathComponent) ?? 0
            let goods = Array(repeating: #"{"id":"1","name":"a"}"#, count: count).joined(separator: ",")
            return .json(#"{"errcode":200,"data":[\#(goods)]}"#)
        }
        let proxy = APIProxy(service: .sample { $0.decoder = .lenient }, transport: transport)
        proxy.monitors = [recorder]
        let requests = (1...50).map { APIRequest<[Goods]>("/\($0)", proxy: proxy) }
        let loads = requests.map { request in Task { try await request.value().count } }
        var count = 0
        for load in loads { count += try await load.value }
        #expect(count == 50 * 51 / 2)
        #expect(Set(reports.map(\.converted)) == Set((1...50).map { ["data[].id": $0] }))
        #expect(reports.count == 50 && recorder.violations.isEmpty)
        for event in recorder.events {
            guard case .decodedLeniently(let converted, _) = event.kind else { continue }
            #expect(event.path == "/\(converted["data[].id"] ?? 0)")
        }
    }
}
