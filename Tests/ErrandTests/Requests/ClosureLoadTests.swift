import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A closure may receive the ending of a load", .hangLimit, .timeLimit(.minutes(10)))
struct ClosureLoadTests {
    let screen = Screen(params: ["category": 7])
    let gate = Latch()
    private let results = Inbox<Result<[Goods], APIError>>()

    /// The endings that the closures of a test receive.
    @MainActor private final class Inbox<Value> {
        private(set) var values: [Value] = []
        func put(_ value: Value) { values.append(value) }
        func wait(for count: Int = 1) async {
            await suspend(while: values.count < count)
        }
    }

    private func gatedTransport() -> ScriptedTransport {
        ScriptedTransport { [gate] _ throws(TransportError) in
            try await gate.wait()
            return .json(goodsJSON([Goods(id: 1, name: "pen")]))
        }
    }

    /// Loads with a request that only this function refers to; the optimizer releases it after its last use.
    @inline(never) private func loadLocally(_ proxy: APIProxy, params: RequestParams = .source) -> (RequestID, Weak) {
        let request = GoodsRequest(delegate: screen, paramSource: screen, proxy: proxy)
        let weak = Weak(request)
        let id = request.loadData(params: params) { [results] in results.put($0) }
        return (id, weak)
    }

    @MainActor private final class Weak {
        weak var request: GoodsRequest?
        init(_ request: GoodsRequest) { self.request = request }
    }

    @Test func `A closure keeps a local request alive until the ending, which is its alone`() async throws {
        let transport = gatedTransport()
        let proxy = APIProxy(fake: transport)
        let (id, weak) = loadLocally(proxy)
        #expect(proxy.activeRequests.map(\.id) == [id])
        #expect(results.values.isEmpty)
        gate.open()
        await results.wait()
        await sentinel(proxy)
        #expect(try results.values.map { try $0.get() } == [[Goods(id: 1, name: "pen")]])
        #expect(transport.requests.first?.body == .data(Data(#"{"category":7}"#.utf8)))
        #expect(screen.events.isEmpty)
        #expect(weak.request == nil, "released after its ending")
    }

    @Test func `A closure receives the ending of a load with its own parameters`() async {
        let transport = gatedTransport()
        gate.open()
        screen.onParams = { _ in Issue.record("asked") }
        _ = loadLocally(APIProxy(fake: transport), params: ["text": "pen"])
        await results.wait()
        #expect(transport.requests.first?.body == .data(Data(#"{"text":"pen"}"#.utf8)))
    }

    @Test(arguments: 0..<3) func `A closure receives a cancel once, and the request is released`(_ manner: Int) async {
        let proxy = APIProxy(fake: gatedTransport())
        let (id, weak) = loadLocally(proxy)
        switch manner {
        case 0: proxy.cancelRequest(id)
        case 1: weak.request?.cancelAllRequests()
        default: proxy.logout()
        }
        #expect(results.values.isEmpty, "not inside the call")
        gate.open()
        await results.wait()
        await sentinel(proxy)
        #expect(results.values.map(\.error?.type) == [.cancelled])
        #expect(weak.request == nil)
        #expect(screen.events.isEmpty)
    }

    @Test func `A closure receives a failure before anything is sent`() async {
        let transport = gatedTransport()
        _ = loadLocally(APIProxy(fake: transport), params: ["price": Double.nan])
        #expect(results.values.isEmpty)
        await results.wait()
        #expect(results.values.map(\.error?.type) == [.invalidRequest])
        #expect(transport.requests.isEmpty)
    }

    @Test func `A closure is called after the list of hooks, with the indicator hidden, and may load again`() async {
        let (indicator, interceptor, proxy) = (IndicatorSpy(), InterceptorSpy(), APIProxy(fake: gatedTransport()))
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.interceptor = interceptor
        gate.open()
        request.loadData(indicator: indicator) { [results] result in
            #expect(indicator.isBalanced)
            #expect(interceptor.calls.last == .willEnd("success"))
            #expect(!request.isLoading && request.response?.count == 1)
            results.put(result)
            request.loadData { results.put($0) }
        }
        await results.wait(for: 2)
        await sentinel(proxy)
        #expect(interceptor.calls.filter { $0 == .didEnd("success") }.count == 2)
        #expect(results.values.count == 2)
    }

    @Test func `Under ignoreNew a closure and the delegate receive the ending of one load`() async {
        let transport = gatedTransport()
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport))
        request.customRestartPolicy = .ignoreNew
        let first = request.loadData()
        let joined = (0..<2).map { _ in request.loadData { [results] in results.put($0) } }
        #expect(joined == [first, first])
        gate.open()
        #expect(await screen.ending() == .success)
        await results.wait(for: 2)
        await sentinel(request.proxy)
        #expect(results.values.count == 2 && screen.events == [.success])
        #expect(transport.requests.count == 1)
    }

    @Test func `Under cancelPrevious each closure receives the ending of its load`() async {
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: gatedTransport()))
        request.loadData { [results] in results.put($0) }
        request.loadData { [results] in results.put($0) }
        gate.open()
        await results.wait(for: 2)
        #expect(results.values.map(\.error?.type) == [.cancelled, nil])
    }
}
