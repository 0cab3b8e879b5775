import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A request that is released while it loads and its delegate exists", .timeLimit(.minutes(10)))
struct ReleaseFaultTests {
    private nonisolated static let mark = "errand: fault: "

    /// The releases that are no mistake.
    private enum Release: CaseIterable {
        case afterCancel, afterCancelByID, afterEnding, beforeLoading, withoutDelegate, toFinish, withScreen
    }

    private final class OtherRequest: BaseAPIRequest, APIManager {
        typealias Response = Void
        let path = "/others/{id}?token=s3cret"
        let method = HTTPMethod.get
    }

    /// A screen with a request in a property.
    private final class Owner: APIManagerCallbackDelegate {
        private let proxy: APIProxy
        private lazy var goods = GoodsRequest(delegate: self, proxy: proxy)

        init(proxy: APIProxy) { self.proxy = proxy }

        func appear() { goods.loadData() }
        func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {}
        func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {}
    }

    private nonisolated static func gatedProxy(_ gate: Latch) -> APIProxy {
        APIProxy(
            fake: ScriptedTransport { _ throws(TransportError) in
                try await gate.wait()
                return .json(goodsJSON([]))
            }
        )
    }

    private nonisolated static func faults(in result: ExitTest.Result?) -> [String] {
        String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            .split(separator: "\n").map(String.init).filter { $0.contains(mark) }
    }

    private static func loadAndRelease(_ request: some APIManager) {
        request.loadData()
    }

    // Exit tests need child processes.
    #if os(macOS) || os(Linux)
    @Test func `Its class, path and remedy are reported on standard error, once for each class`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { @MainActor in
            let (proxy, screen) = (Self.gatedProxy(Latch()), Screen())
            for _ in 0..<3 {
                Self.loadAndRelease(GoodsRequest(delegate: screen, proxy: proxy))
                Self.loadAndRelease(OtherRequest(delegate: screen, proxy: proxy))
            }
            #expect(proxy.activeRequests.isEmpty)
            await sentinel(proxy)
            #expect(screen.events.isEmpty)
        }
        let faults = Self.faults(in: result)
        #expect(faults.count == 2)
        let remedy =
            "the load is cancelled, and its delegate is not notified. "
            + "Keep the request in a property or await value(); before discarding it, call cancelAllRequests()."
        #expect(faults.first == Self.mark + "GoodsRequest was released while it loaded /goods: \(remedy)")
        #expect(faults.last == Self.mark + "OtherRequest was released while it loaded /others/{id}: \(remedy)")
    }

    @Test func `Nothing is reported when the release is no mistake`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { @MainActor in
            for release in Release.allCases {
                let (gate, screen) = (Latch(), Screen())
                let proxy = Self.gatedProxy(gate)
                await Self.perform(release, proxy, screen, gate)
                await suspend(while: !proxy.activeRequests.isEmpty)
            }
        }
        #expect(Self.faults(in: result).isEmpty)
    }
    #endif

    private static func perform(_ release: Release, _ proxy: APIProxy, _ screen: Screen, _ gate: Latch) async {
        let request = GoodsRequest(delegate: release == .withoutDelegate ? nil : screen, proxy: proxy)
        if release == .toFinish { request.ownOptions.releasePolicy = .finish }
        guard release != .beforeLoading else { return }
        guard release != .withScreen else {
            let owner = Owner(proxy: proxy)
            return owner.appear()
        }
        let id = request.loadData()
        switch release {
        case .afterCancel: request.cancelAllRequests()
        case .afterCancelByID: proxy.cancelRequest(id)
        case .toFinish: gate.open()
        case .afterEnding:
            gate.open()
            #expect(await screen.ending() == .success)
        default: break
        }
    }

    @Test func `An async call retains its request, and the delegate is not notified`() async throws {
        let (gate, screen) = (Latch(), Screen())
        let proxy = Self.gatedProxy(gate)
        let call = Task { try await GoodsRequest(delegate: screen, proxy: proxy).value() }
        await suspend(while: proxy.activeRequests.isEmpty)
        await sentinel(proxy)
        #expect(proxy.activeRequests.count == 1)
        gate.open()
        #expect(try await call.value.isEmpty)
        #expect(screen.events.isEmpty)
    }

    // Exit tests need child processes.
    #if os(macOS) || os(Linux)
    @Test func `A cancelled async call reports nothing`() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) { @MainActor in
            let (proxy, screen) = (Self.gatedProxy(Latch()), Screen())
            let call = Task { try await GoodsRequest(delegate: screen, proxy: proxy).value() }
            await suspend(while: proxy.activeRequests.isEmpty)
            call.cancel()
            await #expect(throws: APIError.self) { try await call.value }
        }
        #expect(Self.faults(in: result).isEmpty)
    }
    #endif
}
