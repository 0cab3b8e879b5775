import ErrandTesting
import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Accepted statuses and composed serializers", .timeLimit(.minutes(10)))
struct SerializerCompositionTests {
    private func request<Request: SampleRequest & APIManager>(
        _ type: Request.Type,
        _ response: HTTPResponse,
        accepting statuses: Set<Int> = [],
        service: APIService = .sample()
    ) -> Request {
        let request = Request(proxy: APIProxy(fake: ScriptedTransport { _ in response }, service: service))
        request.ownOptions.acceptedStatuses = statuses
        return request
    }

    private let missing = HTTPResponse.json(#"{"errcode":40404,"msg":"no such goods"}"#, status: 404)

    @Test func `An optional is nil for an accepted status that is not 2xx`() async throws {
        for response in [missing, .status(404), HTTPResponse(status: 404, body: Data("<html>".utf8))] {
            let request = request(MaybeGoods.self, response, accepting: [304, 404])
            #expect(try await request.value() == nil)
            #expect(request.rawResponse?.status == 404)
            #expect(request.error == nil)
        }
        #expect(try await request(MaybeGoods.self, .status(304), accepting: [304, 404]).value() == nil)
        let found = HTTPResponse.json(#"{"errcode":200,"data":{"id":1,"name":"a"}}"#)
        #expect(try await request(MaybeGoods.self, found, accepting: [404]).value()?.id == 1)
    }

    @Test func `Nothing is read for Void, and any other type is decoded as usual`() async throws {
        try await request(NothingRequest.self, missing, accepting: [404]).value()
        #expect(try await request(DataRequest.self, missing, accepting: [404]).value() == missing.body)
        let conflict = HTTPResponse.json(goodsJSON([Goods(id: 2, name: "b")]), status: 409)
        #expect(try await request(GoodsRequest.self, conflict, accepting: [409]).value().map(\.id) == [2])
        let goods = request(GoodsRequest.self, missing, accepting: [404])
        #expect(await goods.outcome() == .server)
        #expect(goods.error?.code == 40404)
    }

    @Test func `Other statuses fail as before`() async throws {
        let other = request(GoodsRequest.self, missing, accepting: [304])
        #expect(await other.outcome() == .http)
        let expired = request(GoodsRequest.self, .status(401), accepting: [404])
        #expect(await expired.outcome() == .loginExpired)
    }

    @Test func `An accepted 401 is not an expired login, whatever its body`() async throws {
        for body in [#"{"errcode":40012,"msg":"captcha"}"#, "[]"] {
            let response = HTTPResponse.json(body, status: 401)
            let goods = request(GoodsRequest.self, response, accepting: [401])
            #expect(await [.server, .decoding].contains(goods.outcome()))
        }
    }

    @Test func `A sign-in that is served with an accepted error begins no session`() async throws {
        let account = Account()
        account.fails = true
        let service = APIService.sample { $0.reloginHandler = account }
        #expect(await request(GoodsRequest.self, .status(401), service: service).outcome() == .loginExpired)
        let refused = request(MaybeGoods.self, .status(422), accepting: [422], service: service)
        refused.customLogin = true
        #expect(try await refused.value() == nil)
        #expect(await request(GoodsRequest.self, .status(401), service: service).outcome() == .loginExpired)
        #expect(account.expiries == 1)
    }

    @Test(arguments: [
        ("text/plain", #"{"errcode":200,"msg":"saved"}"#, true),
        ("application/json", #"{"errcode":200,"msg":"saved"}"#, true),
        ("text/plain", "saved", false), ("text/csv", "[1,2]", false),
    ])
    func `A reader of successes reads the body of a file once, if that may be an envelope`(
        _ type: String,
        _ body: String,
        _ isRead: Bool
    ) async throws {
        let texts = Lock<[String]>([])
        let service = APIService.sample {
            $0.failureReader = FailureReader(readsSuccess: true) { response in
                texts.withLock { $0.append(response.text) }
                return nil
            }
        }
        let response = HTTPResponse(status: 200, headers: ["Content-Type": type], body: Data(body.utf8))
        let download = request(FileRequest.self, response, service: service)
        let file = try await download.value()
        #expect(try String(contentsOf: file.url, encoding: .utf8) == body)
        try FileManager.default.removeItem(at: file.url)
        #expect(texts.withLock(\.self) == (isRead ? [body] : []))
        #expect(download.serverMessage == (isRead ? "saved" : nil))
    }

    @Test func `An accepted status starts neither a relogin nor a retry`() async throws {
        let service = APIService.sample { $0.retryPolicy = RetryPolicy() }
        for status in [401, 503] {
            let transport = ScriptedTransport { _ in .status(status) }
            let request = NothingRequest(proxy: APIProxy(fake: transport, service: service))
            (request.method, request.ownOptions.acceptedStatuses) = (.get, [status])
            try await request.value()
            #expect(transport.requests.count == 1)
        }
    }

    @Test func `A serializer is mapped and combined, and keeps code and message`() async throws {
        var response = HTTPResponse.json(goodsJSON([Goods(id: 1, name: "a"), Goods(id: 2, name: "b")]))
        response.headers["X-Total"] = "57"
        let shelf = request(ShelfRequest.self, response)
        let value = try await shelf.value()
        #expect(value == Shelf(names: ["a", "b"], total: 57))
        #expect(shelf.serverCode == 200)
        #expect(shelf.serverMessage == "ok")
        let unreadable = request(PriceRequest.self, response)
        #expect(await unreadable.outcome() == .decoding)
        #expect(unreadable.error?.message == "The server's response could not be understood.")
        let refused = request(ShelfRequest.self, .json(#"{"errcode":5}"#))
        let error = await #expect(throws: APIError.self) { try await refused.value() }
        #expect(error?.code == 5)
        let empty = request(ShelfRequest.self, .json(goodsJSON([])))
        let invalid = await #expect(throws: APIError.self) { try await empty.value() }
        #expect(invalid?.type == .invalidResponse)
        #expect(invalid?.message == "an empty shelf")
        #expect(invalid?.response?.status == 200)
    }

    @Test func `A serializer may choose another one for each response`() async throws {
        let found = HTTPResponse.json(goodsJSON([Goods(id: 1, name: "a")]))
        #expect(try await request(LookupRequest.self, found, accepting: [404, 410]).value() == .found([1]))
        #expect(try await request(LookupRequest.self, .status(404), accepting: [404, 410]).value() == .missing)
        #expect(try await request(LookupRequest.self, .status(410), accepting: [404, 410]).value() == .gone("410"))
    }

    @Test func `A mapped file is still written to a file`() async throws {
        let folder = try TemporaryFolder()
        let response = HTTPResponse(status: 200, body: Data("bytes".utf8))
        let request = request(SizeRequest.self, response)
        request.file = folder.url.appending(path: "download")
        #expect(try await request.value() == 5)
        #expect(try folder.names == ["download"])
    }

    @Test func `An app's serializer may use a built-in one`() throws {
        let response = APIResponse(.json(goodsJSON([Goods(id: 3, name: "c")])), url: URL("http://shop.test"))
        let own = ResponseSerializer { response, service in
            try ResponseSerializer<[Goods]>.json.value(of: response, from: service).count
        }
        #expect(try own.value(of: response, from: .sample()) == 1)
    }
}

private final class MaybeGoods: SampleRequest, APIManager {
    typealias Response = Goods?
}

private struct Shelf: Equatable, Sendable {
    var names: [String]
    var total: Int?
}

private final class ShelfRequest: SampleRequest, APIManager {
    var responseSerializer: ResponseSerializer<Shelf> {
        let total = ResponseSerializer { response, _ in Int(response.headers["X-Total"] ?? "") }
        return ResponseSerializer<[Goods]>.json.combined(with: total)
            .map { goods, total in
                guard !goods.isEmpty else { throw APIError(.invalidResponse, message: "an empty shelf") }
                return Shelf(names: goods.map(\.name), total: total)
            }
    }
}

private final class PriceRequest: SampleRequest, APIManager {
    struct Unreadable: Error {}

    var responseSerializer: ResponseSerializer<Int> {
        ResponseSerializer<[Goods]>.json.map { _ in throw Unreadable() }
    }

    /// Returns the type of the error of one load.
    func outcome() async -> APIErrorType? {
        _ = try? await value()
        return errorType
    }
}

private enum Lookup: Equatable, Sendable {
    case found([Int]), gone(String), missing
}

private final class LookupRequest: SampleRequest, APIManager {
    var responseSerializer: ResponseSerializer<Lookup> {
        .choosing { response in
            switch response.status {
            case 404: .constant(.missing)
            case 410: ResponseSerializer { response, _ in .gone("\(response.status)") }
            default: ResponseSerializer<[Goods]>.json.map { .found($0.map(\.id)) }
            }
        }
    }
}

private final class SizeRequest: SampleRequest, APIManager {
    var file = URL("file:///none")
    override var destination: HTTPRequest.Destination { .file(file) }
    var responseSerializer: ResponseSerializer<Int> {
        ResponseSerializer.file.map { try Data(contentsOf: $0.url).count }
    }
}

private final class FileRequest: SampleRequest, APIManager {
    typealias Response = DownloadedFile
}
