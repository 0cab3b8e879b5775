import Errand
import ErrandTesting
import Synchronization

/// What adapters are called with for a send, so that they can be called again and again without a load.
struct AdaptedSend: Sendable {
    private typealias Call<Subject: Sendable> = (subject: Subject, context: AdapterContext)

    private struct Calls {
        var params: Call<APIParams?>?
        var request: Call<HTTPRequest>?
        var response: Call<APIResponse>?
    }

    let params: APIParams?
    let paramContext: AdapterContext
    let request: HTTPRequest
    let requestContext: AdapterContext
    let response: APIResponse
    let responseContext: AdapterContext

    /// Sends a load, and keeps what reaches the adapters of the service before they change it.
    init(
        _ service: APIService,
        params: APIParams,
        respond: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse = { _ in Scripted.nothing }
    ) async throws {
        let calls = Mutex(Calls())
        var service = service
        service.adapters.params.insert(
            Adapter { params, context in
                calls.withLock { [params] in $0.params = (params, context) }
            },
            at: 0
        )
        service.adapters.request.insert(
            Adapter { request, context in
                calls.withLock { [request] in $0.request = (request, context) }
            },
            at: 0
        )
        service.adapters.response.insert(
            Adapter { response, context in
                calls.withLock { [response] in $0.response = (response, context) }
            },
            at: 0
        )
        let network = ScriptedTransport(keepsRequests: false) { try respond($0) }
        try await PostRequest(proxy: APIProxy(service: service, transport: network)).value(params: .given(params))
        let made = calls.withLock { $0 }
        guard let params = made.params, let request = made.request, let response = made.response else {
            throw BenchFailure("an adapter was not called")
        }
        (self.params, paramContext) = params
        (self.request, requestContext) = request
        (self.response, responseContext) = response
    }
}

/// A request with a body, whose response has no data.
private final class PostRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/nothing"
    let method = HTTPMethod.post
}
