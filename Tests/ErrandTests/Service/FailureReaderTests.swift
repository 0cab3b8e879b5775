import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Code and message of any error body", .hangLimit, .timeLimit(.minutes(10)))
struct FailureReaderTests {
    private func error(
        _ body: String,
        status: Int = 400,
        contentType: String = "application/json",
        _ change: (inout APIService) -> Void = { $0.failureReader = .djangoREST }
    ) async -> APIError? {
        let response = HTTPResponse(status: status, headers: ["Content-Type": contentType], body: Data(body.utf8))
        let service = APIService.sample {
            $0.envelope = nil
            change(&$0)
        }
        let request = JSONRequest(proxy: APIProxy(fake: ScriptedTransport { _ in response }, service: service))
        do throws(APIError) { _ = try await request.value() } catch {}
        #expect(request.errorType == request.error?.type)
        return request.error
    }

    @Test(arguments: ["x\\ud83d", "x\\ud83d\\u0041", "x\\udc00"])
    func `A message with half a character, and damage elsewhere, hide no failure`(_ text: String) async {
        let body = #"{"errors":[{"message":"\#(text)"}],"more":1e400,"data":null}"#
        let failure = await error(body, status: 200) { service in
            service.failureReader = .keys(message: "errors.0.message", readsSuccess: true)
        }
        #expect(failure?.type == .server)
        #expect(failure?.message.hasPrefix("x\u{FFFD}") == true)
    }

    @Test func `The detail of Django REST framework is the message`() async {
        let failure = await error(#"{"detail":"Not found."}"#, status: 404)
        #expect(failure?.type == .http)
        #expect(failure?.message == "Not found.")
        #expect(failure?.code == nil)
        let expired = await error(
            #"{"detail":"Expired.","code":"token_not_valid","messages":[{"a":"b"}]}"#,
            status: 401
        )
        #expect(expired?.type == .loginExpired)
        #expect(expired?.code == "token_not_valid")
        #expect(expired?.message == "Expired.")
        #expect(expired?.fieldMessages.isEmpty == true)
    }

    @Test func `The fields of Django REST framework have their messages`() async {
        let failure = await error(
            #"{"name":["Required.","Too short."],"non_field_errors":["No."],"items":[{},{"price":["Not a number."]}]}"#
        )
        #expect(failure?.message == "No.\nitems.1.price: Not a number.\nname: Required.\nname: Too short.")
        #expect(failure?.fieldMessages["name"] == ["Required.", "Too short."])
        #expect(failure?.fieldMessages["items.1.price"] == ["Not a number."])
        #expect(await error(#"["Too many."]"#)?.message == "Too many.")
        for body in ["{}", "[]", "<html>", "", "7", #"{"a":1}"#] {
            let failure = await error(body, status: 500)
            #expect(failure?.message == "The server could not handle the request.")
            #expect(failure?.type == .http)
        }
    }

    @Test func `Long names and many messages are limited`() async throws {
        let name = String(repeating: "n", count: 100_000)
        let texts = (0..<5_000).map { "\"\($0)\":\"\"" }.joined(separator: ",")
        for reader in [FailureReader.djangoREST, .problemDetails] {
            let body = #"{"errors":{"\#(name)":{\#(texts)},"a":{\#(texts)}}}"#
            let failure = await error(body, contentType: "application/problem+json") { $0.failureReader = reader }
            let messages = try #require(failure?.fieldMessages)
            #expect(messages.count == 1_000)
            #expect(messages.keys.allSatisfy { $0.utf8.count <= 256 })
        }
    }

    @Test func `Problem details that say nothing leave the envelope to be read`() async {
        for body in [#"{"errcode":11010}"#, #"{"title":"Forbidden","errcode":11010}"#] {
            let failure = await error(body, status: 403, contentType: "application/problem+json") {
                $0.envelope = Envelope()
            }
            #expect(failure?.type == .loginExpired)
            #expect(failure?.code == 11010)
        }
    }

    @Test func `Problem details are read by default`() async {
        let body = #"{"type":"https://shop.test/sold-out","title":"Sold out","detail":"茶售罄","errors":{"id":["gone"]}}"#
        for type in ["application/problem+json", "Application/Problem+JSON; charset=utf-8"] {
            let failure = await error(body, contentType: type) { _ in }
            #expect(failure?.message == "茶售罄")
            #expect(failure?.code == "https://shop.test/sold-out")
            #expect(failure?.fieldMessages == ["id": ["gone"]])
        }
        let blank = #"{"type":"about:blank","title":"Not Found"}"#
        let failure = await error(blank, status: 404, contentType: "application/problem+json") { _ in }
        #expect(failure?.message == "Not Found")
        #expect(failure?.code == nil)
        let pointers = ##"{"errors":[{"detail":"old","pointer":"#/items/0/age"},{"detail":"no"},{"pointer":"/a"}]}"##
        let many = await error(pointers, contentType: "application/problem+json") { _ in }
        #expect(many?.fieldMessages == ["items.0.age": ["old"], "non_field_errors": ["no"]])
        let other = await error(body) { _ in }
        #expect(other?.code == nil)
    }

    @Test func `Readers are used in turn, and a thrown error is nothing`() async {
        struct Unreadable: Error {}
        let readers = FailureReader.problemDetails.or(FailureReader { _ in throw Unreadable() })
            .or(.keys(code: "error.code", message: "error.texts.0")).or(.djangoREST)
        let first = await error(#"{"error":{"code":7,"texts":["seven"]}}"#) { $0.failureReader = readers }
        #expect(first?.code == 7)
        #expect(first?.message == "seven")
        let named = await error(#"{"error.code":8,"error":{"code":7,"texts":[]}}"#) { $0.failureReader = readers }
        #expect(named?.code == 8)
        let second = await error(#"{"detail":"last"}"#) { $0.failureReader = readers }
        #expect(second?.message == "last")
        let none = await error(#"{"detail":"last"}"#) { $0.failureReader = nil }
        #expect(none?.message == "The server could not handle the request.")
    }

    @Test func `An app's reader reads a body of any format`() async {
        let failure = await error("E7|closed", status: 503, contentType: "text/plain") {
            $0.failureReader = FailureReader { response in
                let parts = response.text.split(separator: "|").map(String.init)
                return ServerFailure(code: ServerCode(parts[0]), message: parts[1], type: .server)
            }
        }
        #expect(failure?.type == .server)
        #expect(failure?.code == "E7")
        #expect(failure?.message == "closed")
        #expect(failure?.status == 503)
        let cancelled = await error("", status: 400) {
            $0.failureReader = FailureReader { _ in ServerFailure(type: .cancelled) }
        }
        #expect(cancelled?.type == .http)
    }

    @Test func `A 2xx response is read only by a reader for 2xx responses`() async {
        let body = #"{"error":{"code":-32600,"message":"no"}}"#
        let read: @Sendable (APIResponse) throws -> ServerFailure? = { response in
            let error = try JSONValue(json: response.body)["error"]
            return error.map { ServerFailure(code: ServerCode($0["code"]?.int ?? 0), message: $0["message"]?.string) }
        }
        #expect(await error(body, status: 200) { $0.failureReader = FailureReader(read) } == nil)
        let failure = await error(body, status: 200) { $0.failureReader = FailureReader(readsSuccess: true, read) }
        #expect(failure?.type == .server)
        #expect(failure?.code == -32600)
        #expect(failure?.message == "no")
        #expect(await error("{}", status: 200) { $0.failureReader = FailureReader(readsSuccess: true, read) } == nil)
    }

    @Test func `Keys read a refusal with 200 where they are to`() async {
        let body = #"{"errors":[{"message":"no","extensions":{"code":"FORBIDDEN"}}],"data":null}"#
        let (code, message) = ("errors.0.extensions.code", "errors.0.message")
        let failure = await error(body, status: 200) {
            $0.failureReader = .keys(code: code, message: message, readsSuccess: true)
        }
        #expect(failure?.type == .server && failure?.code == "FORBIDDEN" && failure?.message == "no")
        #expect(await error(body, status: 200) { $0.failureReader = .keys(code: code, message: message) } == nil)
        let success = await error(#"{"data":{}}"#, status: 200) {
            $0.failureReader = .keys(code: code, message: message, readsSuccess: true)
        }
        #expect(success == nil)
    }

    @Test(arguments: [200, 299, 400, 500]) func `A reader that is called by another one reads any status`(
        _ status: Int
    ) async {
        let body = #"{"error":{"code":7,"text":"seven"}}"#
        let response = APIResponse(.json(body, status: status), url: URL("http://shop.test/a"))
        let keys = FailureReader.keys(code: "error.code", message: "error.text")
        for reader in [keys, keys.or(.djangoREST), FailureReader.problemDetails.or(keys)] {
            #expect(reader.failure(in: response)?.message == "seven")
            let composed = FailureReader(readsSuccess: true) { reader.failure(in: $0) }
            let failure = await error(body, status: status) { $0.failureReader = composed }
            #expect(failure?.code == 7 && failure?.type == (status < 300 ? .server : .http))
        }
    }

    @Test func `Of readers in turn, only those for 2xx responses read one`() async {
        let body = #"{"error":{"code":7,"text":"seven"},"message":"eight"}"#
        let reader = FailureReader.keys(message: "message")
            .or(.keys(code: "error.code", message: "error.text", readsSuccess: true))
        #expect(await error(body, status: 200) { $0.failureReader = reader }?.message == "seven")
        #expect(await error(body, status: 400) { $0.failureReader = reader }?.message == "eight")
    }

    @Test func `What a reader does not find is read in the envelope`() async {
        let failure = await error(#"{"errcode":7,"msg":"seven"}"#) { $0.envelope = Envelope() }
        #expect(failure?.code == 7)
        #expect(failure?.message == "seven")
    }

    @Test func `The envelope completes what a reader finds in a success or a refusal`() async {
        let body = #"{"errcode":11010,"msg":"Check the form","errors":["a"]}"#
        let read = { @Sendable (_: APIResponse) -> ServerFailure? in ServerFailure(fieldMessages: ["a": ["b"]]) }
        let refused = await error(body, status: 422) {
            ($0.envelope, $0.failureReader) = (Envelope(), FailureReader(read))
        }
        #expect(refused?.code == 11010 && refused?.message == "Check the form")
        let expired = await error(body, status: 200) {
            ($0.envelope, $0.failureReader) = (Envelope(), FailureReader(readsSuccess: true, read))
        }
        #expect(expired?.type == .loginExpired && expired?.code == 11010)
        let other = await error(#"{"errcode":200,"msg":"fine"}"#, status: 200) {
            ($0.envelope, $0.failureReader) = (Envelope(), FailureReader(readsSuccess: true, read))
        }
        #expect(other?.type == .server && other?.code == nil)
    }

    @Test func `The reader's code and message precede those of the envelope, whose code replaces a missing one`() async
    {
        let body = #"{"errcode":7,"msg":"seven","error":{"code":"E8","text":"eight"}}"#
        for (key, code) in [("error.code", ServerCode("E8")), ("error.none", ServerCode(7))] {
            let failure = await error(body) {
                $0.envelope = Envelope()
                $0.failureReader = .keys(code: key, message: "error.text")
            }
            #expect(failure?.code == code)
            #expect(failure?.message == "eight")
        }
    }

    @Test func `A reader may report an expired login, except to a login request`() async throws {
        let service = APIService.sample {
            $0.failureReader = FailureReader { _ in ServerFailure(message: "again", type: .loginExpired) }
        }
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport { _ in .status(440) }, service: service))
        #expect(await request.outcome() == .loginExpired)
        request.customLogin = true
        #expect(await request.outcome() == .http)
        #expect(request.error?.message == "again")
    }

    @Test func `A refused download is read as well`() async throws {
        let folder = try TemporaryFolder()
        let service = APIService.sample {
            $0.envelope = nil
            $0.failureReader = FailureReader(readsSuccess: true) { response in
                try JSONValue(json: response.body)["error"]?.string.map { ServerFailure(message: $0) }
            }
        }
        let transport = ScriptedTransport { _ in .json(#"{"error":"no such invoice"}"#) }
        let request = Invoice(proxy: APIProxy(fake: transport, service: service))
        request.file = folder.url.appending(path: "invoice.pdf")
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .server)
        #expect(error?.message == "no such invoice")
        #expect(!FileManager.default.fileExists(atPath: request.file.path))
    }
}

@MainActor @Suite("Texts of errors", .hangLimit, .timeLimit(.minutes(10)))
struct ErrorMessagesTests {
    private func message(_ response: HTTPResponse, _ messages: ErrorMessages) async -> String? {
        let service = APIService.sample { $0.errorMessages = messages }
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport { _ in response }, service: service))
        _ = await request.outcome()
        return request.error?.message
    }

    @Test func `Texts are found by code, then server, then status, then type`() async {
        var messages = ErrorMessages(byType: [.http: "by type"])
        #expect(await message(.status(503), messages) == "by type")
        messages.byStatus[503] = "by status"
        #expect(await message(.status(503), messages) == "by status")
        #expect(await message(.status(502), messages) == "by type")
        let response = HTTPResponse.json(#"{"errcode":"E7","msg":"by server"}"#, status: 503)
        #expect(await message(response, messages) == "by server")
        messages.byCode["E7"] = "by code"
        #expect(await message(response, messages) == "by code")
    }

    @Test(arguments: [
        HTTPResponse.json(#"{"errcode":"E7","msg":"Invalid access token passed."}"#, status: 401),
        .json(#"{"errcode":11010,"msg":"Invalid access token passed."}"#),
    ])
    func `The app's text for an expired login precedes the server's`(_ response: HTTPResponse) async {
        var messages = ErrorMessages()
        #expect(await message(response, messages) == "Invalid access token passed.")
        messages.byType[.loginExpired] = "by type"
        #expect(await message(response, messages) == "by type")
        messages.byStatus[response.status] = "by status"
        #expect(await message(response, messages) == "by status")
        messages.byCode = ["E7": "by code", 11010: "by code"]
        #expect(await message(response, messages) == "by code")
        messages.localize = { "\($0.message), localized" }
        #expect(await message(response, messages) == "by code, localized")
    }

    @Test func `After a refused relogin a screen shows the app's text`() async {
        let account = Account()
        account.fails = true
        let service = APIService.sample {
            $0.errorMessages.byType[.loginExpired] = "Please sign in again."
            $0.reloginHandler = account
        }
        let body = #"{"errcode":"M_UNKNOWN_TOKEN","msg":"Invalid access token passed."}"#
        let refusal = HTTPResponse.json(body, status: 401)
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport { _ in refusal }, service: service))
        #expect(await request.outcome() == .loginExpired)
        #expect(request.error?.message == "Please sign in again." && account.logins == 1)
        #expect(request.error?.response?.serverMessage == "Invalid access token passed.")
    }

    @Test func `A closure localizes each error, or leaves it as it is`() async {
        var messages = ErrorMessages(byCode: ["E7": "by code"])
        messages.localize = { error in
            error.type == .http ? "\(error.status ?? 0) \(error.code?.text ?? "-"): \(error.message)" : nil
        }
        let response = HTTPResponse.json(#"{"errcode":"E7","msg":"by server"}"#, status: 503)
        #expect(await message(response, messages) == "503 E7: by code")
        let refusal = HTTPResponse.json(#"{"errcode":"E8","msg":"by server"}"#)
        #expect(await message(refusal, messages) == "by server")
        let others = ErrorMessages(byStatus: [503: "by status"], localize: { "\($0.message), localized" })
        #expect(await message(.status(503), others) == "by status, localized")
    }

    @Test func `The texts of a service apply to every error that has none of an app`() async {
        let service = APIService.sample { $0.errorMessages.byType[.invalidRequest] = "refused here" }
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport { _ in .status(200) }, service: service))
        request.reform = { _ in ["number": Double.nan] }
        #expect(await request.outcome() == .invalidRequest)
        #expect(request.error?.message == "refused here")
        var own = service
        own.adapters.request = [Adapter { _, _ in throw APIError(.invalidRequest, message: "by the app") }]
        (request.customService, request.reform) = (own, { $0 })
        #expect(await request.outcome() == .invalidRequest)
        #expect(request.error?.message == "by the app")
    }
}

private final class Invoice: SampleRequest, APIManager {
    typealias Response = DownloadedFile
    var file = URL("file:///none")
    override var destination: HTTPRequest.Destination { .file(file) }
}
