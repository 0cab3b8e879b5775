import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Validators that refuse with an error", .hangLimit, .timeLimit(.minutes(10)))
struct ValidatorTests {
    /// Refuses with errors.
    private final class Critic: APIManagerValidator {
        var paramsError: (any Error)?
        var responseError: (any Error)?

        func request(_ request: BaseAPIRequest, accepts params: APIParams?) throws -> Bool {
            if let paramsError { throw paramsError }
            return true
        }

        func request(
            _ request: BaseAPIRequest,
            accepts content: any Sendable,
            in response: APIResponse
        ) throws -> Bool {
            if let responseError { throw responseError }
            return true
        }
    }

    private let critic = Critic()
    private let transport = ScriptedTransport { _ in .json(goodsJSON([])) }

    private func request() -> GoodsRequest {
        let service = APIService.sample {
            $0.errorMessages.byType = [.invalidRequest: "for the request", .invalidResponse: "for the response"]
        }
        let request = GoodsRequest(proxy: APIProxy(fake: transport, service: service))
        request.validator = critic
        return request
    }

    @Test func `An error about the parameters is that of the load, and nothing is sent`() async {
        let request = request()
        critic.paramsError = APIError(.server, message: "name is missing", code: "E1")
        #expect(await request.outcome() == .server)
        #expect(request.error?.message == "name is missing")
        #expect(request.error?.code == "E1")
        #expect(request.error?.path == "/goods")
        critic.paramsError = APIError(.invalidRequest)
        #expect(await request.outcome() == .invalidRequest)
        #expect(request.error?.message == "for the request")
        #expect(transport.requests.isEmpty)
    }

    @Test func `An error of another type is the cause of a refusal`() async {
        struct Refused: Error {}
        let request = request()
        critic.paramsError = Refused()
        #expect(await request.outcome() == .invalidRequest)
        #expect(request.error?.underlying is Refused)
        (critic.paramsError, critic.responseError) = (nil, Refused())
        #expect(await request.outcome() == .invalidResponse)
        #expect(request.error?.underlying is Refused && request.error?.response?.status == 200)
    }

    @Test func `An error about the response is that of the load, and has the response`() async {
        let request = request()
        critic.responseError = APIError(.server, message: "sold out", reason: "no goods")
        #expect(await request.outcome() == .server)
        #expect(request.error?.message == "sold out")
        #expect(request.error?.description == "server, POST /goods, HTTP 200, no goods")
        #expect(request.error?.response?.status == 200)
        #expect(request.response == nil)
        critic.responseError = APIError(.invalidResponse)
        #expect(await request.outcome() == .invalidResponse)
        #expect(request.error?.message == "for the response")
        critic.responseError = nil
        #expect(await request.outcome() == nil)
    }
}
