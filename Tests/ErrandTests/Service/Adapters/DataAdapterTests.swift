import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("Data adapters change what is decoded, and nothing else", .hangLimit, .timeLimit(.minutes(10)))
struct DataAdapterTests {
    private let journal = AdapterJournal()

    /// A proxy whose data adapter records the data of each response.
    private func proxy(
        _ body: String,
        status: Int = 200,
        type: String = "application/json",
        _ change: (inout APIService) -> Void = { _ in }
    ) -> APIProxy {
        let transport = ScriptedTransport { _ in .json(body, status: status, headers: ["Content-Type": type]) }
        let service = APIService.sample {
            $0.adapters.data = [
                Adapter { [journal] data, _ in journal.note(String(decoding: data, as: UTF8.self)) }
            ]
            change(&$0)
        }
        return APIProxy(fake: transport, service: service)
    }

    // MARK: The data

    @Test func `They receive the very bytes under the envelope, numbers and blanks included`() async throws {
        let data = #"{ "b": 12345678901234567890.12345678901, "a": [1.0, 1e2, "}\"]"] }"#
        let proxy = proxy(#"{"msg":"ok \"data\":1", "data" : \#(data) ,"errcode":200}"#)
        _ = try await APIRequest<JSONValue>("/data", proxy: proxy).value()
        #expect(journal.names == [data])
    }

    @Test(arguments: [
        (#"{"errcode":200,"data":{"page":{"items":[1]}}}"#, "data.page.items", "[1]"),
        (#"{"errcode":200,"data":{"page":2},"data.page":[3]}"#, "data.page", "[3]"),
        (#"{"errcode":200,"d\u0061ta":[4],"data":[5]}"#, "data", "[4]"),
        (#"{"errcode":200,"data":null}"#, "data", "null"),
    ])
    func `The envelope's data key finds them as it finds what is decoded`(
        _ body: String,
        _ key: String,
        _ data: String
    ) async throws {
        _ = try await APIRequest<[Int]?>("/data", proxy: proxy(body) { $0.envelope?.dataKey = key }).value()
        #expect(journal.names == [data])
    }

    @Test(arguments: ["result_data", "resultData"])
    func `Names in snake case are found as a decoder converts them`(_ key: String) async throws {
        let proxy = proxy(#"{"errcode":200,"result_data":[1]}"#) {
            $0.decoder.keyDecodingStrategy = .convertFromSnakeCase
            $0.envelope?.dataKey = key
        }
        #expect(try await APIRequest<[Int]>("/data", proxy: proxy).value() == [1])
        #expect(journal.names == ["[1]"])
    }

    @Test(
        arguments: ["result_data", "resultData"],
        [
            #"{"errcode":200,"resultData":[0],"result_data":[1]}"#,
            #"{"errcode":200,"result_data":[1],"RESULT_data":[0]}"#,
        ]
    )
    func `Two members that a decoder converts to the data key are refused`(_ key: String, _ body: String) async throws {
        let proxy = proxy(body) {
            $0.decoder.keyDecodingStrategy = .convertFromSnakeCase
            $0.envelope?.dataKey = key
        }
        let error = await #expect(throws: APIError.self) {
            try await APIRequest<[Int]>("/data", proxy: proxy).value()
        }
        #expect(error?.type == .decoding && journal.names == [])
    }

    @Test func `A name with another underscore is another name`() async throws {
        let proxy = proxy(#"{"errcode":200,"_data":[1],"data":null}"#) {
            $0.decoder.keyDecodingStrategy = .convertFromSnakeCase
            $0.envelope?.dataKey = "_data"
        }
        #expect(try await APIRequest<[Int]>("/data", proxy: proxy).value() == [1])
        #expect(journal.names == ["[1]"])
    }

    @Test func `Without an envelope or a data key they receive the whole body`() async throws {
        _ = try await APIRequest<[Int]>("/data", proxy: proxy("[1]") { $0.envelope = nil }).value()
        let body = #"{"errcode":200,"id":1,"name":"tea"}"#
        _ = try await APIRequest<Goods>("/data", proxy: proxy(body) { $0.envelope?.dataKey = nil }).value()
        #expect(journal.names == ["[1]", body])
    }

    @Test func `What they leave is decoded and is in the raw response, beside the code and the message`() async throws {
        let proxy = proxy(#"{"errcode":200,"data":"c2VjcmV0","msg":"fine"}"#) {
            $0.adapters.data = [Adapter { data, _ in data = Data("[1,2]".utf8) }]
        }
        let request = APIRequest<[Int]>("/data", proxy: proxy)
        #expect(try await request.value() == [1, 2])
        #expect(request.rawResponse?.text == #"{"errcode":200,"data":[1,2],"msg":"fine"}"#)
        #expect(request.serverMessage == "fine")
    }

    @Test func `Data that is not JSON any more is an error that says so`() async {
        for text in ["", "[1", "[1],\"errcode\":1"] {
            let proxy = proxy(goodsJSON([])) { $0.adapters.data = [Adapter { data, _ in data = Data(text.utf8) }] }
            let request = APIRequest<Goods>("/data", proxy: proxy)
            let error = await #expect(throws: APIError.self) { try await request.value() }
            #expect(error?.type == .decoding)
            #expect(error?.reason == "the data adapters have left data that is not JSON")
        }
    }

    @Test func `JSON of another type is adapted where the app chooses its serializer`() async throws {
        for (type, body) in [("application/json", goodsJSON([])), ("text/html", goodsJSON([])), ("text/html", "[]")] {
            let request = APIRequest<[Goods]>(
                "/data",
                responseSerializer: .choosing { _ in .json },
                proxy: proxy(body, type: type) {
                    if body == "[]" { $0.envelope = nil }
                    $0.adapters.data = [Adapter { data, _ in data = Data(#"[{"id":1,"name":"tea"}]"#.utf8) }]
                }
            )
            #expect(try await request.value().map(\.id) == [1], "\(type)")
        }
    }

    // MARK: Where nothing is decoded

    @Test func `Data, Void, a text without an envelope and a response without content are not adapted`() async throws {
        let proxy = proxy(goodsJSON([]))
        _ = try await APIRequest<Data>("/data", proxy: proxy).value()
        try await APIRequest<Void>("/data", proxy: proxy).value()
        _ = try await APIRequest<String>("/data", proxy: self.proxy("text", type: "text/plain")).value()
        _ = try await APIRequest<[Int]?>("/data", proxy: self.proxy("", status: 204)).value()
        _ = try await APIRequest<[Int]?>("/data", proxy: self.proxy(#"{"errcode":200}"#)).value()
        let constant = APIRequest<Int>("/data", responseSerializer: .constant(1), proxy: proxy)
        _ = try await constant.value()
        #expect(journal.names.isEmpty)
        _ = try await APIRequest<String>("/data", proxy: self.proxy(#"{"errcode":200,"data":"tea"}"#)).value()
        #expect(journal.names == [#""tea""#])
    }

    @Test func `A failure of the status, the code or the failure reader is not adapted`() async {
        let failures = [
            proxy(goodsJSON([]), status: 500), proxy(#"{"errcode":7,"data":[]}"#), proxy(#"{"data":[]}"#),
            proxy(goodsJSON([])) {
                $0.failureReader = FailureReader(readsSuccess: true) { _ in ServerFailure(message: "no") }
            },
            proxy("<html>"),
        ]
        for proxy in failures {
            await #expect(throws: APIError.self) { try await APIRequest<[Int]>("/data", proxy: proxy).value() }
        }
        #expect(journal.names.isEmpty)
    }

    @Test func `An accepted status is adapted if its body is decoded`() async throws {
        let proxy = proxy(#"{"errcode":200,"data":[1]}"#, status: 404)
        let options = APIRequestOptions(acceptedStatuses: [404])
        #expect(try await APIRequest<[Int]?>("/data", options: options, proxy: proxy).value() == nil)
        #expect(journal.names.isEmpty)
        #expect(try await APIRequest<[Int]>("/data", options: options, proxy: proxy).value() == [1])
        #expect(journal.names == ["[1]"])
    }

    // MARK: Serializers and decoders

    @Test func `A serializer of the app and what is composed of others receive the changed response`() async throws {
        let change: (inout APIService) -> Void = {
            $0.adapters.data = [Adapter { data, _ in data = Data("[2]".utf8) }]
        }
        let proxy = proxy(#"{"errcode":200,"data":[1]}"#, change)
        let texts = ResponseSerializer { response, _ in response.text }
        let own = APIRequest("/data", responseSerializer: texts, proxy: proxy)
        #expect(try await own.value() == #"{"errcode":200,"data":[2]}"#)
        let sum = ResponseSerializer<[Int]>.json.map { $0.reduce(0, +) }
        #expect(try await APIRequest("/data", responseSerializer: sum, proxy: proxy).value() == 2)
        let both = sum.combined(with: texts)
        #expect(try await APIRequest("/data", responseSerializer: both, proxy: proxy).value().0 == 2)
        let page = self.proxy("<p>", type: "text/html", change)
        #expect(try await APIRequest("/data", responseSerializer: texts, proxy: page).value() == "<p>")
    }

    @Test func `Another format is adapted as a whole, and refused inside an envelope`() async throws {
        let list = try PropertyListEncoder().encode(["errcode": 200, "id": 1])
        let transport = ScriptedTransport { _ in
            HTTPResponse(status: 200, headers: ["Content-Type": "application/x-plist"], body: list)
        }
        let count = Counter()
        for envelope in [nil, Envelope()] {
            let service = APIService.sample {
                ($0.customDecoder, $0.envelope) = (PropertyListDecoder(), envelope)
                $0.adapters.data = [Adapter { data, _ in if data == list { _ = count.next() } }]
            }
            let request = APIRequest<[String: Int]>("/data", proxy: APIProxy(fake: transport, service: service))
            guard envelope != nil else {
                #expect(try await request.value()["id"] == 1)
                continue
            }
            let error = await #expect(throws: APIError.self) { try await request.value() }
            #expect(error?.type == .decoding && error?.reason?.hasPrefix("data adapters change JSON in UTF-8") == true)
        }
        #expect(count.count == 1)
    }

    @Test func `Data that only the decoder finds is an error, and is not decoded without its adapters`() async throws {
        let inCamelCase = proxy(#"{"errcode":200,"resultData":[1]}"#) { $0.envelope?.dataKey = "result_data" }
        let text = try #require(#"{"errcode":200,"data":[1]}"#.data(using: .utf16))
        let response = HTTPResponse(status: 200, headers: ["Content-Type": "application/json"], body: text)
        let service = APIService.sample { [journal] in
            $0.adapters.data = [Adapter { _, _ in journal.note("called") }]
        }
        let inUTF16 = APIProxy(fake: ScriptedTransport { _ in response }, service: service)
        for proxy in [inCamelCase, inUTF16] {
            let error = await #expect(throws: APIError.self) {
                try await APIRequest<[Int]>("/data", proxy: proxy).value()
            }
            #expect(error?.type == .decoding)
            #expect(error?.reason?.contains("data adapters change JSON in UTF-8") == true)
        }
        #expect(journal.names.isEmpty)
    }

    @Test func `Data cannot change the members around them`() async throws {
        let body = #"{"data":"x","errcode":200}"#
        let proxy = proxy(body) {
            $0.adapters.data = [Adapter { data, _ in data = Data(#"null,"errcode":11010"#.utf8) }]
        }
        let error = await #expect(throws: APIError.self) { try await APIRequest<[Int]?>("/data", proxy: proxy).value() }
        #expect(error?.type == .decoding && error?.reason?.contains("not JSON") == true)
    }

    @Test func `JSON5 and a custom strategy for keys are refused inside an envelope`() async {
        for number in 0..<2 {
            let proxy = proxy(goodsJSON([])) {
                if number == 0 {
                    $0.decoder.allowsJSON5 = true
                } else {
                    $0.decoder.keyDecodingStrategy = .custom { $0[0] }
                }
            }
            let request = APIRequest<[Goods]>("/data", proxy: proxy)
            let error = await #expect(throws: APIError.self) { try await request.value() }
            #expect(error?.type == .decoding && error?.reason?.contains("JSON5") == true)
        }
        #expect(journal.names.isEmpty)
    }
}
