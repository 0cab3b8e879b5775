import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Errors describe the failure and contain no secrets", .hangLimit, .timeLimit(.minutes(10)))
struct APIErrorTests {
    private func error(_ response: HTTPResponse, service: APIService = .sample()) async -> APIError? {
        let headers: HTTPHeaders = ["Authorization": "Bearer s3cret", "Cookie": "sid=s3cret"]
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport { _ in response }, service: service))
        request.customHeaders = headers
        request.method = .get
        request.reform = { _ in ["token": "s3cret"] }
        return await #expect(throws: APIError.self) { try await request.value() }
    }

    @Test func `The text for the code precedes the server's, which precedes the one for the type`() async {
        let response = HTTPResponse.json(#"{"errcode":7,"msg":"from the server"}"#)
        let silent = HTTPResponse.json(#"{"errcode":7}"#)
        let service = APIService.sample { $0.errorMessages.byType[.server] = "for the type" }
        #expect(await error(silent)?.message == "The server refused the request.")
        #expect(await error(silent, service: service)?.message == "for the type")
        let blank = HTTPResponse.json(#"{"errcode":7,"msg":" "}"#)
        #expect(await error(blank, service: service)?.message == "for the type")
        #expect(await error(response, service: service)?.message == "from the server")
        var translated = service
        translated.errorMessages.byCode[7] = "for the code"
        #expect(await error(response, service: translated)?.message == "for the code")
        #expect(await error(response)?.localizedDescription == "from the server")
    }

    @Test(
        .fault(66),
        arguments: [
            HTTPResponse(status: 500, headers: ["Set-Cookie": "sid=s3cret"], body: Data("s3cret".utf8)),
            .json(#"{"errcode":200,"data":"s3cret"}"#), .json("s3cret"),
            .json(#"{"errcode":200,"data":[{"id":"s3cret"}]}"#),
        ]
    )
    func `No description of an error contains a secret`(_ response: HTTPResponse) async throws {
        let error = try #require(await error(response))
        var dumped = ""
        dump(error, to: &dumped)
        dump(error.response, to: &dumped)
        for text in ["\(error)", String(reflecting: error), error.localizedDescription, dumped] {
            #expect(!text.contains("s3cret"), "\(text)")
            #expect(!text.isEmpty)
        }
    }

    @Test func `A decoding error names the position and not the value`() async {
        let wrong = await error(.json(#"{"errcode":200,"data":[{"id":1,"name":"a"},{"id":"s3cret","name":"b"}]}"#))
        #expect(wrong?.description == "decoding, GET /goods, HTTP 200, data.[1].id is no Int")
        let missing = await error(.json(#"{"errcode":200,"data":[{"id":1}]}"#))
        #expect(missing?.description == "decoding, GET /goods, HTTP 200, no data.[0].name")
        let shapes = [("[7]", "data.[0] is no object"), ("{}", "data is no array")]
        for (data, place) in shapes {
            let error = await error(.json(#"{"errcode":200,"data":\#(data)}"#))
            #expect(error?.description == "decoding, GET /goods, HTTP 200, \(place)")
        }
    }

    @Test func `The type of an app's error is in the description, and its text is not`() async {
        struct NoToken: Error { let text = "s3cret" }
        let service = { @Sendable (service: inout APIService) in
            service.adapters.request = [Adapter { _, _ in throw NoToken() }]
        }
        let request = GoodsRequest(proxy: APIProxy(service: .sample(service), transport: ScriptedTransport()))
        let error = await #expect(throws: APIError.self) { try await request.value() }
        let reason = "an adapter could not adapt the request (NoToken)"
        #expect(error?.description == "invalidRequest, POST /goods, \(reason)")
    }

    @Test func `The keys of a dictionary, which the server chooses, are not in a description`() async {
        let body = #"{"errcode":200,"data":{"s3cret@mail.test":{"id":1,"names":{"s3cret":7}}}}"#
        let request = AccountsRequest(proxy: APIProxy(fake: ScriptedTransport { _ in .json(body) }))
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.description == "decoding, POST /goods, HTTP 200, data.*.names.* is no String")
        let large = #"{"errcode":200,"data":{"s3cret@mail.test":1e400}}"#
        let json = JSONRequest(proxy: APIProxy(fake: ScriptedTransport { _ in .json(large) }))
        let malformed = await #expect(throws: APIError.self) { try await json.value() }
        #expect(malformed?.description.contains("s3cret") == false)
    }

    @Test(arguments: [
        (TransportError.Kind.invalidRequest, APIErrorType.invalidRequest), (.noNetwork, .noNetwork),
        (.hostNotFound, .transport), (.cannotConnect, .transport), (.connectionLost, .transport),
        (.badResponse, .transport), (.timeout, .timeout),
        (.security, .security), (.responseTooLarge, .responseTooLarge), (.storage, .storage),
    ])
    func `Each transport error has its type`(_ kind: TransportError.Kind, _ type: APIErrorType) async {
        let transport = ScriptedTransport { _ throws(TransportError) in throw TransportError(kind, "why") }
        let request = GoodsRequest(proxy: APIProxy(fake: transport))
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == type)
        #expect(error?.reason == "why")
        #expect(error?.underlying is TransportError)
    }

    @Test(.fault(66)) func `A path that is not part of a valid URL is not quoted, because it contains parameters`() {
        var draft = RequestDraft(method: .get, path: "/users/{token}")
        draft.params = ["token": "s3cret"]
        let error = #expect(throws: APIError.self) {
            try draft.request(for: .sample { $0.baseURL = URL("mailto:nobody") })
        }
        #expect(error?.type == .invalidRequest)
        #expect(error?.description.contains("base URL") == true)
        #expect(error?.description.contains("s3cret") == false)
    }

    /// The failures of a load.
    enum Failure: CaseIterable {
        case http, server, decoding, wire, refusedParams, refusedResponse, noService, parameters, login, cancelled,
            adapting
    }

    @Test(arguments: Failure.allCases)
    func `Each error of a load names its method and path, without parameters`(_ failure: Failure) async throws {
        let validator = ValidatorSpy()
        validator.acceptsParams = { _ in failure != .refusedParams }
        validator.acceptsContent = { _ in failure != .refusedResponse }
        let proxy = APIProxy(
            service: service(failure),
            transport: ScriptedTransport { [self] _ in try response(failure) }
        )
        let request = GoodsRequest(proxy: proxy)
        (request.validator, request.method, request.path) = (validator, .put, "/users/{token}/goods?key=s3cret#s3cret")
        request.reform = { _ in failure == .parameters ? ["token": Double.nan] : ["token": "s3cret"] }
        if failure == .cancelled { Task { proxy.cancelAllRequests() } }
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.method == .put)
        #expect(error?.path == "/users/{token}/goods")
        #expect(error?.description.hasPrefix("\(error?.type.rawValue ?? ""), PUT /users/{token}/goods") == true)
        #expect(error?.description.contains("s3cret") == false)
        if failure != .cancelled { #expect(request.error?.path == error?.path) }
    }

    private func service(_ failure: Failure) -> APIService? {
        guard failure != .noService else { return nil }
        return .sample {
            $0.loginExpiredStatuses = failure == .login ? [500] : []
            if failure == .adapting {
                $0.adapters.request = [Adapter { _, _ in throw APIError(.security, reason: "no key") }]
            }
        }
    }

    private nonisolated func response(_ failure: Failure) throws -> HTTPResponse {
        switch failure {
        case .wire: throw TransportError(.connectionLost, "lost")
        case .http, .login: HTTPResponse(status: 500)
        case .server: .json(#"{"errcode":7}"#)
        case .decoding: .json(#"{"errcode":200,"data":7}"#)
        default: .json(goodsJSON([]))
        }
    }

    @Test func `The error of a plain call names the path of its URL`() async {
        let transport = ScriptedTransport { _ in throw TransportError(.timeout, "late") }
        let request = HTTPRequest(.get, URL("http://shop.test/a%20b?token=s3cret"))
        let error = await #expect(throws: APIError.self) { try await APIProxy(fake: transport).send(request) }
        #expect(error?.description == "timeout, GET /a%20b, late")
    }

    @Test func `An error without a load names none`() {
        #expect(APIError(.http).path == nil)
        #expect(
            APIError(.http, response: APIResponse(HTTPResponse(status: 404), url: URL("http://a.test"))).description
                == "http, HTTP 404"
        )
    }

    @Test func `Every type has a text`() {
        for type in APIErrorType.allCases { #expect(APIError(type).message.hasSuffix(".")) }
    }
}

private final class AccountsRequest: SampleRequest, APIManager {
    struct Account: Decodable {
        let id: Int
        let names: [String: String]
    }

    typealias Response = [String: Account]
}
