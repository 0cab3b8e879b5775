import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@Suite("The time in the queue is part of the timings, with monitors and without", .hangLimit, .timeLimit(.minutes(10)))
@MainActor struct QueueTimeTests {
    private final class Listener: APIMonitor {
        func observe(_ event: APIEvent) {}
    }

    private let gate = Latch()

    private func proxy(isMonitored: Bool) -> (proxy: APIProxy, transport: ScriptedTransport) {
        let transport = ScriptedTransport { [gate] request in
            try await gate.wait()
            var response = HTTPResponse(status: 200, body: Data("text".utf8))
            response.timings = ExchangeTimings(startedAt: .now, total: .milliseconds(1))
            return response
        }
        let proxy = APIProxy(
            service: .sample(),
            transport: transport,
            queueLimits: QueueLimits(perHost: 1),
            monitors: isMonitored ? [Listener()] : []
        )
        return (proxy, transport)
    }

    @Test(arguments: [false, true], [false, true])
    func `A load that queues has its time there, and the one before it none`(
        isMonitored: Bool,
        isCoalescing: Bool
    ) async throws {
        let (proxy, transport) = proxy(isMonitored: isMonitored)
        let requests = (0..<2).map { number in
            let request = TextRequest(proxy: proxy)
            (request.method, request.path) = (.get, "/\(number)")
            request.ownOptions.coalescesIdentical = isCoalescing
            return request
        }
        requests[0].loadData()
        await transport.waitForRequests(1)
        requests[1].loadData()
        await suspend(while: proxy.queuedCount == 0)
        gate.open()
        for request in requests { await request.waitUntilIdle() }
        let timings = try requests.map { try #require($0.rawResponse?.timings) }
        #expect(timings[0].queue == .zero)
        #expect(try #require(timings[1].queue) > .zero)
        #expect(timings.map(\.attempt) == [1, 1])
    }

    @Test(arguments: [false, true]) func `A plain call that queues has its time there`(isMonitored: Bool) async throws {
        let (proxy, transport) = proxy(isMonitored: isMonitored)
        let request = HTTPRequest(.get, URL("http://shop.test/api/0"))
        async let first = proxy.send(request)
        await transport.waitForRequests(1)
        async let second = proxy.send(request)
        await suspend(while: proxy.queuedCount == 0)
        gate.open()
        #expect(try await first.timings?.queue == .zero)
        #expect(try #require(await second.timings?.queue) > .zero)
    }
}
