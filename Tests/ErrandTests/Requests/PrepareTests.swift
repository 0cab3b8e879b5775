import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A request shows what it would send", .hangLimit, .timeLimit(.minutes(10)))
struct PrepareTests {
    private let screen = Screen(params: ["q": "tea"])

    private func proxy(
        _ transport: ScriptedTransport = ScriptedTransport { _ in .json(goodsJSON([])) },
        _ change: (inout APIService) -> Void = { _ in }
    ) -> APIProxy {
        APIProxy(service: .sample(change), transport: transport)
    }

    @Test func `It is byte for byte what a load sends: parameters, headers, adapters and cookies`() async throws {
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let proxy = proxy(transport) {
            $0.commonHeaders = { ["X-Token": "t1"] }
            $0.commonParams = { ["v": 3] }
            $0.adapters.params = [Adapter { params, _ in params = params?.merging(["time": 7]) }]
            $0.adapters.request = [
                Adapter { request, _ in request.headers["X-Length"] = "\(request.headers.map(\.name).count)" }
            ]
        }
        let url = try #require(proxy.defaultService?.baseURL)
        _ = proxy.cookies.store(setCookie: "s=1; Path=/", from: url)
        let request = GoodsRequest(delegate: screen, paramSource: screen, proxy: proxy)
        request.customHeaders = ["X-Own": "1"]
        let prepared = try await request.prepare()
        #expect(transport.requests.isEmpty)
        #expect(prepared.headers["Cookie"] == "s=1" && prepared.headers["X-Token"] == "t1")
        request.loadData()
        #expect(await screen.ending() == .success)
        let sent = try #require(transport.requests.first)
        #expect(prepared.url == sent.url && prepared.method == sent.method && prepared.body == sent.body)
        #expect(prepared.headers.map { "\($0.name): \($0.value)" } == sent.headers.map { "\($0.name): \($0.value)" })
        #expect(prepared.timeout == sent.timeout && prepared.limits == sent.limits)
    }

    @Test func `It leaves no trace: no ending, no event, no load, and nothing to load again`() async throws {
        let recorder = EventRecorder()
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let proxy = proxy(transport)
        proxy.monitors = [recorder]
        let request = GoodsRequest(delegate: screen, paramSource: screen, proxy: proxy)
        request.loadData(params: ["q": "first"])
        #expect(await screen.ending() == .success)
        let (events, ending) = (recorder.steps().count, request.newestEndedID)
        _ = try await request.prepare(params: ["q": "second"])
        #expect(recorder.steps().count == events && request.newestEndedID == ending && screen.events.count == 1)
        #expect(!request.isLoading && proxy.activeRequests.isEmpty)
        let again = Screen()
        request.delegate = again
        request.loadAgain()
        #expect(await again.ending() == .success)
        let body = HTTPBody.data(Data(#"{"q":"first"}"#.utf8))
        #expect(transport.requests.map(\.body) == [body, body])
    }

    @Test func `A load that begins meanwhile is the one to load again`() async throws {
        let (entered, gate) = (Latch(), Latch())
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let counter = Counter()
        let proxy = proxy(transport) {
            $0.commonHeaders = {
                guard counter.next() == 1 else { return [:] }
                #expect(!isOnMainThread())
                entered.open()
                try await gate.wait()
                return [:]
            }
        }
        let request = GoodsRequest(delegate: screen, paramSource: screen, proxy: proxy)
        let prepared = Task { try await request.prepare(params: ["q": "prepared"]) }
        try await entered.wait()
        request.loadData(params: ["q": "meanwhile"])
        #expect(await screen.ending() == .success)
        gate.open()
        #expect(try await prepared.value.body == .data(Data(#"{"q":"prepared"}"#.utf8)))
        request.loadAgain()
        #expect(await screen.ending() == .success)
        let body = HTTPBody.data(Data(#"{"q":"meanwhile"}"#.utf8))
        #expect(transport.requests.map(\.body) == [body, body])
    }

    @Test func `Nothing of it is retained, also of a list that reports its progress`() async throws {
        weak var proxy: APIProxy?
        do {
            let made = self.proxy()
            proxy = made
            let list = NumbersRequest(proxy: made)
            _ = try await list.prepare()
        }
        await suspend(while: proxy != nil)
        #expect(proxy == nil)
    }

    @Test func `Of a list it is the first page, and the list stays as it is`() async throws {
        let list = NumbersRequest(proxy: proxy())
        let prepared = try await list.prepare()
        #expect(prepared.url.query()?.contains("page=1") == true)
        #expect(list.items.isEmpty && "\(list.refreshState) \(list.appendState)" == "idle idle")
    }

    @Test func `It fails as the load would before it is sent`() async {
        let missing = await #expect(throws: APIError.self) {
            try await APIRequest<[Goods]>("/goods/{id}", proxy: proxy()).prepare()
        }
        #expect(missing?.type == .invalidRequest && missing?.path == "/goods/{id}")
        let adapter = Adapter<HTTPRequest> { _, _ in throw APIError(.storage) }
        let refused = await #expect(throws: APIError.self) {
            try await APIRequest<[Goods]>("/goods", proxy: proxy { $0.adapters.request = [adapter] }).prepare()
        }
        #expect(refused?.type == .storage)
        let none = await #expect(throws: APIError.self) {
            try await APIRequest<[Goods]>("/goods", proxy: APIProxy(transport: ScriptedTransport())).prepare()
        }
        #expect(none?.type == .invalidRequest)
    }

    @Test func `An adapter that asks for another try has it once`() async throws {
        let counter = Counter()
        let again = Adapter<HTTPRequest> { request, _ in
            guard counter.next() > 1 else { throw AdapterRetry.again() }
            request.headers["X-Key"] = "new"
        }
        let request = APIRequest<[Goods]>("/goods", proxy: proxy { $0.adapters.request = [again] })
        #expect(try await request.prepare().headers["X-Key"] == "new")
        let always = Adapter<HTTPRequest> { _, _ in throw AdapterRetry.again() }
        let error = await #expect(throws: APIError.self) {
            try await APIRequest<[Goods]>("/goods", proxy: proxy { $0.adapters.request = [always] }).prepare()
        }
        #expect(error?.type == .invalidRequest && error?.underlying is AdapterRetry)
    }
}

private func isOnMainThread() -> Bool { Thread.isMainThread }

private final class NumbersRequest: PageAPIRequest<[Int]>, APIManager {
    let path = "/numbers"
    let method = HTTPMethod.get
    override var options: APIRequestOptions { APIRequestOptions(reportsProgress: true) }
}
