import ErrandTesting
import Foundation
import Testing
import TestSupport

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

@MainActor
@Suite("Adapters apply to every kind of load", .hangLimit, .timeLimit(.minutes(10)))
struct AdaptedLoadTests {
    private final class Texts: PageAPIRequest<PageModel<String>>, APIManager {
        let path = "/texts"
        let method = HTTPMethod.get
        override var strategy: any PageStrategy {
            LinkStrategy(next: .body("next"), allowedOrigins: [URL("https://pages.test")])
        }
    }

    private let journal = AdapterJournal()
    private let screen = Screen()

    private func proxy(_ transport: ScriptedTransport, _ change: (inout APIService) -> Void = { _ in }) -> APIProxy {
        let service = APIService.sample {
            $0.adapters = journal.adapters("1")
            change(&$0)
        }
        return APIProxy(fake: transport, service: service)
    }

    // MARK: Joined loads

    private func held(_ gate: Latch) -> ScriptedTransport {
        ScriptedTransport { _ in
            try await gate.wait()
            return .json(goodsJSON([Goods(id: 1, name: "tea")]))
        }
    }

    private func joining(_ proxy: APIProxy, _ adapters: Adapters) -> APIRequest<[Goods]> {
        var options = APIRequestOptions(adapters: adapters)
        options.coalescesIdentical = true
        return APIRequest("/goods", options: options, delegate: screen, proxy: proxy)
    }

    private func renaming(_ name: String) -> Adapters {
        var adapters = Adapters()
        adapters.response = [
            Adapter { response, _ in response.body = Data(response.text.replacing("tea", with: name).utf8) }
        ]
        adapters.data = [
            Adapter { data, _ in data = Data(String(decoding: data, as: UTF8.self).replacing("1", with: "2").utf8) }
        ]
        return adapters
    }

    @Test func `Loads that share an exchange have their responses adapted one by one`() async {
        let gate = Latch()
        let transport = held(gate)
        let proxy = proxy(transport)
        let requests = ["a", "b", "c"].map { joining(proxy, renaming($0)) }
        for request in requests { request.loadData() }
        await suspend(while: proxy.sharedLoadCount < 3)
        gate.open()
        #expect(await screen.endings(of: requests) == [.success, .success, .success])
        #expect(transport.requests.count == 1)
        #expect(requests.map { $0.response?.first } == ["a", "b", "c"].map { Goods(id: 2, name: $0) })
        for kind in AdapterKind.allCases { #expect(journal.contexts(of: kind).count == 3) }
        #expect(Set(journal.contexts(of: .response).map(\.id)).count == 3)
    }

    @Test func `Loads whose request adapters differ share no exchange`() async {
        let gate = Latch()
        let transport = held(gate)
        let proxy = proxy(transport)
        let requests = (0..<2).map { number in
            var adapters = Adapters()
            adapters.request = [Adapter { request, _ in request.headers["X-Number"] = "\(number)" }]
            return joining(proxy, adapters)
        }
        for request in requests { request.loadData() }
        await transport.waitForRequests(2)
        #expect(proxy.sharedLoadCount == 2)
        gate.open()
        #expect(await screen.endings(of: requests) == [.success, .success])
    }

    @Test func `One of the loads that share an exchange is sent again alone`() async {
        let gate = Latch()
        let transport = held(gate)
        let proxy = proxy(transport)
        let again = Adapters([.response]) { _, context in if context.attempt == 1 { throw AdapterRetry.again() } }
        let requests = [joining(proxy, again), joining(proxy, Adapters())]
        for request in requests { request.loadData() }
        await suspend(while: proxy.sharedLoadCount < 2)
        gate.open()
        #expect(await screen.endings(of: requests) == [.success, .success])
        #expect(transport.requests.count == 2)
        #expect(journal.contexts(of: .request).map(\.attempt).sorted() == [1, 1, 2])
    }

    // MARK: Plain calls

    @Test func `A plain call to a service has its request and its response adapted, whatever the status`() async throws
    {
        let transport = ScriptedTransport { _ in .json("", status: 404) }
        let proxy = proxy(transport) {
            $0.adapters.response.append(Adapter { response, _ in response.headers["X-Seen"] = "1" })
        }
        let service = try #require(proxy.defaultService)
        let response = try await proxy.send(HTTPRequest(.get, URL("/plain")), to: service)
        #expect(response.status == 404 && response.headers["X-Seen"] == "1")
        #expect(journal.names == ["request 1", "response 1"])
        #expect(journal.calls.compactMap(\.context?.path).allSatisfy { $0.hasSuffix("/plain") })
        _ = try await proxy.send(HTTPRequest(.get, URL("http://shop.test/plain")))
        #expect(journal.calls.count == 2, "one without a service is not adapted")
    }

    @Test func `An error of an adapter is not the response of a plain call`() async throws {
        let transport = ScriptedTransport { _ in .json("[]") }
        let other = APIResponse(HTTPResponse(status: 404), url: URL("http://other.test"))
        for kind in [AdapterKind.request, .response] {
            let proxy = proxy(transport) {
                $0.adapters = Adapters([kind]) { _, _ in throw APIError(.http, response: other) }
            }
            let service = try #require(proxy.defaultService)
            let error = await #expect(throws: APIError.self) {
                try await proxy.send(HTTPRequest(.get, URL("/plain")), to: service)
            }
            #expect(error?.type == .http && error?.status == 404)
        }
    }

    @Test func `A plain call is sent again once for an adapter`() async throws {
        let transport = ScriptedTransport { _ in .json("[]") }
        let proxy = proxy(transport) {
            $0.adapters.response = [Adapter { _, context in if context.attempt == 1 { throw AdapterRetry.again() } }]
        }
        let service = try #require(proxy.defaultService)
        let response = try await proxy.send(HTTPRequest(.post, URL("/plain")), to: service)
        #expect(response.status == 200 && transport.requests.count == 2)
    }

    // MARK: Lists, batches and chains

    @Test func `Param adapters see what a list adds for a page`() async throws {
        let pages = [0..<10, 10..<15].map { "[\($0.map(String.init).joined(separator: ","))]" }
        let responses = Responses(pages.map { .json(#"{"errcode":200,"data":\#($0)}"#) })
        let transport = ScriptedTransport { _ in responses.next() }
        let proxy = proxy(transport) {
            $0.adapters.params = [
                Adapter { params, _ in
                    let offset = params?["offset"] as? Int ?? -1
                    params?["signature"] = "of \(offset)"
                }
            ]
        }
        let list = OffsetNumbers(proxy: proxy)
        #expect(try await list.allItems() == Array(0..<15))
        let queries = transport.requests.compactMap { $0.url.query(percentEncoded: false) }
        #expect(queries.map { $0.contains("signature=of+") } == [true, true])
        #expect(queries.last?.contains("of+10") == true)
        #expect(journal.contexts(of: .data).map(\.attempt) == [1, 1])
    }

    @Test func `Each request of a batch and of a chain is adapted`() async throws {
        let transport = ScriptedTransport { _ in .json(goodsJSON([Goods(id: 1, name: "tea")])) }
        let proxy = proxy(transport)
        let requests = (0..<3).map { _ in GoodsRequest(proxy: proxy) }
        _ = try await APIBatch.values(of: requests)
        let chain = APIChain()
        let first = chain.add(GoodsRequest(proxy: proxy))
        _ = chain.add { () throws -> GoodsRequest in
            let request = GoodsRequest(proxy: proxy)
            request.path = "/goods/\(try first.value[0].id)"
            return request
        }
        try await chain.run()
        for kind in AdapterKind.allCases { #expect(Set(journal.contexts(of: kind).map(\.id)).count == 5) }
    }

    // MARK: Links to another origin

    @Test func `For a link to another origin only the response and its data are adapted`() async throws {
        let responses = Responses([
            .json(#"{"results":["1"],"next":"https://pages.test/2"}"#), .json(#"{"results":["2"],"next":null}"#),
        ])
        let transport = ScriptedTransport { _ in responses.next() }
        var service = APIService(baseURL: URL("https://shop.test/api"))
        (service.envelope, service.retryPolicy) = (nil, .never)
        service.adapters = journal.adapters("1")
        service.adapters.response.append(
            Adapter { [journal] response, context in
                journal.note("\(response.url.host ?? "") \(context.attempt) \(context.request?.url.host ?? "")")
            }
        )
        let list = Texts(proxy: APIProxy(fake: transport, service: service))
        #expect(try await list.allItems() == ["1", "2"])
        #expect(
            journal.names == [
                "params 1", "request 1", "response 1", "shop.test 1 shop.test", "data 1",
                "response 1", "pages.test 1 pages.test", "data 1",
            ]
        )
    }
}

@MainActor
@Suite("A failure of an adapter is that of its load", .hangLimit, .timeLimit(.minutes(10)))
struct AdapterFailureTests {
    private struct Broken: Error {}

    private let clock = ManualClock()
    private let screen = Screen()
    private let transport = ScriptedTransport { _ in .json(goodsJSON([])) }

    private func proxy(
        _ kind: AdapterKind,
        _ change: (inout APIService) -> Void = { _ in },
        limits: QueueLimits = QueueLimits(),
        adapt: @escaping @Sendable (AdapterContext) async throws -> Void
    ) -> APIProxy {
        let service = APIService.sample {
            change(&$0)
            $0.adapters = Adapters([kind]) { _, context in try await adapt(context) }
        }
        return APIProxy(service: service, transport: transport, queueLimits: limits, clock: clock)
    }

    private func error(_ proxy: APIProxy) async -> APIError? {
        await #expect(throws: APIError.self) { try await APIRequest<[Goods]>("/goods", proxy: proxy).value() }
    }

    // MARK: Errors

    @Test(arguments: AdapterKind.allCases)
    func `Any error is invalidRequest on the way out, and decoding with the response on the way in`(
        _ kind: AdapterKind
    ) async {
        let error = await error(proxy(kind) { _ in throw Broken() })
        #expect(error?.type == (kind.isOutward ? .invalidRequest : .decoding))
        #expect(error?.underlying is Broken)
        #expect(error?.reason?.hasPrefix("an adapter ") == true)
        #expect(error?.status == (kind.isOutward ? nil : 200))
        #expect(transport.requests.count == (kind.isOutward ? 0 : 1))
    }

    @Test(arguments: AdapterKind.allCases)
    func `An APIError is the error of the load, with the response on the way in`(_ kind: AdapterKind) async {
        let error = await error(proxy(kind) { _ in throw APIError(.security, reason: "no key") })
        #expect(error?.type == .security && error?.reason == "no key")
        #expect(error?.path == "/goods" && error?.status == (kind.isOutward ? nil : 200))
    }

    @Test(arguments: AdapterKind.allCases)
    func `A load does not end as cancelled because something else was cancelled`(_ kind: AdapterKind) async {
        for error in [APIError(.cancelled), CancellationError()] as [any Error] {
            let error = await self.error(proxy(kind) { _ in throw error })
            #expect(error?.type == (kind.isOutward ? .invalidRequest : .decoding))
        }
    }

    @Test(arguments: AdapterKind.allCases)
    func `loginExpired of an adapter starts a relogin, as that of a response does`(_ kind: AdapterKind) async throws {
        let account = Account()
        let proxy = proxy(kind, { $0.reloginHandler = account }) { context in
            if context.attempt == 1 { throw APIError(.loginExpired) }
        }
        _ = try await APIRequest<[Goods]>("/goods", proxy: proxy).value()
        #expect(account.logins == 1)
    }

    // MARK: Another try

    @Test(arguments: AdapterKind.allCases)
    func `An adapter has its load sent again after a delay, also a POST without retries`(
        _ kind: AdapterKind
    ) async throws {
        let proxy = proxy(kind) { context in
            if context.attempt == 1 { throw AdapterRetry.again(after: .seconds(3)) }
        }
        let load = Task { try await APIRequest<[Goods]>("/goods", method: .post, proxy: proxy).value() }
        await clock.waitForSleepers()
        clock.advance(by: .milliseconds(2_999))
        #expect(clock.sleepers == 1)
        clock.advance(by: .milliseconds(1))
        _ = try await load.value
        #expect(transport.requests.count == (kind.isOutward ? 1 : 2))
    }

    @Test(arguments: AdapterKind.allCases)
    func `The second time in one load it is a failure that says so`(_ kind: AdapterKind) async {
        let attempts = Counter()
        let error = await error(
            proxy(kind) { _ in
                _ = attempts.next()
                throw AdapterRetry.again()
            }
        )
        #expect(error?.type == (kind.isOutward ? .invalidRequest : .decoding))
        #expect(error?.reason?.contains("AdapterRetry, the second one of this load") == true)
        #expect(error?.underlying is AdapterRetry)
        #expect(error?.status == (kind.isOutward ? nil : 200))
        #expect(attempts.count == 2)
    }

    @Test func `It leaves the replay after a relogin and the retries to the load`() async throws {
        let account = Account()
        let responses = Responses([.status(401), .status(503), .status(503), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let service = APIService.sample {
            $0.reloginHandler = account
            ($0.retryPolicy, $0.retryPolicy.baseDelay) = (RetryPolicy(), .zero)
            $0.adapters.request = [Adapter { _, context in if context.attempt == 1 { throw AdapterRetry.again() } }]
        }
        let proxy = APIProxy(service: service, transport: transport, clock: clock)
        _ = try await APIRequest<[Goods]>("/goods", proxy: proxy).value()
        #expect(transport.requests.count == 4 && account.logins == 1)
    }

    @Test func `A load that waits for another try has no place in the queue, and can be cancelled`() async {
        let proxy = proxy(.response, limits: QueueLimits(perHost: 1, total: 1)) { context in
            if context.path == "/again" { throw AdapterRetry.again(after: .seconds(3)) }
        }
        let waiting = GoodsRequest(delegate: screen, proxy: proxy)
        waiting.path = "/again"
        waiting.loadData()
        await clock.waitForSleepers()
        let other = GoodsRequest(delegate: screen, proxy: proxy)
        other.loadData()
        #expect(await screen.ending() == .success)
        waiting.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        await sentinel(proxy)
        await suspend(while: clock.sleepers > 0)
        #expect(transport.requests.count == 2)
    }

    @Test func `AdapterRetry of anything but an adapter is an ordinary error`() async {
        let service = APIService.sample { $0.commonHeaders = { throw AdapterRetry.again() } }
        let ofHeaders = await error(APIProxy(fake: transport, service: service))
        #expect(ofHeaders?.type == .invalidRequest && transport.requests.isEmpty)
        let serializer = ResponseSerializer<[Goods]> { _, _ in throw AdapterRetry.again() }
        let request = APIRequest("/goods", responseSerializer: serializer, proxy: APIProxy(fake: transport))
        #expect(await #expect(throws: APIError.self) { try await request.value() }?.type == .decoding)
        #expect(transport.requests.count == 1)
    }

    // MARK: Cancelling

    @Test(arguments: AdapterKind.allCases)
    func `After a cancel the next adapter is not called, even if the one before ignores the cancel`(
        _ kind: AdapterKind
    ) async throws {
        let (begun, gate, calls) = (Latch(), Latch(), Counter())
        let service = APIService.sample {
            $0.adapters = Adapters([kind]) { _, _ in
                begun.open()
                await gate.waitIgnoringCancellation()
            }
            $0.adapters.append(Adapters { called, _ in if called == kind { _ = calls.next() } })
        }
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport, service: service))
        request.loadData()
        try await begun.wait()
        request.cancelAllRequests()
        gate.open()
        #expect(await screen.ending() == .cancelled)
        await sentinel(request.proxy)
        #expect(calls.count == 0 && transport.requests.count == (kind.isOutward ? 0 : 1))
        #expect(screen.events == [.cancelled])
    }
}
