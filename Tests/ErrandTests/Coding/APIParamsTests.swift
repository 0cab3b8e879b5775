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
        let names: [String: String] = ["a": "b"]
        #expect(APIParams(names)["a"] as? String == "b")
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
