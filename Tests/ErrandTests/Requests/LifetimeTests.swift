import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Loads and the lifetimes of their requests and delegates", .hangLimit, .timeLimit(.minutes(10)))
struct LifetimeTests {
    let gate = Latch()
    let indicator = IndicatorSpy()

    private func gatedTransport() -> ScriptedTransport {
        ScriptedTransport { [gate] _ throws(TransportError) in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
    }

    @Test(.fault(72)) func `Releasing a request cancels its load and hides its indicator`() async {
        let proxy = APIProxy(fake: gatedTransport())
        var request: GoodsRequest? = GoodsRequest(proxy: proxy)
        weak let released = request
        request?.loadData(indicator: indicator, message: "…")
        request = nil
        #expect(released == nil)
        #expect(proxy.activeRequests.isEmpty)
        await sentinel(proxy)
        #expect(indicator.shown == ["…"])
        #expect(indicator.isBalanced)
    }

    @Test(.fault(72)) func `With releasePolicy finish the load continues without callbacks`() async {
        let transport = gatedTransport()
        let proxy = APIProxy(fake: transport)
        let screen = Screen()
        var request: GoodsRequest? = GoodsRequest(delegate: screen, proxy: proxy)
        weak let released = request
        request?.ownOptions.releasePolicy = .finish
        request?.loadData(indicator: indicator)
        request = nil
        #expect(released == nil)
        #expect(proxy.activeRequests.count == 1)
        gate.open()
        await suspend(while: !proxy.activeRequests.isEmpty)
        #expect(transport.requests.count == 1)
        #expect(indicator.isBalanced)
        #expect(screen.events.isEmpty)
    }

    @Test func `An async call retains its request until the ending`() async throws {
        let proxy = APIProxy(fake: gatedTransport())
        weak var released: GoodsRequest?
        let task = Task {
            let request = GoodsRequest(proxy: proxy)
            released = request
            return try await request.value()
        }
        await suspend(while: proxy.activeRequests.isEmpty)
        #expect(released != nil)
        gate.open()
        #expect(try await task.value.isEmpty)
        #expect(released == nil)
    }

    @Test(.fault(73)) func `A released delegate is not called, and the load still ends`() async {
        let proxy = APIProxy(fake: gatedTransport())
        var screen: Screen? = Screen()
        let request = GoodsRequest(delegate: screen, paramSource: screen, proxy: proxy)
        request.loadData(indicator: indicator)
        screen = nil
        #expect(request.delegate == nil)
        gate.open()
        await suspend(while: request.isLoading)
        #expect(indicator.isBalanced)
        #expect(request.response?.isEmpty == true)
    }

    @Test(.fault(73)) func `A delegate and a request may be released inside a callback`() async {
        let proxy = APIProxy(fake: gatedTransport())
        let watcher = Screen()
        var screen: Screen? = Screen()
        var request: GoodsRequest? = GoodsRequest(delegate: screen, proxy: proxy)
        weak let releasedScreen = screen
        weak let releasedRequest = request
        screen?.onEvent = { ending, event in
            screen?.onEvent = nil
            screen = nil
            request = nil
            watcher.managerCallAPIDidSucceed(ending)
        }
        request?.loadData()
        gate.open()
        #expect(await watcher.ending() == .success)
        await sentinel(proxy)
        #expect(releasedScreen == nil)
        #expect(releasedRequest == nil)
    }

    @Test func `The table of loads retains no request and no load`() async {
        let proxy = APIProxy(fake: gatedTransport())
        gate.open()
        weak var released: GoodsRequest?
        do {
            let screen = Screen()
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            released = request
            for _ in 0..<10 {
                request.loadData()
                _ = await screen.ending()
            }
        }
        await sentinel(proxy)
        #expect(released == nil)
    }
}
