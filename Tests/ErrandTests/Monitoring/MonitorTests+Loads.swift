import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

// Which loads have which monitors, and loads that are cancelled.
extension MonitorTests {
    @Test func `A service's monitors follow the proxy's, and a load keeps those that it began with`() async throws {
        let gate = Latch()
        let order = Lock<[String]>([])
        let late = EventRecorder()
        let ofService = EventRecorder { event in order.withLock { $0.append("service \(event.kind.step)") } }
        let ofProxy = EventRecorder { event in order.withLock { $0.append("proxy \(event.kind.step)") } }
        let (proxy, _) = proxy {
            $0.monitors = [ofService]
        } script: { _, _ in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        proxy.monitors.append(ofProxy)
        let goods = request(proxy)
        goods.loadData()
        proxy.monitors = [late]
        proxy.defaultService?.monitors = []
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(recorder.steps() == ofService.steps() && recorder.steps() == ofProxy.steps())
        #expect(
            order.withLock { $0.prefix(4) } == ["proxy began", "service began", "proxy started", "service started"]
        )
        #expect(late.count == 0)
        _ = try await proxy.send(HTTPRequest(.get, URL("/plain")), to: try #require(proxy.defaultService))
        #expect(late.steps() == ["began", "started", "made", "responded 200", "success"])
        #expect(ofProxy.ids.count == 1)
    }

    @Test func `A plain call of a service has the events of a load`() async throws {
        let (proxy, _) = proxy {
            $0.retryPolicy = RetryPolicy()
        } script: { number, _ in
            number == 1 ? .status(503) : .json("{}")
        }
        async let response = proxy.send(HTTPRequest(.get, URL("/plain")), to: try #require(proxy.defaultService))
        await clock.waitForSleepers()
        clock.advance(by: .seconds(1_000))
        #expect(try await response.status == 200)
        let retry = ["made", "responded 503", "waiting retry", "again"]
        await expect(["began", "started"] + retry + ["made", "responded 200", "success"])
    }

    @Test func `A request that is released while it loads is an event`() async throws {
        let (proxy, transport) = proxy { _, _ in
            try await Latch().wait()
            return .json(goodsJSON([]))
        }
        var goods: GoodsRequest? = GoodsRequest(delegate: screen, proxy: proxy)
        goods?.loadData()
        await transport.waitForRequests()
        goods = nil
        try await until { recorder.ended == 1 }
        #expect(stepsOfCancelledLoad() == ["began", "started", "made", "released", "cancelled"])
        var unobserved: GoodsRequest? = GoodsRequest(proxy: proxy)
        let id = unobserved?.loadData()
        unobserved = nil
        // A thread that delivers an event of the load delivers the next ones as well.
        try await until { recorder.ended == 2 }
        #expect(recorder.steps(of: id).last == "cancelled" && !recorder.steps(of: id).contains("released"))
    }

    @Test func `A logout ends the loads of its session, and every group member has an ending`() async throws {
        let gate = Latch()
        let (proxy, transport) = proxy { _, _ in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        let requests = (0..<3).map { _ in request(proxy) }
        let batch = APIBatch(.failFast)
        for request in requests { batch.add(request) }
        batch.start()
        await transport.waitForRequests(3)
        proxy.logout()
        try await until { recorder.ended == 3 }
        for id in recorder.ids {
            #expect(stepsOfCancelledLoad(id) == ["began", "started", "made", "cancelled"])
        }
        #expect(recorder.violations.isEmpty)
    }

    // MARK: Cancels

    @Test(
        .fault(134),
        .blocksThread,
        arguments: LoadScene.Point.allCases,
        [LoadScene.Manner.byID, .fromAnotherThread, .ofTask]
    )
    func `A load that is cancelled at any point has one ending`(
        _ point: LoadScene.Point,
        _ manner: LoadScene.Manner
    ) async throws {
        let scene = try LoadScene(point, of: .data, live: nil)
        scene.proxy.monitors = [recorder]
        await scene.begin(manner)
        await scene.cancel(manner)
        await scene.release()
        try await until { scene.proxy.activeRequests.isEmpty && recorder.ended == recorder.ids.count }
        #expect(recorder.violations.isEmpty, "\(recorder.violations)")
        #expect(recorder.ids.count > 0)
        let last = try #require(recorder.ids.last)
        #expect(recorder.steps(of: last).last == "cancelled", "\(recorder.steps(of: last))")
        #expect(recorder.steps(of: last).contains("queued") == (point == .queued))
    }

    @Test(arguments: TransportKind.allCases)
    func `Loads over sockets have events in a legal order`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { request in
            request.path.hasSuffix("moved") || request.path.hasSuffix("0")
                ? .json(bytes: goodsJSON([]).utf8)
                : Response(status: 302, headers: ["Location": "/moved", "Content-Length": "0"], steps: [])
        }
        let service = APIService.sample { $0.baseURL = server.baseURL }
        let proxy = APIProxy(service: service, transport: try kind.make(), monitors: [recorder])
        let requests = (0..<10).map { number in request(proxy) { $0.path = "/\(number)" } }
        for request in requests { request.loadData() }
        #expect(await screen.endings(of: requests).allSatisfy { $0 == .success })
        try await until { recorder.ended == 10 }
        #expect(recorder.violations.isEmpty, "\(recorder.violations)")
        #expect(recorder.events.count { $0.kind.step == "made" } == 19)
    }
}
