import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("Adapters of failures see each one, replace it, and ask for another try", .hangLimit, .timeLimit(.minutes(10)))
struct FailureAdapterTests {
    private let seen = Seen()

    /// What adapters have seen, in order.
    private final class Seen: Sendable {
        private let lines = Lock<[String]>([])
        var all: [String] { lines.withLock(\.self) }

        func note(_ error: APIError, _ context: AdapterContext) {
            lines.withLock { $0.append("\(context.attempt) \(error.type) \(context.request?.method.rawValue ?? "-")") }
        }

        var adapter: Adapter<APIError> { Adapter { error, context in self.note(error, context) } }
    }

    private func proxy(
        _ transport: ScriptedTransport,
        _ adapters: [Adapter<APIError>],
        _ change: (inout APIService) -> Void = { _ in }
    ) -> APIProxy {
        let service = APIService.sample {
            $0.adapters.failure = adapters
            change(&$0)
        }
        return APIProxy(service: service, transport: transport)
    }

    private func failure(_ proxy: APIProxy, _ options: APIRequestOptions = APIRequestOptions()) async -> APIError? {
        await #expect(throws: APIError.self) {
            try await APIRequest<[Goods]>("/goods", options: options, proxy: proxy).value()
        }
    }

    @Test func `Failures with and without a response are seen, also those before a request is made`() async {
        let status = await failure(proxy(ScriptedTransport { _ in .status(404) }, [seen.adapter]))
        #expect(status?.type == .http && status?.status == 404)
        let lost = ScriptedTransport { _ in throw TransportError(.badResponse, "no HTTP") }
        #expect(await failure(proxy(lost, [seen.adapter]))?.type == .transport)
        #expect(await failure(proxy(ScriptedTransport { _ in .json("[") }, [seen.adapter]))?.type == .decoding)
        let headers = proxy(ScriptedTransport { _ in .status(200) }, [seen.adapter]) {
            $0.commonHeaders = { throw APIError(.storage, reason: "no keychain") }
        }
        #expect(await failure(headers)?.type == .storage)
        #expect(seen.all == ["1 http GET", "1 transport GET", "1 decoding GET", "1 storage -"])
    }

    @Test func `Adapters and retry decisions see the text of the ending, which another error with its code keeps`()
        async
    {
        let texts = Lock<[String]>([])
        let adapter = Adapter<APIError> { error, _ in
            texts.withLock { [error] in $0.append(error.message) }
            error = APIError(.server, code: error.code, response: error.response)
        }
        let transport = ScriptedTransport { _ in .json(#"{"errcode":"E7","msg":"by server"}"#) }
        let proxy = proxy(transport, [adapter]) {
            $0.retryPolicy = RetryPolicy(maxRetries: 1)
            $0.retryPolicy.decide = { error, _ in
                texts.withLock { $0.append(error.message) }
                return false
            }
        }
        #expect(await failure(proxy)?.message == "by server")
        #expect(texts.withLock(\.self) == ["by server", "by server"])
    }

    @Test func `A text that an adapter has set changes nothing else of the error`() async {
        let lost = ScriptedTransport { _ in throw TransportError(.connectionLost, "lost") }
        let adapter = Adapter<APIError> { error, _ in error.message = "Please try again later." }
        let texts = ErrorMessages { _ in "by localize" }
        let proxy = proxy(lost, [adapter]) {
            ($0.retryPolicy, $0.errorMessages) = (RetryPolicy(maxRetries: 2), texts)
            $0.retryPolicy.baseDelay = .zero
        }
        let error = await failure(proxy)
        #expect(error?.message == "Please try again later." && error?.type == .transport)
        #expect((error?.underlying as? TransportError)?.kind == .connectionLost)
        #expect(lost.requests.count == 3)
        let form = ScriptedTransport { _ in .json(#"{"name":["too short"]}"#, status: 422) }
        let refused = await failure(self.proxy(form, [adapter]) { $0.failureReader = .djangoREST })
        #expect(refused?.message == "Please try again later." && refused?.fieldMessages == ["name": ["too short"]])
    }

    @Test func `Adapters and retry decisions see whose failure it is`() async throws {
        let owners = Lock<[String]>([])
        let note = { @Sendable (error: APIError) in
            let (method, path) = (error.method?.rawValue ?? "-", error.path ?? "-")
            owners.withLock { $0.append("\(error.requestID.map { "\($0)" } ?? "-") \(method) \(path)") }
        }
        let transport = ScriptedTransport { _ in throw TransportError(.connectionLost, "lost") }
        let proxy = proxy(transport, [Adapter { error, _ in note(error) }]) {
            $0.retryPolicy = RetryPolicy(maxRetries: 1)
            $0.retryPolicy.decide = { error, _ in
                note(error)
                return false
            }
        }
        let error = try #require(await failure(proxy))
        let id = try #require(error.requestID)
        #expect(owners.withLock(\.self) == ["\(id) GET /goods", "\(id) GET /goods"])
    }

    @Test func `A success and a cancelled load are not seen`() async throws {
        let silent = proxy(ScriptedTransport { _ in .json(goodsJSON([])) }, [seen.adapter])
        _ = try await APIRequest<[Goods]>("/goods", proxy: silent).value()
        let hanging = proxy(
            ScriptedTransport { _ in throw TransportError(.cancelled, "by the transport") },
            [seen.adapter]
        )
        #expect(await failure(hanging)?.type == .cancelled)
        #expect(seen.all == [])
    }

    @Test func `What one leaves is seen by the next, decided about by the retry policy, and ends the load`()
        async
    {
        let replacing = Adapter<APIError> { error, _ in
            error = APIError(.server, message: "closed for today", code: 9, response: error.response)
        }
        let transport = ScriptedTransport { _ in .status(503) }
        let screen = Screen()
        let proxy = proxy(transport, [replacing, seen.adapter]) { $0.retryPolicy = RetryPolicy() }
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.method = .get
        let id = request.loadData()
        #expect(await screen.ending() == .failure(.server))
        #expect(request.error?.message == "closed for today" && request.error?.status == 503)
        #expect(request.error?.requestID == id && request.error?.path == "/goods")
        #expect(transport.requests.count == 1, "a server failure is not retried")
        #expect(seen.all == ["1 server GET"])
    }

    @Test func `An error that one throws replaces the failure`() async {
        struct Strange: Error {}
        let adapters = [Adapter<APIError>("explainer") { _, _ in throw Strange() }, seen.adapter]
        let error = await failure(proxy(ScriptedTransport { _ in .status(404) }, adapters))
        #expect(error?.type == .http && error?.underlying is Strange && error?.status == 404)
        #expect(error?.reason == "explainer could not adapt the failure")
        #expect(seen.all == ["1 http GET"])
        let own = proxy(ScriptedTransport { _ in .status(404) }, [Adapter { _, _ in throw APIError(.noNetwork) }])
        #expect(await failure(own)?.type == .noNetwork)
    }

    @Test(arguments: [HTTPMethod.get, .post])
    func `One asks for another try, whatever the method, once for each load`(_ method: HTTPMethod) async throws {
        let responses = Responses([.status(500), .json(goodsJSON([]))])
        let again = Adapter<APIError> { _, _ in throw AdapterRetry.again() }
        let healed = ScriptedTransport { _ in responses.next() }
        let request = APIRequest<[Goods]>("/goods", method: method, proxy: proxy(healed, [seen.adapter, again]))
        _ = try await request.value()
        #expect(healed.requests.count == 2)
        let broken = ScriptedTransport { _ in .status(500) }
        let error = await failure(proxy(broken, [again, seen.adapter]))
        #expect(error?.type == .http && error?.status == 500 && error?.underlying == nil)
        #expect(broken.requests.count == 2)
        #expect(seen.all == ["1 http \(method.rawValue)", "2 http GET"], "the second try is not asked for")
    }

    @Test func `A failure that a relogin repairs is not seen, and one that it does not is`() async throws {
        let account = Account()
        let responses = Responses([.status(401), .json(goodsJSON([]))])
        let repaired = proxy(ScriptedTransport { _ in responses.next() }, [seen.adapter]) {
            $0.reloginHandler = account
        }
        _ = try await APIRequest<[Goods]>("/goods", proxy: repaired).value()
        #expect(account.logins == 1 && seen.all == [])
        let refused = proxy(ScriptedTransport { _ in .status(401) }, [seen.adapter]) { $0.reloginHandler = account }
        #expect(await failure(refused)?.type == .loginExpired)
        #expect(seen.all == ["2 loginExpired GET"])
    }

    @Test func `Those of a request follow those of its service, and a plain call has them too`() async throws {
        let order = Lock<[String]>([])
        func noting(_ name: String) -> Adapter<APIError> { Adapter { _, _ in order.withLock { $0.append(name) } } }
        let proxy = proxy(ScriptedTransport { _ in throw TransportError(.badResponse, "no HTTP") }, [noting("service")])
        _ = await failure(proxy, APIRequestOptions(adapters: Adapters(failure: [noting("request")])))
        let service = try #require(proxy.defaultService)
        await #expect(throws: APIError.self) {
            try await proxy.send(HTTPRequest(.get, service.baseURL), to: service)
        }
        #expect(order.withLock(\.self) == ["service", "request", "service"])
    }

    @Test func `The status of a plain call is no failure, and its response is returned`() async throws {
        let replacing = Adapter<APIError> { error, _ in error = APIError(.server) }
        let proxy = proxy(ScriptedTransport { _ in .status(404) }, [seen.adapter, replacing])
        let service = try #require(proxy.defaultService)
        #expect(try await proxy.send(HTTPRequest(.get, service.baseURL), to: service).status == 404)
        #expect(seen.all == [])
    }

    @Test func `A request adapter that asks for another try twice is a failure that is seen`() async {
        let again = Adapter<HTTPRequest> { _, _ in throw AdapterRetry.again() }
        let proxy = proxy(ScriptedTransport { _ in .status(200) }, [seen.adapter]) { $0.adapters.request = [again] }
        #expect(await failure(proxy)?.type == .invalidRequest)
        #expect(seen.all == ["2 invalidRequest -"])
    }

    @Test func `A cancel while one waits ends the load at once, and nothing follows`() async {
        let (entered, gate) = (Latch(), Latch())
        let waiting = Adapter<APIError> { error, _ in
            entered.open()
            try? await gate.wait()
            error = APIError(.server)
        }
        let screen = Screen()
        let transport = ScriptedTransport { _ in .status(500) }
        let request = GoodsRequest(delegate: screen, proxy: proxy(transport, [waiting]))
        request.loadData()
        try? await entered.wait()
        let tasks = request.proxy.loads.tasks
        request.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        gate.open()
        for task in tasks { await task.value }
        #expect(tasks.count == 1 && screen.events == [.cancelled] && transport.requests.count == 1)
    }
}
