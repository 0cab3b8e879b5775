import ErrandTesting
import Foundation
import Observation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Any method may be called inside any callback", .hangLimit, .timeLimit(.minutes(10)))
struct ReentrancyTests {
    /// Every kind of callback on the main actor that a load has, in the order of its life.
    enum Callback: CaseIterable, Sendable {
        case showLoading, params, reformParams, appendParts, shouldLoad, validatesParams
        case progress, didReceive, validatesContent, reformData
        case willEnd, hideLoading, success, failure, cancelled, didEnd

        static let beforeDelegate: [Callback] = [
            .showLoading, .params, .reformParams, .appendParts, .shouldLoad, .validatesParams, .progress, .didReceive,
            .validatesContent, .reformData, .willEnd,
        ]
    }

    /// The method called inside.
    enum Action: CaseIterable, Sendable {
        case cancelThis, cancelAll, loadAgain, loadAnother, dropDelegate
    }

    @Test(.fault(74), arguments: Callback.allCases, Action.allCases)
    func `Each load still ends once`(in callback: Callback, doing action: Action) async {
        let stage = Stage(callback) { stage in
            switch action {
            case .cancelThis: stage.request?.cancelAllRequests()
            case .cancelAll: stage.proxy.cancelAllRequests()
            case .loadAgain: stage.load()
            case .loadAnother: stage.another.loadData()
            case .dropDelegate: stage.request?.delegate = nil
            }
        }
        stage.begin()
        await stage.waitUntilLoaded()
        #expect(stage.proxy.activeRequests.isEmpty)
        #expect(stage.request?.isLoading == false)
        #expect(stage.shown == stage.hidden)
        #expect(stage.endings == stage.loads, "each load that began has ended once")
        #expect(stage.hasActed, "the callback was never called")
    }

    @Test(.fault(74), .fault(72), arguments: Callback.allCases)
    func `A request can be released, and its load ends`(in callback: Callback) async {
        let stage = Stage(callback) { $0.request = nil }
        weak let request = stage.request
        stage.begin()
        await stage.waitUntilLoaded()
        #expect(request == nil)
        #expect(stage.proxy.activeRequests.isEmpty)
        #expect(stage.shown == 1 && stage.hidden == 1)
        #expect(stage.endings <= 1, "at most one ending is delivered")
        #expect(stage.hasActed, "the callback was never called")
    }

    @Test(arguments: Callback.beforeDelegate)
    func `A load that is cancelled before its ending is delivered ends as cancelled`(in callback: Callback) async {
        let stage = Stage(callback) { $0.request?.cancelAllRequests() }
        stage.begin()
        await stage.waitUntilLoaded()
        #expect(stage.screen.events == [.cancelled])
    }

    /// Acts before the next load that ends is removed, as an observer may.
    private func onFirstChange(of request: BaseAPIRequest, _ act: @escaping @MainActor @Sendable () -> Void) {
        let isFirst = Lock(true)
        withObservationTracking {
            _ = request.isLoading
        } onChange: {
            // What is changed here is observed as well.
            guard isFirst.withLock({ exchange(&$0, with: false) }) else { return }
            MainActor.assumeIsolated { act() }
        }
    }

    @Test(.fault(74), arguments: [false, true])
    func `An observer of the loads may reset the request, or load again, at once, which cancels the load`(
        _ resets: Bool
    ) async {
        let proxy = APIProxy(fake: ScriptedTransport { _ in .json(goodsJSON([])) })
        let screen = Screen()
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.loadData()
        onFirstChange(of: request) { if resets { request.reset() } else { request.loadData() } }
        #expect(await screen.ending() == .cancelled)
        if !resets { #expect(await screen.ending() == .success) }
        await request.waitUntilIdle()
        #expect((request.response == nil) == resets && request.isSuccess != resets)
        #expect(screen.events.count == (resets ? 1 : 2))
        #expect(!request.isLoading && request.loads.isEmpty && request.endingCount == 0)
    }

    @Test(.fault(74)) func `A load that an observer of the loads begins can be cancelled`() async {
        let gate = Latch()
        let count = Counter()
        let transport = ScriptedTransport { _ in
            if count.next() > 1 { try await gate.wait() }
            return .json(goodsJSON([]))
        }
        let request = GoodsRequest(proxy: APIProxy(fake: transport))
        let screen = Screen()
        request.delegate = screen
        request.loadData()
        onFirstChange(of: request) { _ = request.loadData() }
        #expect(await screen.ending() == .cancelled)
        #expect(request.isLoading)
        request.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
    }

    /// The closures of a service, which are called off the main actor.
    enum Question: CaseIterable, Sendable {
        case commonHeaders, commonParams, requestAdapter
    }

    @Test(.fault(74), arguments: Question.allCases)
    func `All loads can be cancelled while the service adds its parameters and headers`(_ question: Question) async {
        let transport = ScriptedTransport()
        let proxy = APIProxy(fake: transport)
        proxy.defaultService = .sample {
            switch question {
            case .commonHeaders:
                $0.commonHeaders = { [weak proxy] in
                    proxy?.cancelAllRequests()
                    return [:]
                }
            case .commonParams:
                $0.commonParams = { [weak proxy] in
                    proxy?.cancelAllRequests()
                    return nil
                }
            case .requestAdapter:
                $0.adapters.request = [Adapter { [weak proxy] _, _ in proxy?.cancelAllRequests() }]
            }
        }
        let screen = Screen()
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.loadData()
        #expect(await screen.ending() == .cancelled)
        await sentinel(proxy)
        #expect(screen.events == [.cancelled])
        #expect(transport.requests.isEmpty)
        #expect(proxy.activeRequests.isEmpty)
    }
}

/// Receives every callback of a request, and calls a method in one of them, once.
@MainActor private final class Stage: APIManagerCallbackDelegate, APIManagerParamSource, LoadingIndicator {
    typealias Callback = ReentrancyTests.Callback

    let screen = Screen()
    let proxy: APIProxy
    let another: TextRequest
    var request: GoodsRequest?
    private(set) var loads = 0
    private(set) var shown = 0
    private(set) var hidden = 0
    private(set) var endings = 0
    private(set) var hasActed = false
    private let interceptor = InterceptorSpy()
    private let validator = ValidatorSpy()
    private let progressed = Latch()
    private let callback: Callback
    private let action: @MainActor (Stage) -> Void

    init(_ callback: Callback, _ action: @escaping @MainActor (Stage) -> Void) {
        self.callback = callback
        self.action = action
        let response = callback == .failure ? HTTPResponse(status: 500) : .json(goodsJSON([]))
        let transport = PausedTransport(response: response, progressed: callback == .progress ? progressed : nil)
        proxy = APIProxy(service: .sample(), transport: transport)
        another = TextRequest(proxy: proxy)
        request = GoodsRequest(delegate: self, paramSource: self, proxy: proxy)
        request?.interceptor = interceptor
        request?.validator = validator
        request?.customSerializer = .multipart
        request?.ownOptions.reportsProgress = callback == .progress
        attach()
    }

    func load() {
        loads += 1
        request?.loadData(indicator: self)
    }

    func begin() {
        load()
        if callback == .cancelled { proxy.cancelAllRequests() }
    }

    /// Waits until no load runs.
    func waitUntilLoaded() async {
        for _ in 0..<3 {
            await suspend(while: !proxy.activeRequests.isEmpty)
            await request?.waitUntilIdle()
            await another.waitUntilIdle()
            await sentinel(proxy)
        }
    }

    private func attach() {
        interceptor.onCall = { [unowned self] request, call in
            switch call {
            case .shouldLoad: act(.shouldLoad)
            case .didReceive: act(.didReceive)
            case .willEnd: act(.willEnd)
            case .didEnd:
                endings += 1
                act(.didEnd)
            }
        }
        validator.acceptsParams = { [unowned self] _ in act(.validatesParams, returning: true) }
        validator.acceptsContent = { [unowned self] _ in act(.validatesContent, returning: true) }
        request?.reform = { [unowned self] params in act(.reformParams, returning: params) }
        request?.reformGoods = { [unowned self] goods in act(.reformData, returning: goods) }
    }

    private func act<Value>(_ callback: Callback, returning value: Value = ()) -> Value {
        guard callback == self.callback, !hasActed else { return value }
        hasActed = true
        action(self)
        return value
    }

    func params(for request: BaseAPIRequest) -> APIParams? { act(.params, returning: ["q": "tea"]) }
    func appendParts(to form: inout MultipartForm, for request: BaseAPIRequest) { act(.appendParts) }

    func showLoading(_ message: String?) {
        shown += 1
        act(.showLoading)
    }

    func hideLoading() {
        hidden += 1
        act(.hideLoading)
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        screen.managerCallAPIDidSucceed(request)
        act(.success)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        screen.managerCallAPIDidFail(request, with: error)
        act(.failure)
    }

    func managerCallAPIDidCancel(_ request: BaseAPIRequest) {
        screen.managerCallAPIDidCancel(request)
        act(.cancelled)
    }

    func managerCallAPI(_ request: BaseAPIRequest, didMake progress: TransferProgress) {
        act(.progress)
        progressed.open()
    }
}

/// Reports half of a response, and returns it when the delegate has received the report.
private struct PausedTransport: HTTPTransport {
    let response: HTTPResponse
    let progressed: Latch?

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        guard let progressed else { return response }
        progress?(TransferProgress(.download, completedBytes: 50, totalBytes: 100))
        try await progressed.wait()
        return response
    }
}
