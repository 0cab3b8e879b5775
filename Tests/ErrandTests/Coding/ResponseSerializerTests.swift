import ErrandTesting
import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Decoding of responses and envelopes", .timeLimit(.minutes(10)))
struct ResponseSerializerTests {
    private func result<Request: APIManager>(
        _ type: Request.Type,
        _ body: String,
        status: Int = 200,
        contentType: String = "application/json; charset=utf-8",
        encoding: String.Encoding = .utf8,
        service: APIService = .sample()
    ) async -> Result<Request.Response, APIError> where Request: SampleRequest {
        let body = body.data(using: encoding) ?? Data()
        let response = HTTPResponse(status: status, headers: ["Content-Type": contentType], body: body)
        let request = Request(proxy: APIProxy(fake: ScriptedTransport { _ in response }, service: service))
        do throws(APIError) {
            return .success(try await request.value())
        } catch {
            return .failure(error)
        }
    }

    @Test func `A decodable is read from data`() async throws {
        let goods = try await result(GoodsRequest.self, #"{"errcode":200,"msg":"","data":[{"id":1,"name":"茶"}]}"#).get()
        #expect(goods == [Goods(id: 1, name: "茶")])
    }

    @Test func `A code may be a string of digits`() async throws {
        #expect(try await result(GoodsRequest.self, #"{"errcode":"200","data":[]}"#).get().isEmpty)
    }

    @Test(arguments: [Envelope(), nil]) func `A response without content is nil if the type is optional`(
        _ envelope: Envelope?
    ) async throws {
        let service = APIService.sample { $0.envelope = envelope }
        #expect(try await result(MaybeRequest.self, "", status: 204, service: service).get() == nil)
        for blanks in [" ", "\r\n\t "] {
            #expect(try await result(MaybeRequest.self, blanks, service: service).get() == nil)
            let failure = await result(GoodsRequest.self, blanks, service: service).error
            #expect(failure?.reason?.contains("no content to decode") == true)
        }
        let failure = await result(GoodsRequest.self, "", status: 204, service: service).error
        #expect(failure?.type == .decoding)
        #expect(
            failure?.description
                == "decoding, POST /goods, HTTP 204, the response has no content to decode Array<Goods> from: use an optional type, or Void"
        )
        #expect(try await result(EmptyRequest.self, "", status: 204, service: service).get() == Empty())
    }

    @Test(arguments: [Envelope(), nil])
    func `An optional text or data is that of any body, and nil without one and for another status`(
        _ envelope: Envelope?
    ) async throws {
        let service = APIService.sample { ($0.envelope, $0.failureReader) = (envelope, nil) }
        func value<Value: Decodable & Sendable>(_: Value.Type, _ response: HTTPResponse) async throws -> Value {
            let proxy = APIProxy(fake: ScriptedTransport { _ in response }, service: service)
            let options = APIRequestOptions(acceptedStatuses: [200, 204, 404])
            return try await APIRequest<Value>("/text", options: options, proxy: proxy).value()
        }
        let bytes = HTTPResponse(status: 200, headers: ["Content-Type": "application/pdf"], body: Data([0x25, 0xFF]))
        #expect(try await value(Data?.self, bytes) == Data([0x25, 0xFF]))
        let text = HTTPResponse(status: 200, headers: ["Content-Type": "text/plain"], body: Data("tea".utf8))
        #expect(try await value(String?.self, text) == "tea")
        for status in [204, 404] {
            let empty = HTTPResponse(status: status, body: status == 404 ? text.body : Data())
            #expect(try await value(String?.self, empty) == nil)
            #expect(try await value(Data?.self, empty) == nil)
        }
        for (data, expected) in [("\"tea\"", "tea"), ("null", nil)] as [(String, String?)] {
            let body = envelope == nil ? data : #"{"errcode":200,"data":\#(data)}"#
            #expect(try await value(String?.self, .json(body)) == expected)
            #expect(try await value(Data?.self, .json(body)) == Data(body.utf8))
        }
    }

    @Test(arguments: ["data", "result"])
    func `Missing data is an error with its key, unless the type is optional`(
        _ key: String
    ) async throws {
        let service = APIService.sample { $0.envelope?.dataKey = key }
        let body = #"{"errcode":200,"dat":1}"#
        for failure in [
            await result(GoodsRequest.self, body, service: service).error,
            await result(JSONRequest.self, body, service: service).error,
            await result(TextRequest.self, body, service: service).error,
        ] {
            #expect(failure?.type == .decoding)
            #expect(failure?.description.contains("the envelope has no \(key) to decode ") == true)
            #expect(failure?.underlying is DecodingError)
        }
        #expect(try await result(MaybeRequest.self, body, service: service).get() == nil)
        #expect(try await result(EmptyRequest.self, body, service: service).get() == Empty())
        try await result(NothingRequest.self, body, service: service).get()
        let null = #"{"errcode":200,"\#(key)":null}"#
        #expect(try await result(JSONRequest.self, null, service: service).get() == .null)
    }

    @Test(arguments: [
        (
            "<!DOCTYPE html><p>s3cret", "text/html; charset=utf-8",
            "the response is not JSON (text/html, begins with <!DOCTYPE html)"
        ),
        (
            "\u{FEFF}\n <!doctype HTML>s3cret", "text/html",
            "the response is not JSON (text/html, begins with <!DOCTYPE html)"
        ),
        ("<html>s3cret", "application/json", "the response is not JSON (application/json, begins with <html)"),
        (
            "<?xml version=\"1.0\"?><s3cret/>", "Application/XML",
            "the response is not JSON (application/xml, begins with <?xml)"
        ),
        ("<s3cret>", "text/s3cret", "the response is not JSON (another Content-Type, begins with <)"),
        ("s3cret", "text/plain;s3cret", "the response is malformed JSON (text/plain)"),
        ("{\"s3cret\"", "application/json", "the response is malformed JSON (application/json)"),
        ("<", "", "the response is not JSON (another Content-Type, begins with <)"),
    ])
    func `A response that is not JSON is described without other text`(
        _ body: String,
        _ contentType: String,
        _ reason: String
    ) async {
        for service in [APIService.sample(), .sample { $0.envelope = nil }] {
            for failure in [
                await result(GoodsRequest.self, body, contentType: contentType, service: service).error,
                await result(JSONRequest.self, body, contentType: contentType, service: service).error,
                await result(GenericRequest<Goods?>.self, body, contentType: contentType, service: service).error,
            ] {
                #expect(failure?.type == .decoding)
                #expect(failure?.description == "decoding, POST /goods, HTTP 200, \(reason)")
                #expect(failure?.underlying is DecodingError)
            }
        }
    }

    @Test func `A generic class uses the serializer of the type`() async throws {
        #expect(try await result(GenericRequest<String>.self, "plain", contentType: "text/plain").get() == "plain")
        #expect(try await result(GenericRequest<String>.self, #"{"errcode":200,"data":"inside"}"#).get() == "inside")
        let pdf = try await result(GenericRequest<Data>.self, "%PDF", contentType: "application/pdf").get()
        #expect(pdf == Data("%PDF".utf8))
        let goods = #"{"errcode":200,"data":[{"id":1,"name":"茶"}]}"#
        #expect(try await result(GenericRequest<[Goods]>.self, goods).get() == [Goods(id: 1, name: "茶")])
        #expect(try await result(GenericRequest<JSONValue>.self, goods).get()[0]?["id"]?.int == 1)
        #expect(try await result(GenericRequest<Goods?>.self, "", status: 204).get() == nil)
        #expect(await result(GenericRequest<Data>.self, #"{"errcode":9}"#).error?.type == .server)
    }

    @Test func `The automatic serializer is that of the type`() async throws {
        let service = APIService.sample()
        let text = HTTPResponse(status: 200, headers: ["Content-Type": "text/plain"], body: Data("plain".utf8))
        let response = APIResponse(text, url: service.baseURL)
        try ResponseSerializer<Void>.automatic.value(of: response, from: service)
        #expect(try ResponseSerializer<String>.automatic.value(of: response, from: service) == "plain")
        #expect(try ResponseSerializer<Data>.automatic.value(of: response, from: service) == text.body)
        let empty = HTTPResponse(status: 200, headers: ["Content-Type": "application/json"])
        #expect(
            try ResponseSerializer<String>.text.value(of: APIResponse(empty, url: service.baseURL), from: service) == ""
        )
        let goods = APIResponse(.json(goodsJSON([])), url: service.baseURL)
        #expect(try ResponseSerializer<[Goods]>.automatic.value(of: goods, from: service) == [])
        #expect(ResponseSerializer<DownloadedFile>.automatic.source == .file)
    }

    @Test func `An error of a custom serializer contains the response`() async {
        let failure = await result(PickyRequest.self, "[]").error
        #expect(failure?.type == .server)
        #expect(failure?.code == 7)
        #expect(failure?.message == "too few")
        #expect(failure?.response?.text == "[]")
    }

    @Test func `A business failure never becomes a decoding failure`() async {
        let failure = await result(GoodsRequest.self, #"{"errcode":5001,"msg":"售罄","data":"what?"}"#).error
        #expect(failure?.type == .server)
        #expect(failure?.code == 5001)
        #expect(failure?.message == "售罄")
        #expect(failure?.response?.body.isEmpty == false)
    }

    @Test func `A login-expired code without a handler is loginExpired`() async {
        let failure = await result(GoodsRequest.self, #"{"errcode":11010,"msg":"sign in"}"#).error
        #expect(failure?.type == .loginExpired)
        #expect(failure?.message == "sign in")
        #expect(await result(GoodsRequest.self, "", status: 401).error?.type == .loginExpired)
        #expect(await result(GoodsRequest.self, #"{"errcode":11010}"#, status: 403).error?.type == .loginExpired)
    }

    @Test func `A refused sign-in is not an expired login`() async {
        let response = HTTPResponse.json(#"{"errcode":11010,"msg":"wrong password"}"#, status: 401)
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport { _ in response }))
        request.customLogin = true
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .http)
        #expect(error?.message == "wrong password")
    }

    @Test(arguments: [404, 500, 302])
    func `A status that is not 2xx is http, with the envelope's code and message`(
        _ status: Int
    ) async {
        let failure = await result(GoodsRequest.self, #"{"errcode":77,"msg":"later"}"#, status: status).error
        #expect(failure?.type == .http)
        #expect(failure?.status == status)
        #expect(failure?.code == 77)
        #expect(failure?.message == "later")
        #expect(await result(GoodsRequest.self, "<html>", status: status).error?.type == .http)
    }

    @Test(arguments: [
        #"{"errcode":200,"data":[{"id":"x","name":"a"}]}"#, #"{"errcode":200,"data":null}"#, #"{"errcode":200}"#,
        #"{"msg":"no code"}"#, "[]", "not JSON", "", #"{"errcode":{},"data":[]}"#,
    ])
    func `A response of another shape is a decoding failure`(_ body: String) async {
        let failure = await result(GoodsRequest.self, body).error
        #expect(failure?.type == .decoding)
        #expect(failure?.underlying is DecodingError)
        #expect(failure?.response?.text == body)
    }

    @Test func `Without an envelope the whole body is decoded`() async throws {
        let service = APIService.sample { $0.envelope = nil }
        let goods = try await result(GoodsRequest.self, #"[{"id":1,"name":"a"}]"#, service: service).get()
        #expect(goods.count == 1)
    }

    @Test func `An envelope may have other names and codes, also under snake case`() async throws {
        let service = APIService.sample {
            $0.envelope?.codeKey = "err_code"
            $0.envelope?.dataKey = "result"
            $0.envelope?.successCodes = [0, 1]
            $0.decoder.keyDecodingStrategy = .convertFromSnakeCase
        }
        #expect(try await result(GoodsRequest.self, #"{"err_code":1,"result":[]}"#, service: service).get().isEmpty)
        #expect(await result(GoodsRequest.self, #"{"err_code":200}"#, service: service).error?.type == .server)
    }

    @Test func `Text, data, nothing and JSON of any shape need no custom type`() async throws {
        #expect(try await result(TextRequest.self, "plain", contentType: "text/plain").get() == "plain")
        #expect(try await result(TextRequest.self, #"{"errcode":200,"data":"inside"}"#).get() == "inside")
        #expect(try await result(DataRequest.self, "%PDF", contentType: "application/pdf").get() == Data("%PDF".utf8))
        try await result(NothingRequest.self, "", status: 204).get()
        try await result(NothingRequest.self, #"{"errcode":200}"#).get()
        let value = try await result(JSONRequest.self, #"{"errcode":200,"data":{"a":[1,2.5,"x",null,true]}}"#).get()
        #expect(value["a"]?[0]?.int == 1)
        #expect(value["a"] == .array([.int(1), .double(2.5), .string("x"), .null, .bool(true)]))
    }

    @Test func `An HTML page in the place of an envelope is no success, even of a request without a response`()
        async throws
    {
        let page = "\r\n<!DOCTYPE html><title>Blocked</title>"
        let failure = await result(NothingRequest.self, page, contentType: "text/html; charset=utf-8").error
        #expect(failure?.type == .decoding && failure?.status == 200)
        #expect(failure?.reason == "the response is not JSON (text/html, begins with <!DOCTYPE html)")
        for (text, type) in [("OK", "text/html"), (page, "text/plain"), ("", "text/html"), ("{}", "text/html")] {
            try await result(NothingRequest.self, text, contentType: type).get()
        }
        let service = APIService.sample { $0.envelope = nil }
        try await result(NothingRequest.self, page, contentType: "text/html", service: service).get()
    }

    @Test func `No body is no envelope, also for a type that has a value for null`() async throws {
        for status in [200, 204] {
            #expect(await result(JSONRequest.self, "", status: status).error?.type == .decoding)
            #expect(try await result(GenericRequest<Goods?>.self, "", status: status).get() == nil)
        }
        let service = APIService.sample { $0.envelope = nil }
        #expect(try await result(JSONRequest.self, "", status: 204, service: service).get() == .null)
    }

    @Test(arguments: ["application/json", "text/html; charset=utf-8", "text/plain", "application/octet-stream", ""])
    func `A business failure is detected if text, data, nothing or a file is expected`(_ type: String) async {
        for body in [#"{"errcode":9,"msg":"no"}"#, "\u{FEFF}\r\n {\"errcode\":9}"] {
            #expect(await result(TextRequest.self, body, contentType: type).error?.code == 9)
            #expect(await result(DataRequest.self, body, contentType: type).error?.code == 9)
            #expect(await result(NothingRequest.self, body, contentType: type).error?.code == 9)
            #expect(await result(FileRequest.self, body, contentType: type).error?.code == 9)
        }
        let expired = #"{"errcode":11010}"#
        #expect(await result(NothingRequest.self, expired, contentType: type).error?.type == .loginExpired)
    }

    @Test(arguments: [String.Encoding.utf16BigEndian, .utf16LittleEndian, .utf32BigEndian, .utf32LittleEndian])
    func `A business failure is detected in any encoding of JSON`(_ encoding: String.Encoding) async {
        // `JSONDecoder` refuses the mark of the last one.
        for mark in encoding == .utf32LittleEndian ? [""] : ["", "\u{FEFF}"] {
            let body = mark + #"{"errcode":9}"#
            #expect(await result(NothingRequest.self, body, contentType: "", encoding: encoding).error?.code == 9)
            #expect(await result(TextRequest.self, body, contentType: "text/html", encoding: encoding).error?.code == 9)
            #expect(await result(FileRequest.self, body, contentType: "text/html", encoding: encoding).error?.code == 9)
        }
    }

    @Test(arguments: ["text/html; charset=utf-8", "text/plain", ""])
    func `Text is the data of an envelope whatever its Content-Type`(_ type: String) async throws {
        let body = #"{"errcode":200,"data":"a.png"}"#
        #expect(try await result(TextRequest.self, body, contentType: type).get() == "a.png")
        #expect(try await result(TextRequest.self, "\u{FEFF} \(body)", contentType: type).get() == "a.png")
        #expect(try await result(DataRequest.self, body, contentType: type).get() == Data(body.utf8))
        let missing = await result(TextRequest.self, #"{"errcode":200}"#, contentType: type).error
        #expect(missing?.reason == "the envelope has no data to decode String from")
        var service = APIService.sample()
        service.adapters.data = [Adapter { data, _ in data = Data(#""adapted""#.utf8) }]
        #expect(try await result(TextRequest.self, body, contentType: type, service: service).get() == "adapted")
        let php = APIService.sample { $0.decoder = .lenient }
        #expect(try await result(GenericRequest<Goods?>.self, #"{"errcode":200,"data":[]}"#, service: php).get() == nil)
        service.envelope?.dataKey = nil
        #expect(try await result(TextRequest.self, body, contentType: type, service: service).get() == body)
        service.envelope?.dataKey = "data"
        // Every object would be an envelope.
        service.envelope?.codeKey = nil
        #expect(try await result(TextRequest.self, body, contentType: type, service: service).get() == body)
    }

    @Test func `A missing array is named as in JSON`() async throws {
        let error = await result(GenericRequest<[Int]>.self, #"{"errcode":200,"data":null}"#).error
        #expect(error?.description.contains("data is null, not array") == true)
    }

    @Test(arguments: [#"{"total":9}"#, #"{"errcode":"#, "{", "body { errcode: 9 }"])
    func `What is no envelope is text and data of another type`(_ body: String) async throws {
        #expect(try await result(TextRequest.self, body, contentType: "text/css").get() == body)
        #expect(try await result(DataRequest.self, body, contentType: "text/css").get() == Data(body.utf8))
        try await result(NothingRequest.self, body, contentType: "text/css").get()
    }

    @Test(arguments: [
        ("[1,2]", "the response is no object"), (#"{"id":1}"#, "no errcode"), ("7", "the response is no"),
    ])
    func `A response without the service's envelope is described as such`(_ body: String, _ place: String) async {
        let error = await result(GenericRequest<[Int]>.self, body).error
        #expect(error?.type == .decoding)
        #expect(error?.reason?.hasPrefix("the response is not in the service's envelope (\(place)") == true)
        #expect(error?.reason?.hasSuffix(", and a request `.wholeBody`") == true)
    }

    @Test func `Optional data may be missing`() async throws {
        final class OptionalRequest: SampleRequest, APIManager {
            typealias Response = Goods?
        }
        let idle = OptionalRequest(proxy: .sample())
        #expect(idle.response == Optional<Goods?>.none && idle.cachedResponse == Optional<Goods?>.none)
        #expect(try await result(OptionalRequest.self, #"{"errcode":200,"data":null}"#).get() == nil)
        #expect(try await result(OptionalRequest.self, #"{"errcode":200}"#).get() == nil)
        #expect(try await result(OptionalRequest.self, #"{"errcode":200,"data":{"id":1,"name":"a"}}"#).get()?.id == 1)
    }
}

private final class MaybeRequest: SampleRequest, APIManager {
    typealias Response = Goods?
}

private struct Empty: Decodable, Equatable {}

private final class EmptyRequest: SampleRequest, APIManager {
    typealias Response = Empty
}

private final class GenericRequest<Content: Decodable & Sendable>: SampleRequest, APIManager {
    typealias Response = Content
}

private final class FileRequest: SampleRequest, APIManager {
    typealias Response = DownloadedFile
}

private final class PickyRequest: SampleRequest, APIManager {
    typealias Response = [Goods]

    var responseSerializer: ResponseSerializer<[Goods]> {
        ResponseSerializer { _, _ in throw APIError(.server, message: "too few", code: 7) }
    }
}

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
