import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("JSON of unknown shape costs no more than other JSON", .limitedConcurrency, .timeLimit(.minutes(10)))
struct JSONTimeTests {
    /// The allowed multiple of the time of `JSONSerialization`, which is optimized, while these sources may not be.
    private static let limit = _isDebugAssertConfiguration() ? 40.0 : 2

    private static let shapes: [(String, String)] = [("[", "]"), (#"{"a":"#, "}"), (#"[1,{"a":"#, "},true]")]

    /// Texts of about forty kilobytes, whose numbers, strings and objects are within `depth` containers.
    private static func texts(depth: Int) -> [Data] {
        let mixed = (0..<400).map {
            #"{"id":\#($0),"name":"茶 \#($0)\n","price":\#(Double($0) / 8),"tags":[null,true]}"#
        }
        let contents = [(0..<4_000).map(String.init), mixed, (0..<2_000).map { "1234567890123456789\($0).5" }]
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
            let foundation = try cpuTime { try JSONSerialization.jsonObject(with: text) }
            let own = try cpuTime { try JSONValue(json: text) }
            #expect(own < foundation * Self.limit)
        }
    }

    @Test(.fault(84), arguments: [nil, Envelope()]) func `A response and an envelope are decoded in linear time`(
        _ envelope: Envelope?
    ) throws {
        let service = APIService.sample { $0.envelope = envelope }
        for text in Self.texts(depth: 500) {
            let body = envelope == nil ? text : Data(#"{"errcode":200,"data":"#.utf8) + text + Data("}".utf8)
            let response = APIResponse(HTTPResponse(status: 200, body: body), url: service.baseURL)
            let foundation = try cpuTime { try JSONSerialization.jsonObject(with: body) }
            let own = try cpuTime { try ResponseSerializer<JSONValue>.json.value(of: response, from: service) }
            #expect(own < foundation * Self.limit)
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
            let foundation = try cpuTime { try JSONSerialization.jsonObject(with: body) }
            let own = try cpuTime { try ResponseSerializer<Item>.json.value(of: response, from: service) }
            #expect(own < foundation * Self.limit)
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
            let foundation = try cpuTime { try JSONSerialization.jsonObject(with: body) }
            let own = try cpuTime { try ResponseSerializer<Renamed>.json.value(of: response, from: service) }
            #expect(own < foundation * Self.limit)
            #expect(try ResponseSerializer<Renamed>.json.value(of: response, from: service).address2 == 1)
        }
    }

    @Test(.fault(84)) func `A text that no decoder reads is refused by a lenient one in linear time`() throws {
        let service = APIService.sample { $0.decoder = .lenient }
        let (head, tail) = (String(repeating: "[", count: 500), String(repeating: "]", count: 500))
        let values = Array(repeating: "true", count: 8_000).joined(separator: ",")
        let (good, bad) = (Data("\(head)\(values)\(tail)".utf8), Data("\(head)\(values),1e400\(tail)".utf8))
        let response = APIResponse(HTTPResponse(status: 200, body: bad), url: service.baseURL)
        let foundation = try cpuTime { try JSONSerialization.jsonObject(with: good) }
        let own = cpuTime { Result { try ResponseSerializer<[Int]>.json.value(of: response, from: service) } }
        #expect(own < foundation * Self.limit)
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
