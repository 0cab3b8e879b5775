import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite("What the proxy lets go of may use the proxy", .timeLimit(.minutes(1)))
struct ReleaseTests {
    /// Asks the proxy something with its last breath.
    private final class Asking: ReloginHandler, Encodable {
        private let proxy: APIProxy

        init(_ proxy: APIProxy) { self.proxy = proxy }
        deinit { _ = proxy.activeRequests }

        func relogin() async throws {}
        func encode(to encoder: any Encoder) throws {}
    }

    @Test func `A service that is replaced`() async {
        await #expect(processExitsWith: .success) {
            let proxy = APIProxy(transport: ScriptedTransport())
            proxy.defaultService = APIService.sample { $0.reloginHandler = Asking(proxy) }
            proxy.defaultService = nil
        }
    }

    @Test func `A hook for errors that is replaced`() async {
        await #expect(processExitsWith: .success) {
            let proxy = APIProxy(transport: ScriptedTransport())
            proxy.onError = { [asking = Asking(proxy)] _ in _ = asking }
            proxy.onError = nil
        }
    }

    @Test func `The parameters of a load that is cancelled in the queue`() async {
        await #expect(processExitsWith: .success) { @MainActor in
            let latch = Latch()
            let transport = ScriptedTransport { _ in
                try await latch.wait()
                return .status(200)
            }
            let limits = RequestLimits(perHost: 1)
            let proxy = APIProxy(service: .sample(), transport: transport, limits: limits)
            let (blocker, queued, screen) = (GoodsRequest(proxy: proxy), GoodsRequest(proxy: proxy), Screen())
            blocker.loadData()
            queued.paramSource = screen
            screen.params = ["last": Asking(proxy)]
            let id = queued.loadData()
            screen.params = nil
            #expect(proxy.queuedCount == 1)
            #expect(proxy.cancelRequest(id))
        }
    }
}
