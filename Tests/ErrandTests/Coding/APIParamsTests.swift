import ErrandTesting
import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Parameters are a literal or an object, and can be joined", .timeLimit(.minutes(10)))
struct APIParamsTests {
    struct Filter: Encodable {
        var category = 7
        var name = "tea"
    }

    private func json(_ params: APIParams) throws -> String {
        String(decoding: try params.json(with: APIService.sample().encoder), as: UTF8.self)
    }

    @Test func `A literal and an object are JSON objects with sorted names`() throws {
        #expect(try json(["b": 1, "a": "x"]) == #"{"a":"x","b":1}"#)
        #expect(try json(APIParams(encoding: Filter())) == #"{"category":7,"name":"tea"}"#)
        #expect(try json([:]) == "{}")
    }

    @Test func `Of a name that is given twice the later value counts`() throws {
        #expect(try json(["a": 1, "a": 2]) == #"{"a":2}"#)
        #expect(try json(APIParams(["a": 1]).merging(["a": 3])) == #"{"a":3}"#)
        #expect(try json(APIParams(encoding: Filter()).merging(["name": "milk"])) == #"{"category":7,"name":"milk"}"#)
    }

    @Test func `A value set by name wins, and nil removes a parameter, also an object's`() throws {
        var params = APIParams(encoding: Filter())
        params["page"] = 2
        params["category"] = 8
        #expect(params["page"] as? Int == 2)
        #expect(try json(params) == #"{"category":8,"name":"tea","page":2}"#)
        params["category"] = nil
        #expect(try json(params) == #"{"name":"tea","page":2}"#)
        params["category"] = 9
        #expect(try json(params) == #"{"category":9,"name":"tea","page":2}"#)
        (params["page"], params["category"], params["name"]) = (nil, nil, nil)
        #expect(try json(params) == "{}")
        var numbers = APIParams(encoding: [1, 2])
        numbers["page"] = nil
        #expect(try json(numbers) == "[1,2]", "what has no names is unchanged")
        let names: [String: String] = ["a": "b"]
        #expect(APIParams(names)["a"] as? String == "b")
    }

    @Test func `Members of an object can be read by name`() throws {
        struct Card: Encodable {
            var number = "1234"
            var limit = 500
            var day = Date(timeIntervalSince1970: 0)
            var owner: String?
        }
        var params = APIParams(encoding: Card()).merging(["page": 2])
        #expect(params["number"] as? String == "1234")
        #expect(params["limit"] as? JSONValue == 500)
        #expect(params["day"] as? String == "1970-01-01T00:00:00Z")
        #expect(params["owner"] == nil && params["none"] == nil && params["page"] as? Int == 2)
        params["number"] = (params["number"] as? String).map { String($0.reversed()) }
        params["limit"] = nil
        #expect(params["number"] as? String == "4321" && params["limit"] == nil)
        #expect(try json(params) == #"{"day":"1970-01-01T00:00:00Z","number":"4321","page":2}"#)
        #expect(APIParams(encoding: [1, 2])["0"] == nil)
    }

    @MainActor @Test(arguments: [HTTPMethod.post, .get])
    func `A member that is replaced has the name with which the encoder writes it`(_ method: HTTPMethod) async throws {
        struct Account: Encodable {
            var loginPassword = "secret"
            var passwordAgain = "secret"
            var limit = Double.infinity
            var userID: Int?
        }
        let service = APIService.sample {
            $0.encoder.keyEncodingStrategy = .convertToSnakeCase
            $0.encoder.nonConformingFloatEncodingStrategy =
                .convertToString(positiveInfinity: "all", negativeInfinity: "none", nan: "?")
        }
        var params = APIParams(encoding: Account())
        params["loginPassword"] = (params["loginPassword"] as? String).map { String($0.reversed()) }
        params["passwordAgain"] = nil
        params["userID"] = 5
        params["shopName"] = "a"
        #expect(params["limit"] as? String == "inf")
        let network = ScriptedTransport { _ in try .envelope() }
        let request = NothingRequest(proxy: APIProxy(fake: network, service: service))
        request.method = method
        try await request.value(params: .given(params))
        let sent: JSONValue = ["login_password": "terces", "limit": "all", "user_id": 5, "shop_name": "a"]
        if method == .post {
            #expect(try network.requests[0].json == sent)
        } else {
            let query = ["login_password": ["terces"], "limit": ["all"], "user_id": ["5"], "shop_name": ["a"]]
            #expect(network.requests[0].query == query)
        }
        for _ in 0..<20 {
            params["userID"] = nil
            let merged = params.merging(["userID": 1, "user_id": 2])
            #expect(try merged.tree(with: service.encoder)["user_id"] == 2)
        }
        var dictionary = APIParams(encoding: ["userID": 1, "user_id": 2])
        dictionary["userID"] = 3
        #expect(try dictionary.tree(with: service.encoder) == ["userID": 3, "user_id": 2])
    }

    @MainActor @Test func `An adapter of parameters reads, changes and encodes those of an object`() async throws {
        let texts = Lock<[String]>([])
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let service = APIService.sample {
            $0.encoder.keyEncodingStrategy = .convertToSnakeCase
            $0.commonParams = { ["appVersion": "9"] }
            $0.adapters.params = [
                Adapter { params, _ in
                    let encoder = JSONEncoder()
                    encoder.outputFormatting = .sortedKeys
                    let text = String(decoding: try encoder.encode(params), as: UTF8.self)
                    texts.withLock { $0.append(text) }
                    let name = params?["first_name"] as? String
                    params?["first_name"] = name?.uppercased()
                }
            ]
        }
        struct Person: Encodable { var (firstName, id) = ("ada", UInt64.max) }
        let request = GoodsRequest(proxy: APIProxy(fake: transport, service: service))
        request.method = .post
        _ = try await request.value(params: .given(APIParams(encoding: Person())))
        #expect(texts.withLock(\.self) == [#"{"appVersion":"9","first_name":"ada","id":18446744073709551615}"#])
        let body = try transport.requests.first?.bodyData
        #expect(body == Data(#"{"appVersion":"9","first_name":"ADA","id":18446744073709551615}"#.utf8))
    }

    @Test func `A nil is null in a body`() throws {
        #expect(try json(["a": Int?.none]) == #"{"a":null}"#)
    }

    @Test func `The encoder's strategies hold inside a literal`() throws {
        let day = Date(timeIntervalSince1970: 86_400)
        #expect(try json(["day": day, "raw": Data([1, 2])]) == #"{"day":"1970-01-02T00:00:00Z","raw":"AQI="}"#)
    }

    @MainActor @Test(arguments: [HTTPMethod.post, .get])
    func `The encoder's strategies for names and dates hold for objects, and names of a literal remain`(
        _ method: HTTPMethod
    ) async throws {
        struct Draft: Encodable {
            let goodsID: Int
            let deliveryDate: Date
        }
        let service = APIService.sample {
            $0.encoder.keyEncodingStrategy = .convertToSnakeCase
            $0.encoder.dateEncodingStrategy = .secondsSince1970
        }
        let network = ScriptedTransport { _ in try .envelope() }
        let request = NothingRequest(proxy: APIProxy(fake: network, service: service))
        request.method = method
        let draft = Draft(goodsID: 7, deliveryDate: Date(timeIntervalSince1970: 86_400))
        try await request.value(params: .given(APIParams(encoding: draft).merging(["shopName": "a"])))
        try await request.value(params: ["myDraft": draft])
        if method == .post {
            let merged: JSONValue = ["delivery_date": 86_400, "goods_id": 7, "shopName": "a"]
            #expect(try network.requests[0].json == merged)
            #expect(try network.requests[1].json == ["myDraft": ["delivery_date": 86_400, "goods_id": 7]])
        } else {
            let merged = ["delivery_date": ["86400"], "goods_id": ["7"], "shopName": ["a"]]
            #expect(network.requests[0].query == merged)
            #expect(network.requests[1].query == ["myDraft[delivery_date]": ["86400"], "myDraft[goods_id]": ["7"]])
        }
    }
}

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
        #expect(try query(params) == "f[a]=7&f[b]=tea&f[e][x]=true&l[]=1&l[]=a&l[2][]=2.5&l[3][k]=false&p=tea")
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
        #expect(
            #expect(throws: APIError.self) { try json(["price": Decimal.nan]) }?.reason
                == "the parameter price cannot be encoded"
        )
        struct Price: Encodable { let price: Decimal }
        for params in [
            ["prices": [Decimal.nan]], ["item": Price(price: .nan)], APIParams(encoding: Price(price: .nan)),
            ["price": JSONValue.decimal(.nan)],
        ] as [APIParams] {
            #expect(#expect(throws: APIError.self) { try json(params) }?.type == .invalidRequest)
        }
        #expect(throws: Never.self) { try json(["name": "NaN"]) }
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
