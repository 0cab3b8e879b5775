import ErrandTesting
import Foundation
import Testing

@testable import Errand

@MainActor @Suite("Anything may be done inside any callback", .timeLimit(.minutes(1)))
struct ReentrancyTests {
    /// Every kind of callback there is.
    enum Callback: CaseIterable, Sendable {
        case params, shouldLoad, validatesParams, didReceive, validatesContent, reformData
        case willEnd, success, failure, cancelled, didEnd
    }

    /// What a screen does in it.
    enum Deed: CaseIterable, Sendable {
        case cancelThis, cancelAll, loadAgain, loadAnother, dropDelegate
    }

    @Test(.fault(74), arguments: Callback.allCases, Deed.allCases)
    func `Each load still ends once`(in callback: Callback, doing deed: Deed) async {
        let stage = Stage(callback, deed)
        stage.begin()
        await stage.settle()
        #expect(stage.proxy.activeRequests.isEmpty)
        #expect(!stage.request.isLoading)
        #expect(stage.indicator.isBalanced)
        #expect(stage.endings == stage.begun, "each load that began has ended once")
        #expect(stage.hasActed, "the callback was never called")
    }

    @Test(arguments: [
        Callback.params, .shouldLoad, .validatesParams, .didReceive, .validatesContent, .reformData, .willEnd,
    ])
    func `A load that is cancelled before its delegate is told ends as cancelled`(in callback: Callback) async {
        let stage = Stage(callback, .cancelThis)
        stage.begin()
        await stage.settle()
        #expect(stage.screen.events == [.cancel])
    }
}

/// A request with everything attached to it, which does one deed in one callback, once.
@MainActor private final class Stage {
    let screen = Screen()
    let indicator = IndicatorSpy()
    let proxy: APIProxy
    let request: GoodsRequest
    private(set) var begun = 0
    private(set) var endings = 0
    private(set) var hasActed = false
    private let interceptor = InterceptorSpy()
    private let validator = ValidatorSpy()
    private let callback: ReentrancyTests.Callback
    private let deed: ReentrancyTests.Deed
    private let another: TextRequest

    init(_ callback: ReentrancyTests.Callback, _ deed: ReentrancyTests.Deed) {
        self.callback = callback
        self.deed = deed
        let answer = callback == .failure ? HTTPResponse(status: 500) : .json(goodsJSON([]))
        proxy = APIProxy(fake: ScriptedTransport { _ in answer })
        request = GoodsRequest(delegate: screen, paramSource: screen, proxy: proxy)
        another = TextRequest(proxy: proxy)
        request.interceptor = interceptor
        request.validator = validator
        attach()
    }

    func begin() {
        request.loadData(indicator: indicator)
        if callback == .cancelled { proxy.cancelAllRequests() }
    }

    /// Waits until nothing is under way.
    func settle() async {
        for _ in 0..<3 {
            while !proxy.activeRequests.isEmpty || request.isLoading || another.isLoading { await Task.yield() }
            await sentinel(proxy)
        }
    }

    private func attach() {
        screen.onParams = { [unowned self] _ in act(.params) }
        interceptor.onCall = { [unowned self] request, call in
            switch call {
            case .shouldLoad:
                begun += 1
                act(.shouldLoad)
            case .didReceive: act(.didReceive)
            case .willEnd: act(.willEnd)
            case .didEnd:
                endings += 1
                act(.didEnd)
            }
        }
        validator.acceptsParams = { [unowned self] _ in
            act(.validatesParams)
            return true
        }
        validator.acceptsContent = { [unowned self] _ in
            act(.validatesContent)
            return true
        }
        request.reformGoods = { [unowned self] goods in
            act(.reformData)
            return goods
        }
        screen.onEvent = { [unowned self] _, event in
            switch event {
            case .success: act(.success)
            case .failure: act(.failure)
            case .cancel: act(.cancelled)
            }
        }
    }

    private func act(_ callback: ReentrancyTests.Callback) {
        guard callback == self.callback, !hasActed else { return }
        hasActed = true
        switch deed {
        case .cancelThis: request.cancelAllRequests()
        case .cancelAll: proxy.cancelAllRequests()
        case .loadAgain: request.loadData(indicator: indicator)
        case .loadAnother: another.loadData()
        case .dropDelegate: request.delegate = nil
        }
    }
}
