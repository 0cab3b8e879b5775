import ErrandTesting
import FixtureServer
import Foundation
import Observation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A screen can say what a load waits for", .hangLimit, .timeLimit(.minutes(10)))
struct ActivityTests {
    private let clock = ManualClock()
    private let screen = ActiveScreen()

    private func request(_ proxy: APIProxy) -> GoodsRequest {
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        (request.method, request.ownOptions.reportsActivity) = (.get, true)
        return request
    }

    @Test func `A load that is told to wait by the server says so, and how long`() async {
        let responses = Responses([.status(429, headers: ["Retry-After": "6"]), .json(goodsJSON([]))])
        let service = APIService.sample { $0.retryPolicy = RetryPolicy() }
        let proxy = APIProxy(service: service, transport: ScriptedTransport { _ in responses.next() }, clock: clock)
        let request = request(proxy)
        request.loadData()
        await clock.waitForSleepers()
        await suspend(while: request.activity != .waiting(.retry, limit: .seconds(6)))
        clock.advance(by: .seconds(6))
        await suspend(while: request.isLoading)
        #expect(screen.activities == [.sending, .waiting(.retry, limit: .seconds(6)), .sending])
        #expect(screen.endings == 1)
        #expect(request.activity == nil)
    }

    @Test func `A load that an observer of its activity cancels has none`() async {
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let request = request(APIProxy(service: .sample(), transport: transport))
        withObservationTracking {
            _ = request.activity
        } onChange: {
            MainActor.assumeIsolated { request.cancelAllRequests() }
        }
        request.loadData()
        await request.waitUntilIdle()
        #expect(request.activity == nil && screen.activities == [])
        #expect(screen.endings == 1)
    }

    @Test func `The activity of an older load is not that of a newer one, which reports none`() async {
        let gate = Latch()
        let transport = ScriptedTransport { _ in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        let request = request(APIProxy(service: .sample(), transport: transport))
        request.customRestartPolicy = .concurrent
        request.loadData()
        await suspend(while: request.activity != .sending)
        request.ownOptions.reportsActivity = false
        request.loadData()
        #expect(request.activity == nil)
        gate.open()
        await request.waitUntilIdle()
        #expect(request.activity == nil)
    }

    @Test func `A queued load is queued, then sent`() async {
        let gate = Latch()
        let transport = ScriptedTransport { _ in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        let limits = QueueLimits(perHost: 1)
        let proxy = APIProxy(service: .sample(), transport: transport, queueLimits: limits)
        let first = GoodsRequest(delegate: Screen(), proxy: proxy)
        first.loadRetainingSelf()
        await suspend(while: transport.requests.isEmpty)
        let request = request(proxy)
        request.loadData()
        await suspend(while: request.activity != .queued)
        gate.open()
        await suspend(while: request.isLoading)
        #expect(screen.activities == [.queued, .sending])
    }

    @Test func `A load that joins an exchange of loads that nobody observes says what it receives`() async throws {
        let (gate, rest) = (Gate(), Gate())
        let server = try FixtureServer.start { _ in
            .script(
                .pass(gate),
                .write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{"),
                .pass(rest),
                .write("}"),
                .close
            )
        }
        let proxy = APIProxy(service: .sample { $0.baseURL = server.baseURL })
        let first = GoodsRequest(delegate: Screen(), proxy: proxy)
        (first.method, first.ownOptions.coalescesIdentical) = (.get, true)
        first.loadData()
        await suspend(while: server.requests.isEmpty)
        let request = request(proxy)
        request.ownOptions.coalescesIdentical = true
        request.loadData()
        await suspend(while: request.activity != .sending)
        gate.open()
        await suspend(while: request.activity != .receiving)
        rest.open()
        await suspend(while: request.isLoading)
        #expect(server.requests.count == 1)
    }

    @Test func `A load that waits for the login says so`() async {
        let account = Account()
        let gate = Latch()
        account.gate = gate
        let responses = Responses([.status(401), .json(goodsJSON([]))])
        let service = APIService.sample { $0.reloginHandler = account }
        let request = request(APIProxy(service: service, transport: ScriptedTransport { _ in responses.next() }))
        request.loadData()
        await suspend(while: request.activity != .waiting(.login, limit: service.reloginTimeout))
        gate.open()
        await suspend(while: request.isLoading)
        #expect(screen.endings == 1 && request.activity == nil)
    }

    @Test func `The response of a server arrives`() async throws {
        let gate = Gate()
        let body = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n"
        let server = try FixtureServer.start { _ in .script(.write(body), .pass(gate), .write("[]"), .close) }
        var service = APIService(baseURL: server.url("/"))
        service.envelope = nil
        let request = request(APIProxy(service: service))
        request.loadData()
        await suspend(while: request.activity != .receiving)
        gate.open()
        await suspend(while: request.isLoading)
        #expect(screen.activities == [.sending, .receiving] && screen.endings == 1)
    }

    @Test func `After a cancel nothing is reported, and without the option nothing ever is`() async {
        let (gate, entered) = (Latch(), Latch())
        let transport = ScriptedTransport { _ in
            entered.open()
            try await gate.wait()
            return .status(503)
        }
        let service = APIService.sample { $0.retryPolicy = RetryPolicy() }
        let proxy = APIProxy(service: service, transport: transport, clock: clock)
        let request = request(proxy)
        request.loadData()
        try? await entered.wait()
        await suspend(while: request.activity == nil)
        request.cancelAllRequests()
        #expect(request.activity == nil)
        let count = screen.activities.count
        gate.open()
        await suspend(while: screen.endings == 0)
        await request.waitUntilIdle()
        #expect(screen.activities.count == count)
        request.ownOptions = APIRequestOptions(retryPolicy: .never)
        request.loadData()
        await suspend(while: screen.endings == 1)
        #expect(screen.activities.count == count)
    }
}

/// Records activities.
@MainActor private final class ActiveScreen: APIManagerCallbackDelegate {
    private(set) var activities: [LoadActivity] = []
    private(set) var endings = 0

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) { endings += 1 }
    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { endings += 1 }
    func managerCallAPIDidCancel(_ request: BaseAPIRequest) { endings += 1 }
    func managerCallAPI(_ request: BaseAPIRequest, isNow activity: LoadActivity) { activities.append(activity) }
}
