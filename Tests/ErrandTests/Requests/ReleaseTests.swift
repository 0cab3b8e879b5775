// Exit tests need child processes.
#if os(macOS) || os(Linux)
import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@Suite("Objects that the library releases may call it", .hangLimit, .timeLimit(.minutes(10)))
struct ReleaseTests {
    /// The reasons for which a load is removed from the table.
    private enum Manner: CaseIterable {
        case response, cancelByID, cancelSome, cancelAll, release, logout
    }

    /// An indicator that retains an object while it is shown.
    private final class Indicator: LoadingIndicator {
        private let asking: DeinitObserver

        init(_ asking: DeinitObserver) { self.asking = asking }

        func showLoading(_ message: String?) {}
        func hideLoading() {}
    }

    @Test func `A replaced service may call the library`() async {
        await #expect(processExitsWith: .success) {
            let released = Counter()
            let proxy = APIProxy(transport: ScriptedTransport())
            proxy.defaultService = APIService.sample { $0.reloginHandler = Self.asking(proxy, released) }
            proxy.defaultService = nil
            #expect(released.count == 1)
        }
    }

    @Test func `A replaced error hook may call the library`() async {
        await #expect(processExitsWith: .success) {
            let released = Counter()
            let proxy = APIProxy(transport: ScriptedTransport())
            proxy.onError = { [asking = Self.asking(proxy, released)] _ in _ = asking }
            proxy.onError = nil
            #expect(released.count == 1)
        }
    }

    @Test func `The parameters and the indicator of a load may call it, at every ending`() async {
        await #expect(processExitsWith: .success) { @MainActor in
            for manner in Manner.allCases {
                for (isQueued, joins) in [(false, false), (true, false), (false, true)] {
                    let released = Counter()
                    await Self.end(manner, isQueued: isQueued, joins: joins, released)
                    await suspend(while: released.count < 2)
                }
            }
        }
    }

    @MainActor private static func end(_ manner: Manner, isQueued: Bool, joins: Bool, _ released: Counter) async {
        let latch = Latch()
        let transport = ScriptedTransport { _ in
            try await latch.wait()
            return .json(goodsJSON([]))
        }
        let proxy = APIProxy(service: .sample(), transport: transport, queueLimits: QueueLimits(perHost: 1))
        let (blocker, screen) = (GoodsRequest(proxy: proxy), Screen())
        if isQueued { blocker.loadData() }
        var request: GoodsRequest? = GoodsRequest(delegate: screen, paramSource: screen, proxy: proxy)
        request?.method = .get
        request?.ownOptions.coalescesIdentical = joins
        request?.ownOptions.reportsProgress = true
        screen.params = ["last": asking(proxy, released)]
        let id = request?.loadData(indicator: Indicator(asking(proxy, released)))
        screen.params = nil
        if joins { await suspend(while: proxy.sharedLoadCount == 0) }
        #expect(proxy.queuedCount == (isQueued ? 1 : 0))
        switch manner {
        case .response: latch.open()
        case .cancelByID: proxy.cancelRequest(id ?? .next())
        case .cancelSome: proxy.cancelRequests([id].compactMap(\.self))
        case .cancelAll: proxy.cancelAllRequests()
        case .release: request = nil
        case .logout: proxy.logout()
        }
        latch.open()
        await suspend(while: !proxy.activeRequests.isEmpty)
        withExtendedLifetime((blocker, request)) {}
    }

    @Test func `IDs that are created while they are read may call it`() async {
        await #expect(processExitsWith: .success) {
            let proxy = APIProxy(transport: ScriptedTransport())
            proxy.cancelRequests(
                (0..<2).lazy.map { _ in
                    _ = proxy.activeRequests
                    return RequestID.next()
                }
            )
        }
    }

    @Test func `The error of a relogin may call it when another outcome replaces it`() async {
        await #expect(processExitsWith: .success) { @MainActor in
            struct Refused: Error { let asking: DeinitObserver }
            let (released, account) = (Counter(), Account())
            let transport = ScriptedTransport { $0.headers["X-Login"] == nil ? .status(401) : .json(goodsJSON([])) }
            let proxy = APIProxy(fake: transport, service: .sample { $0.reloginHandler = account })
            account.login = { [unowned proxy] in throw Refused(asking: Self.asking(proxy, released)) }
            @MainActor func load(isLogin: Bool = false) async {
                let request = GoodsRequest(proxy: proxy)
                request.customLogin = isLogin
                if isLogin { request.customHeaders = ["X-Login": "1"] }
                _ = await request.outcome()
            }
            let replacements: [@MainActor () async -> Void] = [
                { await load(isLogin: true) }, { proxy.logout() }, { await load() },
            ]
            for (number, replace) in replacements.enumerated() {
                await load()
                await sentinel(proxy)
                await replace()
                await suspend(while: released.count == number)
            }
        }
    }

    private static func asking(_ proxy: APIProxy, _ released: Counter) -> DeinitObserver {
        DeinitObserver { [weak proxy] in
            _ = proxy?.activeRequests
            proxy?.defaultService?.login.didSignIn()
            _ = released.next()
        }
    }
}
#endif
