import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Loading again while loading follows the restart policy", .hangLimit, .timeLimit(.minutes(10)))
struct RestartTests {
    let screen = Screen()

    /// Responses request n with goods of ID n, when its gate opens.
    private func proxy(_ gates: [Latch]) -> APIProxy {
        let count = Counter()
        return APIProxy(
            fake: ScriptedTransport { _ throws(TransportError) in
                let number = count.next()
                try await gates[number - 1].wait()
                return .json(goodsJSON([Goods(id: number, name: "")]))
            }
        )
    }

    @Test(.fault(20)) func `cancelPrevious cancels the older load`() async {
        let gates = [Latch(), Latch()]
        let request = GoodsRequest(delegate: screen, proxy: proxy(gates))
        let first = request.loadData()
        let second = request.loadData()
        #expect(first != second)
        #expect(await screen.ending() == .cancelled)
        for gate in gates { gate.open() }
        #expect(await screen.ending() == .success)
        #expect(screen.events == [.cancelled, .success])
    }

    @Test func `Each ending names its load, on the request, the response, the error and in the endings`() async throws {
        let gates = [Latch(), Latch()]
        let request = GoodsRequest(delegate: screen, proxy: proxy(gates))
        request.customRestartPolicy = .concurrent
        #expect(request.newestEndedID == nil && !request.isSuccess)
        var endings = request.proxy.endings.makeAsyncIterator()
        let (first, second) = (request.loadData(), request.loadData())
        gates[1].open()
        #expect(await screen.ending() == .success)
        let newest = try #require(request.newestEndedID)
        #expect(request.rawResponse?.requestID == newest && request.isSuccess)
        #expect(try await endings.next()?.response?.requestID == newest)
        request.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        #expect(Set([first, second]) == [newest, try #require(request.newestEndedID)])
        #expect(try await endings.next()?.response == nil)
        #expect(request.isSuccess, "a cancellation replaces nothing")
        let failing = GoodsRequest(delegate: screen, proxy: APIProxy(fake: ScriptedTransport { _ in .status(404) }))
        let third = failing.loadData()
        #expect(await screen.ending() == .failure(.http))
        #expect(failing.error?.requestID == third && failing.error?.response?.requestID == third)
        #expect(failing.newestEndedID == third && !failing.isSuccess)
        failing.reset()
        #expect(failing.newestEndedID == nil)
    }

    @Test func `In the delegate the newest ending is its load, also if the indicator has reset the request`() async {
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: ScriptedTransport { _ in .status(404) }))
        let indicator = ResettingIndicator(request)
        var newest: RequestID?
        screen.onEvent = { _, _ in newest = request.newestEndedID }
        let id = request.loadData(indicator: indicator)
        #expect(await screen.ending() == .failure(.http))
        #expect(newest == id && !request.isSuccess && request.error == nil)
    }

    @Test func `An error that an app throws in another load keeps the load of its response`() async throws {
        let transport = ScriptedTransport { _ in .status(404) }
        let first = GoodsRequest(proxy: APIProxy(fake: transport))
        let error = try #require(await #expect(throws: APIError.self) { try await first.value() })
        let proxy = APIProxy(
            service: .sample { $0.adapters.request = [Adapter { _, _ in throw error }] },
            transport: transport
        )
        let second = GoodsRequest(delegate: screen, proxy: proxy)
        let id = second.loadData()
        #expect(await screen.ending() == .failure(.http))
        #expect(second.error?.requestID == id)
        #expect(second.error?.response?.requestID == first.newestEndedID && first.newestEndedID != id)
    }

    @Test(.fault(20)) func `ignoreNew sends nothing and returns the ID of the active load`() async {
        let gates = [Latch(), Latch()]
        let request = GoodsRequest(delegate: screen, proxy: proxy(gates))
        request.customRestartPolicy = .ignoreNew
        let first = request.loadData()
        #expect(request.loadData() == first)
        for gate in gates { gate.open() }
        #expect(await screen.ending() == .success)
        await request.waitUntilIdle()
        #expect(request.response?.first?.id == 1)
        #expect(screen.events == [.success])
        #expect((request.proxy.transport as? ScriptedTransport)?.requests.count == 1)
    }

    @Test func `Under ignoreNew the indicator of a load that does not begin is hidden with the running one`() async {
        let gates = [Latch()]
        let request = GoodsRequest(delegate: screen, proxy: proxy(gates))
        request.customRestartPolicy = .ignoreNew
        let first = request.loadData()
        let indicators = [IndicatorSpy(), IndicatorSpy()]
        #expect(request.loadData(indicator: indicators[0], message: "Refreshing") == first)
        request.loadData(indicator: indicators[1]) { _ in }
        #expect(indicators[0].shown == ["Refreshing"] && indicators.map(\.hides) == [0, 0])
        gates[0].open()
        #expect(await screen.ending() == .success)
        #expect(indicators.map(\.hides) == [1, 1])
        withExtendedLifetime(request) {}
    }

    @Test func `Under ignoreNew a load of another environment replaces the running one`() async {
        let gates = [Latch(), Latch()]
        let proxy = proxy(gates)
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.customRestartPolicy = .ignoreNew
        let first = request.loadData()
        proxy.defaultService?.environment = APIEnvironment("staging", baseURL: URL("http://staging.test"))
        let second = request.loadData()
        #expect(second != first && request.loadData() == second)
        for gate in gates { gate.open() }
        #expect(await screen.endings(2) == [.cancelled, .success])
        let sent = (proxy.transport as? ScriptedTransport)?.requests.last?.url
        #expect(sent?.host == "staging.test")
    }

    @Test(arguments: [RestartPolicy.cancelPrevious, .ignoreNew, .concurrent])
    func `A load that runs is the one that is needed only if it sends the same`(_ policy: RestartPolicy) async {
        let gates = [Latch(), Latch(), Latch()]
        let proxy = proxy(gates)
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.customRestartPolicy = policy
        let first = request.loadData(params: ["category": 7])
        #expect(request.loadIfNeeded(maxAge: .seconds(60), params: ["category": 7]) == first)
        let second = request.loadIfNeeded(maxAge: .seconds(60), params: ["category": 8])
        #expect((second == first) == (policy == .ignoreNew))
        for gate in gates.prefix(2) { gate.open() }
        let isOne = policy == .ignoreNew
        _ = await screen.endings(isOne ? 1 : 2)
        let category = isOne ? 7 : 8
        #expect(screen.events == (isOne ? [.success] : [policy == .concurrent ? .success : .cancelled, .success]))
        // What the request has is of no use while it loads something else, which would replace it.
        let third = request.loadData(params: ["category": 9])
        let fourth = request.loadIfNeeded(maxAge: .seconds(60), params: ["category": .init(category)])
        #expect((third == fourth) == isOne)
        gates[2].open()
        _ = await screen.endings(isOne ? 1 : 2)
        await request.waitUntilIdle()
        #expect(screen.events.last == .success)
    }

    @Test func `A load that runs in another environment, or of another path, is not the one that is needed`() async {
        let gates = [Latch(), Latch(), Latch()]
        let proxy = proxy(gates)
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        var ids = [request.loadData()]
        proxy.defaultService?.environment = APIEnvironment("staging", baseURL: URL("http://staging.test"))
        ids.append(request.loadIfNeeded(maxAge: .seconds(60)))
        request.path = "/others"
        ids.append(request.loadIfNeeded(maxAge: .seconds(60)))
        #expect(Set(ids).count == 3)
        for gate in gates { gate.open() }
        #expect(await screen.endings(3) == [.cancelled, .cancelled, .success])
        let sent = (proxy.transport as? ScriptedTransport)?.requests.last?.url
        #expect(sent?.absoluteString == "http://staging.test/others")
    }

    @Test func `A load that runs is the one that is needed also after a relogin, and in a hook of its own`() async {
        let (gate, account, refused) = (Latch(), Account(), Counter())
        let transport = ScriptedTransport { request in
            if request.url.path.hasSuffix("others") { return refused.next() == 1 ? .status(401) : .json(goodsJSON([])) }
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        let proxy = APIProxy(service: .sample { $0.reloginHandler = account }, transport: transport)
        let (request, other) = (
            GoodsRequest(delegate: screen, paramSource: screen, proxy: proxy), GoodsRequest(proxy: proxy)
        )
        var nested: [RequestID] = []
        screen.onParams = { _ in if request.isLoading { nested.append(request.loadIfNeeded(maxAge: .seconds(60))) } }
        let first = request.loadData()
        #expect(nested == [first])
        screen.onParams = { _ in }
        other.path = "/others"
        #expect(await other.outcome() == nil && account.logins == 1)
        #expect(request.loadIfNeeded(maxAge: .seconds(60)) == first)
        gate.open()
        #expect(await screen.ending() == .success)
        await request.waitUntilIdle()
        #expect(screen.events == [.success] && transport.requests.count == 3)
    }

    @Test func `Under ignoreNew a second tap sends nothing, also with a service that is made for each load`() async {
        final class Payment: BaseAPIRequest, APIManager {
            typealias Response = [Goods]
            let path = "/pay"
            let method = HTTPMethod.post
            override var service: APIService? { .sample() }
            override var restartPolicy: RestartPolicy { .ignoreNew }
        }
        let gates = [Latch(), Latch()]
        let payment = Payment(delegate: screen, proxy: proxy(gates))
        #expect(payment.loadData() == payment.loadData())
        gates[0].open()
        #expect(await screen.ending() == .success)
        await payment.waitUntilIdle()
        #expect(screen.events == [.success])
    }

    @Test func `A load that sends nothing is joined by none that is to send something`() async {
        let clock = ManualClock()
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let proxy = APIProxy(service: .sample(), transport: transport, clock: clock)
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.customRestartPolicy = .ignoreNew
        request.loadData()
        #expect(await screen.ending() == .success)
        clock.advance(by: .seconds(100))
        let former = request.loadIfNeeded(maxAge: .seconds(600))
        #expect(request.loadIfNeeded(maxAge: .seconds(100)) == former)
        #expect(request.loadIfNeeded(maxAge: .seconds(10)) != former)
        #expect(await screen.endings(2) == [.success, .success])
        clock.advance(by: .seconds(100))
        request.loadIfNeeded(maxAge: .seconds(600))
        request.loadData()
        #expect(await screen.endings(2) == [.success, .success])
        #expect(transport.requests.count == 3)
    }

    @Test func `What a load that was not needed ends with remains, whatever an older load has received meanwhile`()
        async
    {
        let gate = Latch()
        let transport = ScriptedTransport { request in
            let isOther = request.body == .data(Data(#"{"text":"tea"}"#.utf8))
            if isOther { try await gate.wait() }
            return .json(goodsJSON([Goods(id: isOther ? 2 : 1, name: "")]))
        }
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport))
        request.customRestartPolicy = .concurrent
        request.loadData(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        request.loadData(params: ["text": "tea"])
        request.reformGoods = { goods in
            request.reformGoods = { $0 }
            request.loadIfNeeded(maxAge: .seconds(60), params: ["text": "pen"])
            return goods
        }
        gate.open()
        #expect(await screen.endings(2) == [.success, .success])
        #expect(request.response?.first?.id == 1)
        request.loadIfNeeded(maxAge: .seconds(60), params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        #expect(transport.requests.count == 2)
    }

    @Test func `ignoreNew does not wait for a load that has just been cancelled`() async {
        let gates = [Latch(), Latch()]
        let request = GoodsRequest(delegate: screen, proxy: proxy(gates))
        request.customRestartPolicy = .ignoreNew
        let first = request.loadData()
        request.proxy.cancelRequest(first)
        #expect(request.loadData() != first)
        for gate in gates { gate.open() }
        #expect(await screen.endings(2) == [.cancelled, .success])
    }

    @Test func `Under ignoreNew an async call waits for the active load`() async throws {
        let gates = [Latch(), Latch()]
        let request = GoodsRequest(delegate: screen, proxy: proxy(gates))
        request.customRestartPolicy = .ignoreNew
        request.loadData()
        let joined = Task { try await request.value() }
        await suspend(while: request.waiters.isEmpty)
        gates[0].open()
        #expect(try await joined.value.first?.id == 1)
        #expect(await screen.ending() == .success)
    }

    @Test func `Under ignoreNew a delegate that joins the load of an async call is notified`() async throws {
        let gates = [Latch(), Latch()]
        let proxy = proxy(gates)
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.customRestartPolicy = .ignoreNew
        let caller = Task { try await request.value() }
        await suspend(while: !request.isLoading)
        let running = try #require(proxy.activeRequests.first?.id)
        #expect(request.loadData() == running)
        gates[0].open()
        #expect(try await caller.value.first?.id == 1)
        #expect(await screen.ending() == .success)
        gates[1].open()
        _ = try await request.value()
        await sentinel(proxy)
        #expect(screen.events == [.success], "the next load is the caller's alone")
    }

    @Test func `Under concurrent a newer failure does not remove an older response`() async {
        let (gates, count) = ([Latch(), Latch()], Counter())
        let transport = ScriptedTransport { _ in
            let number = count.next()
            try await gates[number - 1].wait()
            return number == 2 ? .status(500) : .json(goodsJSON([Goods(id: number, name: "")]))
        }
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport))
        request.customRestartPolicy = .concurrent
        request.loadData()
        await transport.waitForRequests(1)
        request.loadData()
        await transport.waitForRequests(2)
        gates[1].open()
        #expect(await screen.ending() == .failure(.http))
        gates[0].open()
        #expect(await screen.ending() == .success)
        #expect(request.response?.first?.id == 1)
        #expect(request.error?.status == 500, "the newest load has failed")
        #expect(request.rawResponse?.status == 500)
    }

    @Test func `A load without a response keeps the raw response of the previous load`() async {
        let count = Counter()
        let transport = ScriptedTransport { _ in
            guard count.next() == 1 else { throw TransportError(.connectionLost, "gone") }
            return .json(goodsJSON([]))
        }
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport))
        for _ in 1...2 {
            request.loadData()
            _ = await screen.ending()
        }
        #expect(request.error?.type == .transport)
        #expect(request.rawResponse?.status == 200)
    }

    @Test(.fault(20)) func `concurrent delivers each response, and an older never replaces a newer`() async {
        let gates = [Latch(), Latch()]
        let proxy = proxy(gates)
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.customRestartPolicy = .concurrent
        request.loadData()
        await suspend(while: (proxy.transport as? ScriptedTransport)?.requests.count != 1)
        request.loadData()
        await suspend(while: (proxy.transport as? ScriptedTransport)?.requests.count != 2)
        gates[1].open()
        #expect(await screen.ending() == .success)
        #expect(request.response?.first?.id == 2)
        gates[0].open()
        #expect(await screen.ending() == .success)
        #expect(request.response?.first?.id == 2)
        #expect(!request.isLoading)
    }
}

/// Resets its request when it is hidden.
@MainActor private final class ResettingIndicator: LoadingIndicator {
    private let request: BaseAPIRequest

    init(_ request: BaseAPIRequest) {
        self.request = request
    }

    func showLoading(_ message: String?) {}

    func hideLoading() { request.reset() }
}

@MainActor @Suite("A delegate may load the request that it receives again", .hangLimit, .timeLimit(.minutes(10)))
struct LoadAgainTests {
    let screen = Screen(params: ["category": 7])
    let transport = ScriptedTransport { _ in .json(goodsJSON([])) }

    private func request() -> GoodsRequest {
        GoodsRequest(delegate: screen, paramSource: screen, proxy: APIProxy(fake: transport))
    }

    private var texts: [String] {
        transport.requests.map {
            $0.body.pieces.map { if case .data(let data) = $0 { String(decoding: data, as: UTF8.self) } else { "" } }
                .joined()
        }
    }

    @Test func `A delegate of several requests distinguishes them by a switch`() async {
        final class TwoLists: APIManagerCallbackDelegate {
            lazy var goods = GoodsRequest(delegate: self, proxy: proxy)
            lazy var texts = TextRequest(delegate: self, proxy: proxy)
            let proxy: APIProxy
            var names: [String] = []

            init(_ proxy: APIProxy) { self.proxy = proxy }

            func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
                switch request {
                case goods: names.append("goods")
                case texts: names.append("texts")
                default: names.append("other")
                }
            }
            func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {}
        }
        let screen = TwoLists(APIProxy(transport: ScriptedTransport { _ in .json(#"{"errcode":200,"data":"a"}"#) }))
        screen.proxy.defaultService = .sample { $0.envelope = nil }
        for request in [screen.texts, TextRequest(delegate: screen, proxy: screen.proxy)] {
            request.loadData()
            await request.waitUntilIdle()
        }
        #expect(screen.names == ["texts", "other"])
        #expect(Set<BaseAPIRequest>([screen.goods, screen.texts, screen.goods]).count == 2)
        #expect(screen.goods != screen.texts)
    }

    @Test func `The parameters of the newest load are sent again, whatever the param source returns now`() async {
        let request = request()
        request.reform = { $0?.merging(["page": 1]) }
        request.loadData()
        #expect(await screen.ending() == .success)
        screen.params = ["category": 8]
        screen.onParams = { _ in Issue.record("asked") }
        (request as BaseAPIRequest).loadAgain()
        #expect(await screen.ending() == .success)
        request.loadData(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        request.loadAgain()
        #expect(await screen.ending() == .success)
        let expected = [#"{"category":7,"page":1}"#, #"{"page":1,"text":"pen"}"#]
        #expect(texts == [expected[0], expected[0], expected[1], expected[1]])
    }

    @Test func `A request that is reset is as before its first load`() async {
        let request = request()
        request.loadData()
        #expect(await screen.ending() == .success)
        request.loadData()
        request.reset()
        #expect(request.response == nil && request.rawResponse == nil && request.error == nil && !request.isLoading)
        #expect(await screen.ending() == .cancelled)
        #expect(request.response == nil && request.rawResponse == nil && request.error == nil)
        screen.params = ["category": 8]
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(request.response != nil)
        #expect(texts.last == #"{"category":8}"#)
    }

    @Test func `A load without parameters is repeated without any`() async {
        screen.params = nil
        let request = request()
        request.loadData()
        #expect(await screen.ending() == .success)
        screen.params = ["category": 8]
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(texts == ["", ""])
    }

    @Test func `A request that has not been loaded asks its param source`() async {
        let request = request()
        #expect(request.loadAgain() != nil)
        #expect(await screen.ending() == .success)
        #expect(texts == [#"{"category":7}"#])
    }

    @Test func `A request without the protocol cannot load`() {
        #expect(BaseAPIRequest(proxy: APIProxy(fake: transport)).loadAgain() == nil)
    }

    /// A request that has sent a part, and whose param source is not to be asked for it again.
    private func pictureRequest() async -> GoodsRequest {
        let request = request()
        request.customSerializer = .multipart
        screen.parts = { $0.append(Data("picture".utf8), name: "file") }
        request.loadData()
        #expect(await screen.ending() == .success)
        screen.parts = { _ in Issue.record("asked") }
        return request
    }

    @Test func `The parts of the newest load are sent again`() async {
        let request = await pictureRequest()
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(texts.count == 2)
        for text in texts { #expect(text.contains("picture") && text.contains("category")) }
    }

    @Test func `The parts of the newest load are sent again after a load that was cancelled before its parts`() async {
        let request = await pictureRequest()
        request.reform = { [unowned request] params in
            request.cancelAllRequests()
            return params
        }
        request.loadAgain()
        #expect(await screen.ending() == .cancelled)
        request.reform = { $0 }
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(texts.count == 2)
        for text in texts { #expect(text.contains("picture") && text.contains("category")) }
    }

    @Test func `A load that a param source begins inside another is the newest one`() async {
        let request = request()
        var isNested = false
        screen.onParams = { _ in
            guard !isNested else { return }
            isNested = true
            request.loadData(params: ["text": "inner"])
        }
        request.loadData()
        #expect(await screen.endings(2) == [.cancelled, .success])
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(texts.last == #"{"text":"inner"}"#)
    }

    @Test(arguments: [RestartPolicy.cancelPrevious, .ignoreNew, .concurrent])
    func `The restart policy applies`(_ policy: RestartPolicy) async {
        let request = request()
        request.customRestartPolicy = policy
        let first = request.loadData()
        let second = request.loadAgain()
        #expect((first == second) == (policy == .ignoreNew))
        let endings = await screen.endings(policy == .ignoreNew ? 1 : 2)
        #expect(endings == (policy == .cancelPrevious ? [.cancelled, .success] : endings.map { _ in .success }))
        await request.waitUntilIdle()
        #expect(screen.events.count == endings.count)
        #expect(Set(texts) == [#"{"category":7}"#])
    }

    @Test func `A delegate may load again inside the failure`() async {
        let responses = Responses([.status(500), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let request = GoodsRequest(delegate: screen, paramSource: screen, proxy: APIProxy(fake: transport))
        screen.onEvent = { failed, event in if event == .failure(.http) { failed.loadAgain() } }
        request.loadData(params: ["text": "pen"])
        #expect(await screen.endings(2) == [.failure(.http), .success])
        #expect(transport.requests.map(\.body) == Array(repeating: .data(Data(#"{"text":"pen"}"#.utf8)), count: 2))
    }

    @Test func `A key that is spent is not sent after a load that was not needed`() async {
        let (request, keys) = (request(), Counter())
        request.ownOptions.idempotencyKey = { "key \(keys.next())" }
        request.loadData()
        #expect(await screen.ending() == .success)
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.map { $0.headers["Idempotency-Key"] } == ["key 1", "key 2"])
    }

    @Test func `What another path of the service has sent is not enough for a load that may not be needed`() async {
        let transport = ScriptedTransport { .json(goodsJSON([Goods(id: 1, name: $0.url.path)])) }
        let proxy = APIProxy(service: .sample(), transport: transport)
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.method = .get
        request.loadData()
        #expect(await screen.ending() == .success)
        let former = request.response
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(transport.requests.count == 1)
        proxy.defaultService?.baseURL.append(path: "tenants/8")
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(transport.requests.count == 2 && request.response != former)
    }

    @Test func `A load that was not needed is the newest one, with its parameters`() async {
        let request = request()
        for text in ["tea", "pen"] {
            let id = request.loadData(params: ["text": text])
            if text == "pen" { request.cancelRequest(id) }
            #expect(await screen.ending() == (text == "pen" ? .cancelled : .success))
        }
        request.loadIfNeeded(maxAge: .seconds(60), params: ["text": "tea"])
        #expect(await screen.ending() == .success)
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(texts.last == #"{"text":"tea"}"#)
    }

    @Test func `A load that was not needed keeps the parts of the load that was`() async {
        let request = request()
        screen.parts = { $0.append(Data("picture".utf8), name: "file") }
        request.customSerializer = .multipart
        request.loadData()
        #expect(await screen.ending() == .success)
        screen.parts = { _ in }
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(texts.count == 2 && texts.allSatisfy { $0.contains("picture") })
    }
}

@MainActor @Suite("A load ends with the last of those who want it", .timeLimit(.minutes(10)))
struct JoinedLoadTests {
    let screen = Screen()

    /// Who wants a load until its end.
    enum Owner: CaseIterable, Sendable {
        case delegate, closure, caller
    }

    /// How a caller leaves.
    enum Leaving: CaseIterable, Sendable {
        case task, outcome, group
    }

    private func request(_ gate: Latch = Latch()) -> GoodsRequest {
        let transport = ScriptedTransport { _ throws(TransportError) in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport))
        request.customRestartPolicy = .ignoreNew
        return request
    }

    /// Begins or joins a load, and returns what receives its outcome.
    private func want(_ request: GoodsRequest, as owner: Owner) async -> @MainActor () async -> APIErrorType? {
        switch owner {
        case .delegate:
            request.loadData()
            return { [screen] in await screen.ending() == .success ? nil : .cancelled }
        case .closure:
            var outcome: APIErrorType??
            request.loadData { result in outcome = .some(result.error?.type) }
            return {
                await suspend(while: outcome == nil)
                return outcome ?? .cancelled
            }
        case .caller:
            let task = await caller(of: request)
            return { await task.value }
        }
    }

    /// Begins or joins a load in a task.
    private func caller(of request: GoodsRequest) async -> Task<APIErrorType?, Never> {
        let count = request.waiters.count
        let task = Task { await request.outcome() }
        await suspend(while: request.waiters.count == count)
        return task
    }

    /// Begins or joins a load, and leaves it when that is called; returns how it ends.
    private func leaver(of request: GoodsRequest, by leaving: Leaving) async -> @MainActor () async -> APIErrorType? {
        let count = request.waiters.count
        let batch = APIBatch()
        let outcome = batch.add(request)
        switch leaving {
        case .task:
            let task = await caller(of: request)
            return {
                task.cancel()
                return await task.value
            }
        case .outcome, .group:
            batch.start()
            await suspend(while: request.waiters.count == count)
            return {
                if leaving == .group { batch.cancel() } else { outcome.cancel() }
                await suspend(while: batch.isRunning)
                return outcome.result?.error?.type
            }
        }
    }

    @Test(arguments: Owner.allCases, Leaving.allCases)
    func `A caller that leaves ends alone, whether it has begun the load or joined it`(
        _ owner: Owner,
        _ leaving: Leaving
    ) async {
        for beginsLoad in [true, false] {
            let gate = Latch()
            let request = request(gate)
            let leave: @MainActor () async -> APIErrorType?
            let ending: @MainActor () async -> APIErrorType?
            if beginsLoad {
                leave = await leaver(of: request, by: leaving)
                ending = await want(request, as: owner)
            } else {
                ending = await want(request, as: owner)
                leave = await leaver(of: request, by: leaving)
            }
            #expect(await leave() == .cancelled)
            #expect(request.isLoading && request.proxy.activeRequests.count == 1)
            #expect(request.waiters.count == (owner == .delegate ? 0 : 1), "the request is not retained for it")
            gate.open()
            #expect(await ending() == nil)
            #expect((request.proxy.transport as? ScriptedTransport)?.requests.count == 1)
        }
        #expect(screen.events == (owner == .delegate ? [.success, .success] : []))
    }

    @Test(arguments: [1, 2, 5])
    func `The load of callers alone is cancelled with the last of them`(_ count: Int) async {
        let request = request()
        var tasks: [Task<APIErrorType?, Never>] = []
        for _ in 0..<count { tasks.append(await caller(of: request)) }
        for (left, task) in tasks.shuffled().enumerated() {
            #expect(request.proxy.activeRequests.count == 1, "\(left) have left")
            task.cancel()
            #expect(await task.value == .cancelled)
        }
        #expect(request.proxy.activeRequests.isEmpty && !request.isLoading && request.waiters.isEmpty)
        #expect(screen.events.isEmpty)
    }

    @Test(arguments: Owner.allCases) func `A cancel by ID ends the load for all`(_ owner: Owner) async throws {
        let request = request()
        let ending = await want(request, as: owner)
        let joined = await caller(of: request)
        request.proxy.cancelRequest(try #require(request.proxy.activeRequests.first?.id))
        #expect(await joined.value == .cancelled)
        #expect(await ending() == .cancelled)
    }

    @Test func `Callers that leave on other threads while the response arrives and others join end once each`() async {
        for _ in 0..<200 {
            let gate = Latch()
            let request = request(gate)
            let first = await caller(of: request)
            let leaving = Task.detached { first.cancel() }
            let responding = Task.detached { gate.open() }
            // Joins the load, or begins one because that has just been cancelled or has ended.
            #expect(await request.outcome() == nil)
            _ = await (leaving.value, responding.value)
            let outcome = await first.value
            #expect(outcome == nil || outcome == .cancelled)
            #expect(request.proxy.activeRequests.isEmpty && request.waiters.isEmpty)
        }
    }
}
