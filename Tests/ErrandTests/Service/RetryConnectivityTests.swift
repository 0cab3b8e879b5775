import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("A load without a network waits for one if its policy allows it", .hangLimit, .timeLimit(.minutes(10)))
struct RetryConnectivityTests {
    let screen = Screen()
    let clock = ManualClock()

    private func waitingRequest(
        _ network: Reachability,
        _ transport: ScriptedTransport,
        timeout: Duration? = nil
    ) -> GoodsRequest {
        var policy = RetryPolicy()
        policy.waitsForConnectivity = true
        if let timeout { policy.connectivityTimeout = timeout }
        let service = APIService.sample { $0.retryPolicy = policy }
        let proxy = APIProxy(service: service, transport: transport, reachability: network, clock: clock)
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.method = .post
        return request
    }

    private func unreachable(
        until isThere: Counter,
        _ kind: TransportError.Kind = .noNetwork
    ) -> ScriptedTransport {
        ScriptedTransport { _ in
            guard isThere.count > 0 else { throw TransportError(kind, "no way") }
            return .json(goodsJSON([]))
        }
    }

    @Test func `A load that was served does not wait for a network`() async {
        let network = Reachability(status: .unreachable)
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let request = waitingRequest(network, transport)
        request.proxy.defaultService?.adapters.response = [Adapter { _, _ in throw APIError(.noNetwork) }]
        request.loadData()
        #expect(await screen.ending() == .failure(.noNetwork))
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [TransportError.Kind.noNetwork, .hostNotFound])
    func `A load without a network is sent again when there is one`(_ kind: TransportError.Kind) async {
        let (network, isThere) = (Reachability(status: .unreachable), Counter())
        let transport = unreachable(until: isThere, kind)
        let request = waitingRequest(network, transport)
        request.loadData()
        await clock.waitForSleepers()
        _ = isThere.next()
        network.report(.reachable(.wired))
        #expect(await screen.ending() == .success)
        #expect(transport.requests.count == 2)
        await suspend(while: clock.sleepers > 0)
    }

    @Test(arguments: [nil, Duration.seconds(5)])
    func `A load whose network does not return ends with noNetwork`(_ timeout: Duration?) async {
        let transport = unreachable(until: Counter())
        let request = waitingRequest(Reachability(status: .unreachable), transport, timeout: timeout)
        request.loadData()
        await clock.waitForSleepers()
        clock.advance(by: (timeout ?? .seconds(60)) - .milliseconds(1))
        await sentinel(request.proxy)
        #expect(screen.events.isEmpty)
        clock.advance(by: .milliseconds(1))
        #expect(await screen.ending() == .failure(.noNetwork))
        #expect(transport.requests.count == 1)
    }

    @Test func `A load that waits for a network can be cancelled`() async {
        let network = Reachability(status: .unreachable)
        let transport = unreachable(until: Counter())
        let request = waitingRequest(network, transport)
        request.loadData()
        await clock.waitForSleepers()
        request.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        await suspend(while: network.observerCount > 0 || clock.sleepers > 0)
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [ReachabilityStatus.unknown, .reachable(.wired), .unreachable])
    func `An unresolved name means no network only when reachability reports none`(
        _ status: ReachabilityStatus
    ) async {
        let (network, transport) = (Reachability(status: status), unreachable(until: Counter(), .hostNotFound))
        let request = waitingRequest(network, transport)
        request.ownOptions.retryPolicy = .never
        request.loadData()
        #expect(await screen.ending() == .failure(status == .unreachable ? .noNetwork : .transport))
        #expect(request.error?.reason == "no way")
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [TransportError.Kind.noNetwork, .hostNotFound])
    func `A POST that lost the network after a redirect is not sent a second time`(
        _ kind: TransportError.Kind
    ) async {
        let transport = ScriptedTransport { request in
            guard request.method == .get else { return .status(303, headers: ["Location": "/there"]) }
            throw TransportError(kind, "no route")
        }
        let request = waitingRequest(Reachability(status: .unreachable), transport)
        request.loadData()
        #expect(await screen.ending() == .failure(.transport))
        #expect(transport.requests.map(\.method) == [.post, .get])
    }

    @Test(arguments: [ReachabilityStatus.unknown, .reachable(.wired)])
    func `Unless reachability reports an outage, a missing network is an ordinary failure`(
        _ status: ReachabilityStatus
    ) async {
        let request = waitingRequest(Reachability(status: status), unreachable(until: Counter()))
        request.loadData()
        #expect(await screen.ending() == .failure(.noNetwork))
    }
}
