import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("Identical loads share one exchange when their requests allow it", .hangLimit, .timeLimit(.minutes(10)))
struct JoinTests {
    let screen = Screen(params: ["q": "pen"])
    let gate = Latch()

    private func transport() -> ScriptedTransport {
        ScriptedTransport { [gate] _ in
            try await gate.wait()
            return .json(goodsJSON([Goods(id: 1, name: "pen")]))
        }
    }

    private func request(_ proxy: APIProxy, joins: Bool = true, _ method: HTTPMethod = .get) -> GoodsRequest {
        let request = GoodsRequest(delegate: screen, paramSource: screen, proxy: proxy)
        request.method = method
        request.ownOptions.coalescesIdentical = joins
        return request
    }

    @Test func `Identical loads share one exchange, and each has an ID and an ending`() async {
        let transport = transport()
        let proxy = APIProxy(fake: transport)
        let requests = (0..<10).map { _ in request(proxy) }
        let ids = requests.map { $0.loadData() }
        await suspend(while: proxy.sharedLoadCount < 10)
        gate.open()
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: 10))
        #expect(Set(ids).count == 10)
        #expect(transport.requests.count == 1)
        #expect(requests.allSatisfy { $0.response?.first?.name == "pen" })
        #expect(proxy.sharedLoadCount == 0)
    }

    @Test func `A cancel ends one load and leaves the exchange to the others`() async {
        let transport = transport()
        let proxy = APIProxy(fake: transport)
        let (first, second) = (request(proxy), request(proxy))
        first.loadData()
        second.loadData()
        await suspend(while: proxy.sharedLoadCount < 2)
        first.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.count == 1)
        #expect(first.response == nil && second.response != nil)
    }

    @Test func `Cancelling the last load cancels the exchange, and the next load begins a new one`() async {
        let isCancelled = Latch()
        let transport = ScriptedTransport { [gate] _ in
            do {
                try await gate.wait()
            } catch {
                isCancelled.open()
                throw error
            }
            return .json(goodsJSON([]))
        }
        let proxy = APIProxy(fake: transport)
        let requests = (0..<3).map { _ in request(proxy) }
        for request in requests { request.loadData() }
        await suspend(while: proxy.sharedLoadCount < 3 || transport.requests.isEmpty)
        proxy.cancelAllRequests()
        #expect(await screen.endings(of: requests) == [.cancelled, .cancelled, .cancelled])
        try? await isCancelled.wait()
        #expect(proxy.sharedLoadCount == 0)
        requests[0].loadData()
        await transport.waitForRequests(2)
        gate.open()
        #expect(await screen.endings(of: [requests[0]]) == [.success])
    }

    @Test func `Loads that differ, or that do not allow it, have separate exchanges`() async {
        let transport = transport()
        let proxy = APIProxy(fake: transport)
        let requests = [
            request(proxy), request(proxy, joins: false), request(proxy, .post), request(proxy), request(proxy),
        ]
        requests[3].path = "/other"
        requests[4].customHeaders = ["Accept-Language": "de"]
        for request in requests { request.loadData() }
        await transport.waitForRequests(5)
        gate.open()
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: 5))
    }

    @Test func `Loads with different bodies or limits have separate exchanges`() async {
        let transport = transport()
        let proxy = APIProxy(fake: transport)
        let requests = (0..<4).map { _ in request(proxy) }
        for (number, request) in requests.prefix(2).enumerated() {
            request.customSerializer = .raw(.data(Data("\(number)".utf8)), contentType: "text/plain")
        }
        requests[3].customService = proxy.defaultService
        requests[3].customService?.limits.bodyBytes = 9_000
        for request in requests { request.loadData() }
        await suspend(while: proxy.sharedLoadCount < 4)
        #expect(proxy.exchangeCount == 4)
        gate.open()
        let endings = await screen.endings(of: requests)
        #expect(endings.allSatisfy { $0 == .success })
    }

    @Test(.fault(42)) func `A load of the next session does not join an exchange of the previous one`() async {
        let transport = transport()
        let proxy = APIProxy(fake: transport)
        let (last, next) = (request(proxy), request(proxy))
        last.loadData()
        await transport.waitForRequests()
        // The first half of a logout.
        proxy.defaultService?.login.startNewSession()
        next.loadData()
        await suspend(while: proxy.sharedLoadCount < 2)
        #expect(proxy.exchangeCount == 2)
        gate.open()
        #expect(await screen.endings(2) == [.success, .success])
    }

    @Test func `A failure is delivered to all loads, and each is retried by its own policy`() async {
        let (count, second) = (Counter(), Latch())
        let transport = ScriptedTransport { [gate] _ in
            guard count.next() == 1 else {
                try await second.wait()
                return .json(goodsJSON([]))
            }
            try await gate.wait()
            throw TransportError(.connectionLost, "cut")
        }
        let proxy = APIProxy(fake: transport)
        let requests = (0..<4).map { _ in request(proxy) }
        var policy = RetryPolicy(maxRetries: 1)
        policy.baseDelay = .zero
        for request in requests.dropFirst() { request.ownOptions.retryPolicy = policy }
        for request in requests { request.loadData() }
        await suspend(while: proxy.sharedLoadCount < 4)
        gate.open()
        // The policy of the service is to retry nothing.
        #expect(await screen.ending() == .failure(.transport))
        #expect(requests[0].error?.type == .transport)
        // The others share the next exchange.
        await suspend(while: proxy.sharedLoadCount < 3)
        second.open()
        #expect(await screen.endings(3) == [.success, .success, .success])
        #expect(requests.dropFirst().allSatisfy { $0.isSuccess })
        #expect(transport.requests.count == 2)
    }
}

extension APIProxy {
    /// The number of shared exchanges.
    fileprivate var exchangeCount: Int { sharedExchanges.count }
}
