import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("Adapters change what is sent and what has arrived", .hangLimit, .timeLimit(.minutes(10)))
struct AdapterTests {
    private let journal = AdapterJournal()
    private let clock = ManualClock()
    private let screen = Screen()

    private func responding(_ responses: [HTTPResponse] = [.json(goodsJSON([]))]) -> ScriptedTransport {
        let responses = Responses(responses)
        return ScriptedTransport { [journal] _ in
            journal.note("sent")
            return responses.next()
        }
    }

    private func proxy(_ transport: ScriptedTransport, _ change: (inout APIService) -> Void = { _ in }) -> APIProxy {
        APIProxy(service: .sample(change), transport: transport, clock: clock)
    }

    // MARK: Order

    @Test func `They run by kind, then those of the service, then those of the request`() async throws {
        var ofService = journal.adapters("1")
        ofService.append(journal.adapters("2"))
        let proxy = proxy(responding()) { $0.adapters = ofService }
        let options = APIRequestOptions(adapters: journal.adapters("of the request"))
        _ = try await APIRequest<[Goods]>("/goods", options: options, proxy: proxy).value()
        let kinds = ["params", "request", "response", "data"].map { kind in
            ["\(kind) 1", "\(kind) 2", "\(kind) of the request"]
        }
        #expect(journal.names == kinds[0] + kinds[1] + ["sent"] + kinds[2] + kinds[3])
    }

    final class AdaptedRequest: BaseAPIRequest, APIManager {
        typealias Response = [Goods]
        let path = "/goods"
        let method = HTTPMethod.get
        var adapters = Adapters()
        override var options: APIRequestOptions { APIRequestOptions(adapters: adapters) }
    }

    @Test func `A request class has adapters, which are those of its loads alone`() async throws {
        let proxy = proxy(responding())
        let request = AdaptedRequest(proxy: proxy)
        request.adapters = journal.adapters("own")
        _ = try await request.value()
        _ = try await AdaptedRequest(proxy: proxy).value()
        #expect(journal.names == ["params own", "request own", "sent", "response own", "data own", "sent"])
    }

    @Test func `Each sees what the one before has made`() async throws {
        let transport = responding([.json(goodsJSON([Goods(id: 1, name: "tea")]))])
        let proxy = proxy(transport) {
            $0.commonParams = { ["v": 1, "a": 1] }
            $0.adapters.params = [
                Adapter { params, _ in
                    let a = params?["a"] as? Int ?? 0
                    params?["sum"] = a + 1
                },
                Adapter { params, _ in
                    let sum = params?["sum"] as? Int ?? 0
                    params?["sum"] = sum * 10
                },
            ]
            $0.adapters.request = [
                Adapter { request, _ in request.body = .data(Data("[\(request.body.text)]".utf8)) },
                Adapter { request, _ in request.headers["X-Body"] = request.body.text },
            ]
            $0.adapters.response = [
                Adapter { response, _ in response.headers["X-Count"] = "\(response.body.count)" },
                Adapter { response, _ in
                    // Anything but a blank would not be JSON.
                    response.body += Data((response.headers["X-Count"] == "\(response.body.count)" ? " " : "?").utf8)
                },
            ]
            $0.adapters.data = [
                Adapter { data, _ in data = Data(data.text.replacing("tea", with: "green tea").utf8) },
                Adapter { data, _ in data = Data(data.text.replacing("green", with: "black").utf8) },
            ]
        }
        let request = APIRequest<[Goods]>("/goods/{id}", method: .post, params: ["id": 7, "a": 2], proxy: proxy)
        #expect(try await request.value() == [Goods(id: 1, name: "black tea")])
        #expect(transport.requests.map { $0.headers["X-Body"] } == [#"[{"a":2,"sum":30,"v":1}]"#])
        #expect(transport.requests.map(\.body.text) == [#"[{"a":2,"sum":30,"v":1}]"#])
        #expect(transport.requests.map(\.url.path) == ["/api/goods/7"])
        #expect(request.rawResponse?.headers["X-Count"] != nil)
        #expect(request.rawResponse?.text.contains("black tea") == true)
        #expect(request.rawResponse?.text.hasSuffix("} ") == true)
        #expect(request.serverCode == 200)
    }

    @Test func `Param adapters may remove all parameters and add some where there are none`() async throws {
        let transport = responding()
        let removing = proxy(transport) { $0.adapters.params = [Adapter { params, _ in params = nil }] }
        _ = try await APIRequest<[Goods]>("/goods", method: .post, params: ["a": 1], proxy: removing).value()
        let adding = proxy(transport) {
            $0.adapters.params = [Adapter { params, _ in params = params.map { _ in [:] } ?? ["a": 2] }]
        }
        _ = try await APIRequest<[Goods]>("/goods", method: .post, proxy: adding).value()
        #expect(transport.requests.map(\.body.isEmpty) == [true, false])
        #expect(transport.requests.last?.body.text == #"{"a":2}"#)
    }

    // MARK: Context

    @Test func `They know the send: its number, login, request, clock and environment`() async throws {
        let account = Account()
        let transport = responding([.status(503), .status(401), .json(goodsJSON([]))])
        let proxy = proxy(transport) {
            $0.environment = APIEnvironment("staging", baseURL: URL("http://shop.test"))
            ($0.retryPolicy, $0.reloginHandler) = (RetryPolicy(), account)
            $0.retryPolicy.baseDelay = .zero
            $0.adapters = journal.adapters("1")
            $0.adapters.request.append(Adapter { $0.headers["X-Attempt"] = "\($1.attempt)" })
        }
        _ = try await APIRequest<[Goods]>("/goods/{id}", params: ["id": 1], proxy: proxy).value()
        #expect(transport.requests.map { $0.headers["X-Attempt"] } == ["1", "2", "3"])
        for kind in [AdapterKind.params, .request, .response] {
            let contexts = journal.contexts(of: kind)
            #expect(contexts.map(\.attempt) == [1, 2, 3])
            let first = try #require(contexts.first)
            #expect(contexts.allSatisfy { $0.id == first.id && $0.method == .get && $0.path == "/goods/{id}" })
            #expect(contexts.allSatisfy { $0.environment.name == "staging" && $0.clock as? ManualClock === clock })
        }
        #expect(journal.contexts(of: .data).map(\.attempt) == [3])
        #expect((journal.contexts(of: .params) + journal.contexts(of: .request)).allSatisfy { $0.request == nil })
        #expect(journal.contexts(of: .response).map { $0.request?.headers["X-Attempt"] } == ["1", "2", "3"])
        #expect(journal.contexts(of: .data).map { $0.request?.headers["X-Attempt"] } == ["3"])
        #expect(journal.calls.compactMap(\.environment).map(\.name) == Array(repeating: "staging", count: 10))
    }

    // MARK: Responses

    @Test func `An error body is opened before it is read`() async throws {
        let transport = responding([HTTPResponse(status: 400, body: Data("}7:edocrre{".utf8))])
        let proxy = proxy(transport) {
            $0.failureReader = .keys(code: "errcode", message: "msg")
            $0.adapters.response = [Adapter { response, _ in response.body = Data(#"{"errcode":7,"msg":"no"}"#.utf8) }]
            $0.adapters.data = journal.adapters("1").data
        }
        let error = await #expect(throws: APIError.self) {
            try await APIRequest<[Goods]>("/goods", proxy: proxy).value()
        }
        #expect(error?.type == .http && error?.code == 7 && error?.message == "no")
        #expect(error?.response?.text == #"{"errcode":7,"msg":"no"}"#)
        #expect(journal.names == ["sent"], "data are adapted in successes alone")
    }

    @Test func `A response adapter decides about a relogin with the status and the code that it leaves`() async throws {
        let account = Account()
        for refusal in [HTTPResponse.json("", status: 419), .json(#"{"errcode":"expired"}"#)] {
            let transport = responding([refusal, .json(goodsJSON([]))])
            let proxy = proxy(transport) {
                $0.reloginHandler = account
                $0.adapters.response = [
                    Adapter { response, _ in
                        if response.status == 419 { response.status = 401 }
                        response.body = Data(response.text.replacing(#""expired""#, with: "11010").utf8)
                    }
                ]
            }
            _ = try await APIRequest<[Goods]>("/goods", proxy: proxy).value()
            #expect(transport.requests.count == 2)
        }
        #expect(account.logins == 2)
    }

    @Test func `A response in a file has no body, and an adapter cannot give it one`() async throws {
        let folder = try TemporaryFolder()
        let proxy = proxy(responding([HTTPResponse(status: 200, body: Data("new".utf8))]))
        let seen = Latch()
        func download(_ adapter: Adapter<APIResponse>) -> APIRequest<DownloadedFile> {
            let options = APIRequestOptions(adapters: Adapters(response: [adapter]))
            return APIRequest("/file", destination: .file(folder.file), options: options, proxy: proxy)
        }
        let file = try await download(
            Adapter { response, _ in
                let text = try response.file.map { try String(contentsOf: $0, encoding: .utf8) }
                if text == "new", response.body.isEmpty { seen.open() }
            }
        ).value()
        try await seen.wait()
        #expect(file.url == folder.file)
        let setting = download(Adapter { response, _ in response.body = Data("x".utf8) })
        let error = await #expect(throws: APIError.self) { try await setting.value() }
        #expect(error?.type == .decoding && error?.reason?.contains("stored in a file") == true)
        #expect(try folder.names.count == 1, "the file of the failed load is removed")
    }
}

extension HTTPBody {
    /// The bytes in memory, as text.
    fileprivate var text: String {
        pieces.reduce(into: "") { text, piece in
            if case .data(let data) = piece { text += data.text }
        }
    }
}

extension Data {
    fileprivate var text: String { String(decoding: self, as: UTF8.self) }
}
