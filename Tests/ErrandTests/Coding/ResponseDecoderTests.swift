import ErrandTesting
import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("An app brings the decoder of its responses", .timeLimit(.minutes(10)))
struct ResponseDecoderTests {
    /// A format of the app: the names and values of an object, one pair to a line.
    private struct LineDecoder: ResponseDecoder {
        struct Unreadable: Error {}

        /// The `Content-Type` of the format; `nil` for any.
        var type: String?

        func canDecode(_ response: APIResponse) -> Bool { type == nil || response.headers["Content-Type"] == type }

        func decode<Value: Decodable>(_ type: Value.Type, from body: Data) throws -> Value {
            let lines = String(decoding: body, as: UTF8.self).split(separator: "\n").map { $0.split(separator: "=") }
            guard lines.allSatisfy({ $0.count == 2 }) else { throw Unreadable() }
            let object = Dictionary(lines.map { (String($0[0]), String($0[1])) }) { $1 }
            return try JSONDecoder().decode(type, from: JSONEncoder().encode(object))
        }
    }

    private func plist(_ object: [String: Any], status: Int = 200) throws -> HTTPResponse {
        let body = try PropertyListSerialization.data(fromPropertyList: object, format: .binary, options: 0)
        return HTTPResponse(status: status, headers: ["Content-Type": "application/x-plist"], body: body)
    }

    private func value<Value: Decodable & Sendable>(
        _ response: HTTPResponse,
        change: (inout APIService) -> Void = { $0.customDecoder = PropertyListDecoder() }
    ) async throws -> Value {
        try await value(response, .automatic, change: change)
    }

    private func value<Value: Sendable>(
        _ response: HTTPResponse,
        _ serializer: ResponseSerializer<Value>,
        change: (inout APIService) -> Void = { $0.customDecoder = PropertyListDecoder() }
    ) async throws -> Value {
        let proxy = APIProxy(service: .sample(change), transport: ScriptedTransport { _ in response })
        return try await APIRequest<Value>("/g", responseSerializer: serializer, proxy: proxy).value()
    }

    private let goods: [String: Any] = ["errcode": 200, "msg": "ok", "data": [["id": 1, "name": "pen"]]]
    private let failure: [String: Any] = ["errcode": 5001, "msg": "sold out"]

    @Test func `A property list is decoded in its envelope`() async throws {
        let goods: [Goods] = try await value(plist(goods))
        #expect(goods == [Goods(id: 1, name: "pen")])
        let whole: [String: Int] = try await value(plist(["a": 1])) {
            ($0.customDecoder, $0.envelope) = (PropertyListDecoder(), nil)
        }
        #expect(whole == ["a": 1])
        let json: JSONValue = try await value(plist(self.goods))
        #expect(json[0]?["name"] == "pen")
    }

    @Test func `A failure in the envelope of a property list ends the load, whatever its response`() async throws {
        for status in [200, 422] {
            let response = try plist(failure, status: status)
            let errors = [
                await #expect(throws: APIError.self) { let _: [Goods] = try await value(response) },
                await #expect(throws: APIError.self) { let _: Void = try await value(response, .nothing) },
                await #expect(throws: APIError.self) { let _: Data = try await value(response) },
                await #expect(throws: APIError.self) { let _: String = try await value(response) },
            ]
            for error in errors {
                #expect(error?.type == (status == 200 ? .server : .http) && error?.code == 5001)
                #expect(error?.message == "sold out")
            }
        }
    }

    @Test func `One request uses another decoder than its service`() async throws {
        let goods = try await value(plist(goods), ResponseSerializer<[Goods]>.decoded(by: PropertyListDecoder())) { _ in
        }
        #expect(goods == [Goods(id: 1, name: "pen")])
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        struct Item: Decodable, Sendable { let itemID: Int? }
        let json = HTTPResponse.json(#"{"errcode":200,"data":{"item_i_d":1}}"#)
        #expect(try await value(json, ResponseSerializer<Item>.decoded(by: decoder)) { _ in }.itemID == 1)
    }

    @Test func `The decoder of a request reads the failure of a refused status`() async throws {
        let serializer = ResponseSerializer<[Goods]>.decoded(by: PropertyListDecoder())
        let json = Data(#"{"errcode":5001,"msg":"sold out"}"#.utf8)
        let responses = [
            try plist(failure, status: 422),
            HTTPResponse(status: 422, headers: ["Content-Type": "application/json"], body: json),
        ]
        for response in responses {
            let errors = [
                await #expect(throws: APIError.self) { try await value(response, serializer) { _ in } },
                await #expect(throws: APIError.self) { try await value(response, serializer.map(\.count)) { _ in } },
                await #expect(throws: APIError.self) {
                    try await value(response, ResponseSerializer<Void>.nothing.combined(with: serializer)) { _ in }
                },
            ]
            for error in errors {
                #expect(error?.type == .http && error?.code == 5001 && error?.message == "sold out")
            }
        }
    }

    @Test func `A decoder of the app's own reads envelopes, and its errors are decoding failures`() async throws {
        struct Receipt: Decodable, Sendable, Equatable { let total: String }
        var envelope = Envelope()
        (envelope.dataKey, envelope.successCodes) = (nil, ["200"])
        let service = { @Sendable [envelope] (service: inout APIService) in
            (service.customDecoder, service.envelope) = (LineDecoder(), envelope)
        }
        let response = HTTPResponse(status: 200, body: Data("errcode=200\nmsg=ok\ntotal=7".utf8))
        let receipt: Receipt = try await value(response, change: service)
        #expect(receipt == Receipt(total: "7"))
        let wrong = HTTPResponse(status: 200, body: Data("s3cret".utf8))
        let error = await #expect(throws: APIError.self) { let _: Receipt = try await value(wrong, change: service) }
        #expect(error?.type == .decoding && error?.underlying is LineDecoder.Unreadable)
        #expect("\(String(describing: error))".contains("s3cret") == false)
    }

    @Test func `Only a response that the app's decoder can decode is examined for a failure`() async throws {
        for (type, isExamined) in [("text/lines", true), ("text/plain", false)] {
            let body = Data("errcode=5001\nmsg=sold out".utf8)
            let response = HTTPResponse(status: 200, headers: ["Content-Type": type], body: body)
            var envelope = Envelope()
            envelope.successCodes = ["200"]
            let service = { @Sendable [envelope] (service: inout APIService) in
                (service.customDecoder, service.envelope) = (LineDecoder(type: "text/lines"), envelope)
            }
            do {
                let text: String = try await value(response, change: service)
                #expect(!isExamined && text.contains("sold out"))
            } catch {
                #expect(isExamined && (error as? APIError)?.type == .server)
            }
        }
    }

    @Test func `A response in another format is named by its type`() async throws {
        let page = HTTPResponse(status: 200, headers: ["Content-Type": "text/html"], body: Data("<html>".utf8))
        let error = await #expect(throws: APIError.self) { let _: [Goods] = try await value(page) }
        #expect(error?.type == .decoding)
        #expect(error?.reason == "the response is not in the format of PropertyListDecoder (text/html)")
    }

    @Test func `An optional is nil for a response without content`() async throws {
        let nothing: [Goods]? = try await value(HTTPResponse(status: 204))
        #expect(nothing == nil)
    }
}
