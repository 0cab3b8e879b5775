import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("A failure of an adapter is that of its load", .hangLimit, .timeLimit(.minutes(10)))
struct AdapterFailureTests {
    private struct Broken: Error {}

    private let clock = ManualClock()
    private let screen = Screen()
    private let transport = ScriptedTransport { _ in .json(goodsJSON([])) }

    private func proxy(
        _ kind: AdapterKind,
        _ change: (inout APIService) -> Void = { _ in },
        limits: QueueLimits = QueueLimits(),
        adapt: @escaping @Sendable (AdapterContext) async throws -> Void
    ) -> APIProxy {
        let service = APIService.sample {
            change(&$0)
            $0.adapters = Adapters([kind]) { _, context in try await adapt(context) }
        }
        return APIProxy(service: service, transport: transport, queueLimits: limits, clock: clock)
    }

    private func error(_ proxy: APIProxy) async -> APIError? {
        await #expect(throws: APIError.self) { try await APIRequest<[Goods]>("/goods", proxy: proxy).value() }
    }

    // MARK: Errors

    @Test(arguments: AdapterKind.allCases)
    func `Any error is invalidRequest on the way out, and decoding with the response on the way in`(
        _ kind: AdapterKind
    ) async {
        let error = await error(proxy(kind) { _ in throw Broken() })
        #expect(error?.type == (kind.isOutward ? .invalidRequest : .decoding))
        #expect(error?.underlying is Broken)
        #expect(error?.reason?.hasPrefix("an adapter ") == true)
        #expect(error?.status == (kind.isOutward ? nil : 200))
        #expect(transport.requests.count == (kind.isOutward ? 0 : 1))
    }

    @Test(arguments: AdapterKind.allCases)
    func `An APIError is the error of the load, with the response on the way in`(_ kind: AdapterKind) async {
        let error = await error(proxy(kind) { _ in throw APIError(.security, reason: "no key") })
        #expect(error?.type == .security && error?.reason == "no key")
        #expect(error?.path == "/goods" && error?.status == (kind.isOutward ? nil : 200))
    }

    @Test(arguments: AdapterKind.allCases)
    func `A load does not end as cancelled because something else was cancelled`(_ kind: AdapterKind) async {
        for error in [APIError(.cancelled), CancellationError()] as [any Error] {
            let error = await self.error(proxy(kind) { _ in throw error })
            #expect(error?.type == (kind.isOutward ? .invalidRequest : .decoding))
        }
    }

    @Test(arguments: AdapterKind.allCases)
    func `loginExpired of an adapter starts a relogin, as that of a response does`(_ kind: AdapterKind) async throws {
        let account = Account()
        let proxy = proxy(kind, { $0.reloginHandler = account }) { context in
            if context.attempt == 1 { throw APIError(.loginExpired) }
        }
        _ = try await APIRequest<[Goods]>("/goods", proxy: proxy).value()
        #expect(account.logins == 1)
    }

    // MARK: Another try

    @Test(arguments: AdapterKind.allCases)
    func `An adapter has its load sent again after a delay, also a POST without retries`(
        _ kind: AdapterKind
    ) async throws {
        let proxy = proxy(kind) { context in
            if context.attempt == 1 { throw AdapterRetry.again(after: .seconds(3)) }
        }
        let load = Task { try await APIRequest<[Goods]>("/goods", method: .post, proxy: proxy).value() }
        await clock.waitForSleepers()
        clock.advance(by: .milliseconds(2_999))
        #expect(clock.sleepers == 1)
        clock.advance(by: .milliseconds(1))
        _ = try await load.value
        #expect(transport.requests.count == (kind.isOutward ? 1 : 2))
    }

    @Test(arguments: AdapterKind.allCases)
    func `The second time in one load it is a failure that says so`(_ kind: AdapterKind) async {
        let attempts = Counter()
        let error = await error(
            proxy(kind) { _ in
                _ = attempts.next()
                throw AdapterRetry.again()
            }
        )
        #expect(error?.type == (kind.isOutward ? .invalidRequest : .decoding))
        #expect(error?.reason?.contains("AdapterRetry, the second one of this load") == true)
        #expect(error?.underlying is AdapterRetry)
        #expect(error?.status == (kind.isOutward ? nil : 200))
        #expect(attempts.count == 2)
    }

    @Test func `It leaves the replay after a relogin and the retries to the load`() async throws {
        let account = Account()
        let responses = Responses([.status(401), .status(503), .status(503), .json(goodsJSON([]))])
        let transport = ScriptedTransport { _ in responses.next() }
        let service = APIService.sample {
            $0.reloginHandler = account
            ($0.retryPolicy, $0.retryPolicy.baseDelay) = (RetryPolicy(), .zero)
            $0.adapters.request = [Adapter { _, context in if context.attempt == 1 { throw AdapterRetry.again() } }]
        }
        let proxy = APIProxy(service: service, transport: transport, clock: clock)
        _ = try await APIRequest<[Goods]>("/goods", proxy: proxy).value()
        #expect(transport.requests.count == 4 && account.logins == 1)
    }

    @Test func `A load that waits for another try has no place in the queue, and can be cancelled`() async {
        let proxy = proxy(.response, limits: QueueLimits(perHost: 1, total: 1)) { context in
            if context.path == "/again" { throw AdapterRetry.again(after: .seconds(3)) }
        }
        let waiting = GoodsRequest(delegate: screen, proxy: proxy)
        waiting.path = "/again"
        waiting.loadData()
        await clock.waitForSleepers()
        let other = GoodsRequest(delegate: screen, proxy: proxy)
        other.loadData()
        #expect(await screen.ending() == .success)
        waiting.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        await sentinel(proxy)
        await suspend(while: clock.sleepers > 0)
        #expect(transport.requests.count == 2)
    }

    @Test func `AdapterRetry of anything but an adapter is an ordinary error`() async {
        let service = APIService.sample { $0.commonHeaders = { throw AdapterRetry.again() } }
        let ofHeaders = await error(APIProxy(fake: transport, service: service))
        #expect(ofHeaders?.type == .invalidRequest && transport.requests.isEmpty)
        let serializer = ResponseSerializer<[Goods]> { _, _ in throw AdapterRetry.again() }
        let request = APIRequest("/goods", responseSerializer: serializer, proxy: APIProxy(fake: transport))
        #expect(await #expect(throws: APIError.self) { try await request.value() }?.type == .decoding)
        #expect(transport.requests.count == 1)
    }

    // MARK: Cancelling

    @Test(arguments: AdapterKind.allCases)
    func `After a cancel the next adapter is not called, even if the one before ignores the cancel`(
        _ kind: AdapterKind
    ) async throws {
        let (begun, gate, calls) = (Latch(), Latch(), Counter())
        let service = APIService.sample {
            $0.adapters = Adapters([kind]) { _, _ in
                begun.open()
                await gate.waitIgnoringCancellation()
            }
            $0.adapters.append(Adapters { called, _ in if called == kind { _ = calls.next() } })
        }
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport, service: service))
        request.loadData()
        try await begun.wait()
        request.cancelAllRequests()
        gate.open()
        #expect(await screen.ending() == .cancelled)
        await sentinel(request.proxy)
        #expect(calls.count == 0 && transport.requests.count == (kind.isOutward ? 0 : 1))
        #expect(screen.events == [.cancelled])
    }
}
