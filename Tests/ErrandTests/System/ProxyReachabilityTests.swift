import ErrandTesting
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A proxy and the network", .timeLimit(.minutes(10)))
struct ProxyReachabilityTests {
    @Test func `A proxy uses the system's reachability unless it is given another`() {
        let reachability = Reachability(status: .unreachable)
        #expect(APIProxy().reachability === Reachability.system)
        #expect(APIProxy.shared.reachability === Reachability.system)
        #expect(APIProxy(reachability: reachability).reachability.status == .unreachable)
    }

    @Test(arguments: [ReachabilityStatus.unknown, .reachable(.wired), .unreachable])
    func `A request is sent and served whatever the status is`(_ status: ReachabilityStatus) async throws {
        let transport = ScriptedTransport()
        let reachability = Reachability(status: status)
        let proxy = APIProxy(service: .sample(), transport: transport, reachability: reachability)
        let goods = try await GoodsRequest(proxy: proxy).value()
        #expect(goods.isEmpty)
        #expect(transport.requests.count == 1)
    }
}
