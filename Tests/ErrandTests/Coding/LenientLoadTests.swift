import ErrandTesting
import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
