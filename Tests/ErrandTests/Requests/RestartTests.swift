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
