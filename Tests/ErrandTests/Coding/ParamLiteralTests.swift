import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Parameters are literals of any shape, or values of unknown type", .timeLimit(.minutes(10)))
struct ParamLiteralTests {
    private func json(_ params: APIParams) throws -> String {
        String(decoding: try params.json(with: APIService.sample().encoder), as: UTF8.self)
    }

    private func query(_ params: APIParams) throws -> String {
        let pairs = try FormEncoding.pairs(of: params.tree(with: APIService.sample().encoder))
        return pairs.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    }

    @Test func `Objects in a literal may be nested, mixed and nil`() throws {
        let (id, name, none) = (7, String?("tea"), Int?.none)
        let params: APIParams = [
            "f": ["a": id, "b": name, "c": nil, "d": none, "e": ["x": true] as APIParams] as APIParams,
            "l": [1, "a", nil, [2.5], ["k": false]] as JSONValue, "n": nil, "o": none, "p": name,
        ]
        let expected = #"{"f":{"a":7,"b":"tea","c":null,"d":null,"e":{"x":true}},"l":[1,"a",null,[2.5],{"k":false}],"#
        #expect(try json(params) == expected + #""n":null,"o":null,"p":"tea"}"#)
        #expect(try query(params) == "f[a]=7&f[b]=tea&f[e][x]=true&l[]=1&l[]=a&l[][]=2.5&l[][k]=false&p=tea")
    }

    @Test func `Parameters in others are encoded by the strategies of the service`() throws {
        struct Filter: Encodable { var since = Date(timeIntervalSince1970: 0) }
        let since = Date(timeIntervalSince1970: 0)
        let date = #"{"f":{"since":"1970-01-01T00:00:00Z"}}"#
        #expect(try json(["f": ["since": since] as APIParams]) == date)
        #expect(try json(["f": APIParams(encoding: Filter())]) == date)
        #expect(try json(["f": (["since": 1] as APIParams).merging(["since": since])]) == date)
    }

    @Test func `An object that was merged with others cannot be in others`() {
        let merged = APIParams(encoding: ["a": 1]).merging(["b": 2])
        let error = #expect(throws: APIError.self) { try json(["f": merged]) }
        #expect(error?.type == .invalidRequest)
    }

    @Test func `A value that cannot be encoded is refused with its name`() {
        let price: APIParams = ["item": ["price": Double.nan] as APIParams]
        let error = #expect(throws: APIError.self) { try json(price) }
        #expect(error?.type == .invalidRequest)
        #expect(error?.reason == "the parameter item.price cannot be encoded")
        let balances: APIParams = ["balances": ["anna@example.org": [Double.nan]] as [String: [Double]]]
        let hidden = "the parameter balances.<redacted 16 bytes>[0] cannot be encoded"
        #expect(#expect(throws: APIError.self) { try json(balances) }?.reason == hidden)
    }

    @Test func `A name of an unknown object that may be a secret is not in the error`() {
        let object: [String: Any] = ["users": ["anna@example.org": [NSObject()]] as [String: Any]]
        let error = #expect(throws: APIError.self) { try APIParams(jsonObject: object) }
        #expect(error?.reason?.hasPrefix("the parameter users.<redacted 16 bytes>[0] is a ") == true)
    }

    @Test func `JSON of unknown shape is written as a literal`() throws {
        let name = "tea"
        let value: JSONValue = [
            "n": nil, "b": true, "i": -1, "d": 0.5, "e": 2.0, "s": "a \(name)", "a": [1, "x", [:], []],
        ]
        let text = #"{"n":null,"b":true,"i":-1,"d":0.5,"e":2.0,"s":"a tea","a":[1,"x",{},[]]}"#
        #expect(value == (try JSONValue(json: Data(text.utf8))))
        #expect(["a": 1, "a": 2] as JSONValue == ["a": 2])
        let params = APIParams(encoding: ["f": ["a": 1, "b": "x", "c": nil]] as JSONValue)
        #expect(try json(params) == #"{"f":{"a":1,"b":"x","c":null}}"#)
    }

    @Test func `Values of unknown type are the parameters of a literal`() throws {
        let values: [String: Any] = [
            "s": "x", "b": true, "i": 1, "u": UInt64.max, "d": 0.5, "f": Float(1.5), "n": NSNull(),
            "o": Int?.none as Any, "p": Optional("x") as Any, "date": Date(timeIntervalSince1970: 0),
            "url": URL("http://a.test/x"),
            "m": ["a": [1, "x", ["k": Int8(2)]] as [Any]] as [String: Any], "l": [1, 2],
            "j": ["k": 1] as JSONValue, "q": ["k": nil] as APIParams,
        ]
        let expected =
            #"{"b":true,"d":0.5,"date":"1970-01-01T00:00:00Z","f":1.5,"i":1,"j":{"k":1},"l":[1,2],"#
            + #""m":{"a":[1,"x",{"k":2}]},"n":null,"o":null,"p":"x","q":{"k":null},"s":"x","#
            + #""u":18446744073709551615,"url":"http://a.test/x"}"#
        #expect(try json(APIParams(jsonObject: values)) == expected)
    }

    @Test func `What JSONSerialization reads is sent without change`() throws {
        let text = #"{"a":[true,false,0,1,-1,2.5,null,"x"],"b":{"c":9007199254740993}}"#
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8))
        #expect(try json(APIParams(jsonObject: #require(object as? [String: Any]))) == text)
    }

    @Test func `A value that JSON cannot represent is refused with its name and type`() {
        let refused: [(values: [String: Any], reason: String)] = [
            (["f": ["tags": [1, ["x": Sample()]] as [Any]]], "f.tags[1].x is a Sample"),
            (["k": [1: 2]], "k is a Dictionary<Int, Int>"), (["k": NSNumber(value: Double.nan)], "k is a "),
        ]
        for (values, reason) in refused {
            let error = #expect(throws: APIError.self) { try APIParams(jsonObject: values) }
            #expect(error?.type == .invalidRequest)
            #expect(error?.reason?.contains("the parameter \(reason)") == true, "\(error?.reason ?? "")")
            #expect(error?.reason?.contains("s3cret") == false)
        }
    }

    @Test func `Parameters that are nested too deep are refused`() {
        var value: Any = 1
        for _ in 0..<600 { value = [value] }
        #expect(throws: APIError.self) { try APIParams(jsonObject: ["a": value]) }
    }

    private struct Sample: Sendable { let secret = "s3cret" }
}
