import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A cancelled load ends only as cancelled", .hangLimit, .timeLimit(.minutes(10)))
struct CancelTests {
    let screen = Screen()
    let gate = Latch()

    private func gatedProxy() -> APIProxy {
        APIProxy(
            fake: ScriptedTransport { [gate] _ throws(TransportError) in
                try await gate.wait()
                return .json(goodsJSON([]))
            }
        )
    }

    @Test func `After cancelRequest only the cancel is delivered`() async {
        let proxy = gatedProxy()
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        let id = request.loadData()
        #expect(proxy.activeRequests.map(\.id) == [id])
        #expect(proxy.cancelRequest(id))
        #expect(proxy.activeRequests.isEmpty)
        #expect(screen.events.isEmpty, "a cancel never calls back before it returns")
        gate.open()
        #expect(await screen.ending() == .cancelled)
        await sentinel(proxy)
        #expect(screen.events == [.cancelled])
    }

    @Test(.fault(18)) func `Unknown, ended and repeated IDs are no-ops`() async {
        let proxy = gatedProxy()
        gate.open()
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        let id = request.loadData()
        #expect(await screen.ending() == .success)
        #expect(!proxy.cancelRequest(id))
        #expect(!proxy.cancelRequest(RequestID(rawValue: .max)))
        let second = request.loadData()
        proxy.cancelRequests([second, second])
        #expect(await screen.ending() == .cancelled)
        await sentinel(proxy)
        #expect(screen.events == [.success, .cancelled])
    }

    @Test(.fault(18)) func `One ID cancelled from 8 threads is cancelled once`() async {
        let proxy = gatedProxy()
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        for _ in 0..<50 {
            let id = request.loadData()
            let wins = Counter()
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask { if proxy.cancelRequest(id) { _ = wins.next() } }
                }
            }
            #expect(wins.count == 1)
            #expect(await screen.ending() == .cancelled)
        }
        #expect(screen.events.count == 50)
    }

    @Test func `A load is cancelled by its request only`() async {
        let proxy = gatedProxy()
        let first = GoodsRequest(delegate: screen, proxy: proxy)
        let second = GoodsRequest(delegate: screen, proxy: proxy)
        let id = first.loadData()
        let other = second.loadData()
        second.cancelRequest(id)
        // Not `isLoading` alone, which only the request itself or an ending changes.
        #expect(proxy.activeRequests.map(\.id) == [id, other])
        #expect(first.isLoading)
        first.cancelRequest(id)
        #expect(proxy.activeRequests.map(\.id) == [other])
        #expect(!first.isLoading)
        #expect(second.isLoading)
        gate.open()
        #expect(await screen.endings(2).sorted { "\($0)" < "\($1)" } == [.cancelled, .success])
    }

    @Test func `Cancelling all of a proxy ends every load of every screen`() async {
        let proxy = gatedProxy()
        let requests = (0..<20).map { _ in GoodsRequest(delegate: screen, proxy: proxy) }
        for request in requests { request.loadData() }
        proxy.cancelAllRequests()
        #expect(proxy.activeRequests.isEmpty)
        #expect(await screen.endings(of: requests) == Array(repeating: .cancelled, count: 20))
    }

    @Test(.fault(19)) func `A cancel inside the success method of the same load has no effect`() async {
        let proxy = gatedProxy()
        gate.open()
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        let id = request.loadData()
        screen.onEvent = { request, _ in request.cancelRequest(id) }
        #expect(await screen.ending() == .success)
        await sentinel(proxy)
        #expect(screen.events == [.success])
    }

    @Test(.fault(19)) func `A cancel inside the success method of another load takes effect`() async {
        let proxy = gatedProxy()
        let first = GoodsRequest(delegate: screen, proxy: proxy)
        let second = GoodsRequest(delegate: screen, proxy: proxy)
        first.loadData()
        second.loadData()
        // Both responses arrive together; the load that is delivered first cancels the other.
        screen.onEvent = { _, event in if event == .success { proxy.cancelAllRequests() } }
        gate.open()
        #expect(await screen.endings(2) == [.success, .cancelled])
        await sentinel(proxy)
        #expect(screen.events.count == 2)
    }

    /// Every way in which a load ends before its response is delivered.
    enum Manner: CaseIterable, Sendable {
        case byID, ofRequest, ofProxy, byLogout
    }

    @Test(.fault(15), .blocksThread, arguments: Manner.allCases, [200, 500])
    func `No hook receives a response that has arrived before the cancel and is delivered after it`(
        _ manner: Manner,
        _ status: Int
    ) async {
        let proxy = APIProxy(fake: ScriptedTransport { _ in .json(goodsJSON([]), status: status) })
        let (interceptor, validator, reformed) = (InterceptorSpy(), ValidatorSpy(), Counter())
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        (request.interceptor, request.validator) = (interceptor, validator)
        validator.acceptsContent = { _ in
            Issue.record("the validator received the response")
            return true
        }
        request.reformGoods = { goods in
            _ = reformed.next()
            return goods
        }
        let id = request.loadData()
        // Without a suspension, because the delivery waits for the main actor.
        spin(while: proxy.delivery.count == 0)
        switch manner {
        case .byID: proxy.cancelRequest(id)
        case .ofRequest: request.cancelAllRequests()
        case .ofProxy: proxy.cancelAllRequests()
        case .byLogout: proxy.logout()
        }
        #expect(await screen.ending() == .cancelled)
        await sentinel(proxy)
        #expect(interceptor.calls == [.shouldLoad, .willEnd("cancelled"), .didEnd("cancelled")])
        #expect(reformed.count == 0)
        #expect(screen.events == [.cancelled])
        #expect(request.rawResponse == nil)
    }

    @Test func `The async form ends as cancelled by ID and with its task`() async {
        let proxy = gatedProxy()
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        let byID = Task { await request.outcome() }
        await suspend(while: proxy.activeRequests.isEmpty)
        proxy.cancelAllRequests()
        #expect(await byID.value == .cancelled)
        let byTask = Task { await request.outcome() }
        await suspend(while: proxy.activeRequests.isEmpty)
        byTask.cancel()
        #expect(await byTask.value == .cancelled)
        #expect(screen.events.isEmpty)
        #expect(proxy.activeRequests.isEmpty)
    }

    @Test func `An async load in a task that is cancelled already is never sent`() async {
        let transport = ScriptedTransport()
        let request = GoodsRequest(proxy: APIProxy(fake: transport))
        let task = Task { await request.outcome() }
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(transport.requests.isEmpty)
    }
}

@MainActor @Suite("A load that is cancelled in a hook", .hangLimit, .timeLimit(.minutes(10)))
struct HookCancelTests {
    /// The hooks of a load, in the order in which they are called.
    enum Hook: CaseIterable, Sendable {
        case params, reformParams, headers, requestSerializer, timeout, idempotencyKey, appendParts
        case responseSerializer, destination, shouldLoad, loginRenewalDate, acceptsParams

        func isAfter(_ other: Hook) -> Bool {
            let hooks = Self.allCases
            return hooks.firstIndex(of: self) ?? 0 > hooks.firstIndex(of: other) ?? 0
        }
    }

    @Test(.fault(74), arguments: Hook.allCases)
    func `The interceptor and the validator are not asked after the cancel, nor the service, and nothing is sent`(
        _ hook: Hook
    ) async {
        let (transport, asked) = (ScriptedTransport(), Counter())
        let account = HookedAccount()
        let service = APIService.sample {
            $0.commonHeaders = {
                _ = asked.next()
                return [:]
            }
            $0.reloginHandler = account
        }
        // The next load has its turn when the work of this one is over.
        let proxy = APIProxy(service: service, transport: transport, queueLimits: QueueLimits(total: 1))
        let (screen, interceptor, validator) = (Screen(), InterceptorSpy(), ValidatorSpy())
        let request = HookedLoadRequest(delegate: screen, paramSource: screen, proxy: proxy)
        (request.interceptor, request.validator) = (interceptor, validator)
        var called: [Hook] = []
        request.onHook = { [unowned request] current in
            called.append(current)
            if current == hook { request.cancelAllRequests() }
        }
        screen.onParams = { [unowned request] _ in request.onHook(.params) }
        request.reform = { [unowned request] params in
            request.onHook(.reformParams)
            return params
        }
        interceptor.onCall = { [unowned request] _, call in if call == .shouldLoad { request.onHook(.shouldLoad) } }
        account.onRenewalDate = { [unowned request] in request.onHook(.loginRenewalDate) }
        validator.acceptsParams = { [unowned request] _ in
            request.onHook(.acceptsParams)
            return true
        }
        request.loadData()
        #expect(called.contains(hook))
        #expect(!called.contains { $0.isAfter(hook) && [.shouldLoad, .acceptsParams].contains($0) })
        let begins = [.params, .reformParams].contains(hook)
        #expect(!begins || !called.contains { $0.isAfter(.reformParams) }, "a load that has not begun is not prepared")
        #expect(await screen.ending() == .cancelled)
        let next = GoodsRequest(delegate: screen, proxy: proxy)
        next.path = "/next"
        next.loadData()
        #expect(await screen.ending() == .success)
        #expect(asked.count == 1, "the closures of the service are called for the next load alone")
        #expect(transport.requests.map(\.url.lastPathComponent) == ["next"])
        #expect(screen.events == [.cancelled, .success])
        #expect(interceptor.calls.suffix(2) == [.willEnd("cancelled"), .didEnd("cancelled")])
    }

    @Test(arguments: ["receive", "validate"])
    func `A load that is cancelled with its response calls no further hook`(_ hook: String) async {
        let (screen, interceptor, validator) = (Screen(), InterceptorSpy(), ValidatorSpy())
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: ScriptedTransport()))
        (request.interceptor, request.validator) = (interceptor, validator)
        var called: [String] = []
        let call = { [unowned request] (name: String) in
            called.append(name)
            if name == hook { request.cancelAllRequests() }
        }
        interceptor.onCall = { if case .didReceive = $1 { call("receive") } }
        validator.acceptsContent = { _ in
            call("validate")
            return true
        }
        request.reformGoods = { goods in
            call("reform")
            return goods
        }
        request.loadData()
        #expect(await screen.ending() == .cancelled)
        #expect(called == (hook == "receive" ? ["receive"] : ["receive", "validate"]))
    }
}

/// Calls a closure in each of its hooks.
@MainActor private final class HookedLoadRequest: SampleRequest, APIManager {
    typealias Response = [Goods]
    var onHook: @MainActor (HookCancelTests.Hook) -> Void = { _ in }

    private func call<Value>(_ hook: HookCancelTests.Hook, _ value: Value) -> Value {
        onHook(hook)
        return value
    }

    override var headers: HTTPHeaders { call(.headers, super.headers) }
    override var requestSerializer: RequestSerializer { call(.requestSerializer, super.requestSerializer) }
    override var timeout: Duration? { call(.timeout, super.timeout) }
    override var options: APIRequestOptions {
        APIRequestOptions(idempotencyKey: { [unowned self] in call(.idempotencyKey, nil) })
    }
    override func appendParts(to form: inout MultipartForm) { onHook(.appendParts) }
    var responseSerializer: ResponseSerializer<[Goods]> { call(.responseSerializer, .automatic) }
    override var destination: HTTPRequest.Destination { call(.destination, super.destination) }
}

/// Calls a closure when its renewal date is read.
@MainActor private final class HookedAccount: ReloginHandler {
    var onRenewalDate: (@MainActor () -> Void)?

    var loginRenewalDate: Date? {
        onRenewalDate?()
        return nil
    }

    func relogin() async throws {}
    func sessionDidExpire(_ error: APIError) {}
}
