import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Loads and the lifetimes of their requests and delegates", .hangLimit, .timeLimit(.minutes(10)))
struct LifetimeTests {
    let gate = Latch()
    let indicator = IndicatorSpy()

    private func gatedTransport() -> ScriptedTransport {
        ScriptedTransport { [gate] _ throws(TransportError) in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
    }

    @Test(.fault(72)) func `Releasing a request cancels its load and hides its indicator`() async {
        let proxy = APIProxy(fake: gatedTransport())
        var request: GoodsRequest? = GoodsRequest(proxy: proxy)
        weak let released = request
        request?.loadData(indicator: indicator, message: "…")
        request = nil
        #expect(released == nil)
        #expect(proxy.activeRequests.isEmpty)
        await sentinel(proxy)
        #expect(indicator.shown == ["…"])
        #expect(indicator.isBalanced)
    }

    @Test func `A recorded request keeps neither its monitors nor the proxy`() async throws {
        let monitors = WeakMonitors()
        weak var released: APIProxy?
        do {
            let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
            let recorder = EventRecorder()
            let proxy = APIProxy(service: .sample(), transport: transport, monitors: [recorder])
            (released, monitors.recorder) = (proxy, recorder)
            let request = GoodsRequest(proxy: proxy)
            request.ownOptions.reportsActivity = true
            _ = try await request.value()
            #expect(transport.requests.count == 1)
        }
        await suspend(while: released != nil || monitors.recorder != nil)
    }

    private final class WeakMonitors { weak var recorder: EventRecorder? }

    @Test(.fault(72)) func `With releasePolicy finish the load continues without callbacks`() async {
        let transport = gatedTransport()
        let proxy = APIProxy(fake: transport)
        let screen = Screen()
        var request: GoodsRequest? = GoodsRequest(delegate: screen, proxy: proxy)
        weak let released = request
        request?.ownOptions.releasePolicy = .finish
        request?.loadData(indicator: indicator)
        request = nil
        #expect(released == nil)
        #expect(proxy.activeRequests.count == 1)
        gate.open()
        await suspend(while: !proxy.activeRequests.isEmpty)
        #expect(transport.requests.count == 1)
        #expect(indicator.isBalanced)
        #expect(screen.events.isEmpty)
    }

    @Test func `An async call retains its request until the ending`() async throws {
        let proxy = APIProxy(fake: gatedTransport())
        weak var released: GoodsRequest?
        let task = Task {
            let request = GoodsRequest(proxy: proxy)
            released = request
            return try await request.value()
        }
        await suspend(while: proxy.activeRequests.isEmpty)
        #expect(released != nil)
        gate.open()
        #expect(try await task.value.isEmpty)
        #expect(released == nil)
    }

    @Test(.fault(73)) func `A released delegate is not called, and the load still ends`() async {
        let proxy = APIProxy(fake: gatedTransport())
        var screen: Screen? = Screen()
        let request = GoodsRequest(delegate: screen, paramSource: screen, proxy: proxy)
        request.loadData(indicator: indicator)
        screen = nil
        #expect(request.delegate == nil)
        gate.open()
        await suspend(while: request.isLoading)
        #expect(indicator.isBalanced)
        #expect(request.response?.isEmpty == true)
    }

    @Test(.fault(73)) func `A delegate and a request may be released inside a callback`() async {
        let proxy = APIProxy(fake: gatedTransport())
        let watcher = Screen()
        var screen: Screen? = Screen()
        var request: GoodsRequest? = GoodsRequest(delegate: screen, proxy: proxy)
        weak let releasedScreen = screen
        weak let releasedRequest = request
        screen?.onEvent = { ending, event in
            screen?.onEvent = nil
            screen = nil
            request = nil
            watcher.managerCallAPIDidSucceed(ending)
        }
        request?.loadData()
        gate.open()
        #expect(await watcher.ending() == .success)
        await sentinel(proxy)
        #expect(releasedScreen == nil)
        #expect(releasedRequest == nil)
    }

    @Test func `The table of loads retains no request and no load`() async {
        let proxy = APIProxy(fake: gatedTransport())
        gate.open()
        weak var released: GoodsRequest?
        do {
            let screen = Screen()
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            released = request
            for _ in 0..<10 {
                request.loadData()
                _ = await screen.ending()
            }
        }
        await sentinel(proxy)
        #expect(released == nil)
    }
}

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

    @Test(.startsLate) func `A replaced service may call the library`() async {
        await #expect(processExitsWith: .success) {
            let released = Counter()
            let proxy = APIProxy(transport: ScriptedTransport())
            proxy.defaultService = APIService.sample { $0.reloginHandler = Self.asking(proxy, released) }
            proxy.defaultService = nil
            #expect(released.count == 1)
        }
    }

    @Test(.startsLate) func `A replaced error hook may call the library`() async {
        await #expect(processExitsWith: .success) {
            let released = Counter()
            let proxy = APIProxy(transport: ScriptedTransport())
            proxy.onError = { [asking = Self.asking(proxy, released)] _ in _ = asking }
            proxy.onError = nil
            #expect(released.count == 1)
        }
    }

    @Test(.startsLate) func `The parameters and the indicator of a load may call it, at every ending`() async {
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

    @Test(.startsLate) func `IDs that are created while they are read may call it`() async {
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

    @Test(.startsLate) func `The error of a relogin may call it when another outcome replaces it`() async {
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
            proxy?.defaultService?.login.beginSession()
            proxy?.defaultService?.login.didSignIn()
            _ = released.next()
        }
    }
}
#endif

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
    @Test(.startsLate) func `Its class, path and remedy are reported on standard error, once for each class`()
        async throws
    {
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

    @Test(.startsLate) func `Nothing is reported when the release is no mistake`() async throws {
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
    @Test(.startsLate) func `A cancelled async call reports nothing`() async throws {
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
