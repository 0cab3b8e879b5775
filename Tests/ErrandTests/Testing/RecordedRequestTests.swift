import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("What a recorded request contains, decoded", .timeLimit(.minutes(10)))
struct RecordedRequestTests {
    private struct Visit: Codable, Equatable, Sendable {
        let at: Date
        let shopName: String
    }

    private nonisolated static let texts = [
        "", " ", "+", "%", "%2", "%41", "a=b", "=", "&a=1&", "a&b = ü+c", "e\u{301}", "=\u{301}", "\u{0}\r\n", "🛒",
        "[]", "\"",
    ]

    /// Returns the request that a load with these parameters sends.
    private func sent(
        _ params: APIParams?,
        _ method: HTTPMethod = .post,
        as serializer: RequestSerializer = .json
    ) async throws -> HTTPRequest {
        let network = ScriptedTransport { _ in .json(goodsJSON([])) }
        let request = GoodsRequest(proxy: APIProxy(fake: network))
        (request.method, request.customSerializer) = (method, serializer)
        _ = try await request.value(params: .given(params))
        return try #require(network.requests.last)
    }

    private func reason(_ read: () throws -> Any) -> String? {
        do {
            _ = try read()
        } catch DecodingError.dataCorrupted(let context) {
            return context.debugDescription
        } catch {
            return "\(type(of: error))"
        }
        return nil
    }

    @Test(arguments: texts)
    func `JSON, forms and queries have the names and values that the load was given`(_ text: String) async throws {
        let params: APIParams = [text: text, "tags": [text, "b"], "on": true, "none": nil]
        let json: JSONValue = [text: .string(text), "tags": [.string(text), "b"], "on": true, "none": nil]
        #expect(try await sent(params).json == json)
        let pairs = [text: [text], "tags[]": [text, "b"], "on": ["true"]]
        #expect(try await sent(params, as: .form).form == pairs)
        #expect(try await sent(params, .get).query == pairs)
    }

    @Test func `JSON is decoded as a type, with ISO 8601 dates or by another decoder`() async throws {
        let visit = Visit(at: Date(timeIntervalSince1970: 1_700_000_000), shopName: "a")
        #expect(try await sent(APIParams(encoding: visit)).json(as: Visit.self) == visit)
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let params: APIParams = ["at": "2023-11-14T22:13:20Z", "shop_name": "a"]
        #expect(try await sent(params).json(as: Visit.self, decoder: decoder) == visit)
        let other = try await sent(["at": 7])
        #expect(throws: DecodingError.self) { try other.json(as: Visit.self) }
    }

    @Test func `The path and the query keep their parts apart`() async throws {
        let split = try await sent(["page": 2, "text": "tea"], as: .json.placing(.split(query: ["page"])))
        #expect(split.query == ["page": ["2"]])
        #expect(try split.json == ["text": "tea"])
        let query = HTTPRequest(.get, URL("http://shop.test/?a=1&b&a=2&=3&&")).query
        #expect(query == ["a": ["1", "2"], "b": [""], "": ["3"]])
        #expect(HTTPRequest(.get, URL("http://shop.test/")).query.isEmpty)
    }

    @Test func `What cannot be read is an error that names the reason`() async throws {
        let (form, json) = (try await sent(["a": 1], as: .form), try await sent(["a": 1]))
        #expect(
            reason { try form.json } == "the body is not JSON; its Content-Type is application/x-www-form-urlencoded"
        )
        #expect(reason { try json.form } == "the body is not a form; its Content-Type is application/json")
        let nothing = try await sent(nil, .get)
        #expect(reason { try nothing.json } == "the request has no body; parameters of a GET are in its query")
        #expect(reason { try nothing.form } == reason { try nothing.json })
        #expect(reason { try nothing.json(as: Visit.self) } == reason { try nothing.json })
        var file = json
        file.body = .file(URL(filePath: "/s3cret"))
        #expect(reason { try file.json } == "the body is a file or a stream, or has one as a part")
        var secret = json
        secret.headers["Content-Type"] = "text/plain; token=s3cret"
        #expect(reason { try secret.form }?.contains("s3cret") == false)
        secret.headers.remove("Content-Type")
        #expect(reason { try secret.form } == "the body is not a form; it has no Content-Type")
        secret.body = .data(Data(#"{"s3cret":s3cret}"#.utf8))
        #expect(reason { try secret.json }?.contains("s3cret") == false)
    }
}
