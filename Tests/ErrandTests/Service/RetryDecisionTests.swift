import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("The app decides about retries where it wants to", .hangLimit, .timeLimit(.minutes(10)))
struct RetryDecisionTests {
    private func proxy(
        _ transport: ScriptedTransport,
        maxRetries: Int = 2,
        _ decide: @escaping @Sendable (APIError, Int) async -> Bool?
    ) -> APIProxy {
        let service = APIService.sample {
            $0.retryPolicy = RetryPolicy()
            ($0.retryPolicy.baseDelay, $0.retryPolicy.maxRetries, $0.retryPolicy.decide) = (.zero, maxRetries, decide)
        }
        return APIProxy(service: service, transport: transport)
    }

    private func requests(
        after transport: ScriptedTransport,
        _ method: HTTPMethod = .get,
        maxRetries: Int = 2,
        _ decide: @escaping @Sendable (APIError, Int) async -> Bool?
    ) async -> Int {
        let proxy = proxy(transport, maxRetries: maxRetries, decide)
        _ = try? await APIRequest<[Goods]>("/goods", method: method, proxy: proxy).value()
        return transport.requests.count
    }

    @Test func `true sends again whatever the status and the method, false does not, and nil is the policy`() async {
        let missing = { @Sendable (_: HTTPRequest) in HTTPResponse.status(404) }
        let busy = { @Sendable (_: HTTPRequest) in HTTPResponse.status(503) }
        #expect(await requests(after: ScriptedTransport { missing($0) }) { _, _ in true } == 3)
        #expect(await requests(after: ScriptedTransport { missing($0) }, .post) { _, _ in true } == 3)
        #expect(await requests(after: ScriptedTransport { missing($0) }) { _, _ in nil } == 1)
        #expect(await requests(after: ScriptedTransport { busy($0) }) { _, _ in false } == 1)
        #expect(await requests(after: ScriptedTransport { busy($0) }) { _, _ in nil } == 3)
        #expect(await requests(after: ScriptedTransport { busy($0) }, .post) { _, _ in nil } == 1)
    }

    @Test func `It is asked with the error and the number of the retry, as often as the policy allows`() async {
        let asked = Lock<[String]>([])
        let count = await requests(after: ScriptedTransport { _ in .json("{") }, maxRetries: 3) { error, retry in
            asked.withLock { $0.append("\(error.type) \(retry)") }
            return true
        }
        #expect(count == 4)
        #expect(asked.withLock(\.self) == ["decoding 1", "decoding 2", "decoding 3"])
        #expect(await requests(after: ScriptedTransport { _ in .status(500) }, maxRetries: 0) { _, _ in true } == 1)
    }

    @Test func `It decides about what the adapters of failures leave`() async {
        let types = Lock<[APIErrorType]>([])
        let transport = ScriptedTransport { _ in .status(404) }
        let proxy = proxy(transport) { error, _ in
            types.withLock { $0.append(error.type) }
            return false
        }
        proxy.defaultService?.adapters.failure = [Adapter { error, _ in error = APIError(.storage) }]
        let error = await #expect(throws: APIError.self) {
            try await APIRequest<[Goods]>("/goods", proxy: proxy).value()
        }
        #expect(error?.type == .storage && types.withLock(\.self) == [.storage])
    }

    @Test func `false ends a load that would wait for the network`() async {
        let transport = ScriptedTransport { _ in throw TransportError(.noNetwork, "offline") }
        let service = APIService.sample {
            $0.retryPolicy = RetryPolicy()
            ($0.retryPolicy.waitsForConnectivity, $0.retryPolicy.decide) = (true, { _, _ in false })
        }
        let network = Reachability(status: .unreachable)
        let proxy = APIProxy(service: service, transport: transport, reachability: network, clock: ManualClock())
        let request = APIRequest<[Goods]>("/goods", proxy: proxy)
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .noNetwork && transport.requests.count == 1)
    }

    @Test func `A load that is cancelled while the app decides is not sent again`() async {
        let (asked, gate) = (Latch(), Latch())
        let screen = Screen()
        let transport = ScriptedTransport { _ in .status(500) }
        let proxy = proxy(transport) { _, _ in
            asked.open()
            try? await gate.wait()
            return true
        }
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.loadData()
        try? await asked.wait()
        let tasks = proxy.loads.tasks
        request.cancelAllRequests()
        gate.open()
        #expect(await screen.ending() == .cancelled)
        for task in tasks { await task.value }
        #expect(tasks.count == 1 && transport.requests.count == 1 && screen.events == [.cancelled])
    }
}
