import ErrandTesting
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Any method of a list may be called inside any hook", .hangLimit, .timeLimit(.minutes(10)))
struct ListReentrancyTests {
    /// The hooks and callbacks of a list on the main actor.
    enum Hook: CaseIterable {
        case restartPolicy, service, path, method, strategy, itemID
        case showLoading, params, reformParams, headers, shouldLoad, validatesParams
        case didReceive, validatesContent, reformData, willEnd, hideLoading, observer, ending, didEnd
    }

    /// The method called inside.
    enum Action: CaseIterable {
        case reload, refreshAll, loadData, loadNextPage, loadPreviousPage, retry, cancel, cancelProxy, reloadAndCancel
        case replace, removeAndInsert
    }

    /// The load that runs.
    enum Outer: CaseIterable {
        case first, reload, refreshAll, next, failing
    }

    @Test(.fault(90), arguments: Hook.allCases, Action.allCases)
    func `Endings and items agree`(in hook: Hook, doing action: Action) async throws {
        for (number, policy) in [RestartPolicy.cancelPrevious, .ignoreNew, .concurrent].enumerated() {
            // Each load once with each hook and action, unless the slow tests run.
            for (index, outer) in Outer.allCases.enumerated()
            where CookieProbe.runsSlowTests || (index + (Hook.allCases.firstIndex(of: hook) ?? 0) + number) % 3 == 0 {
                let stage = ListStage(policy)
                try await stage.run(outer, hook, action)
                let place: Comment = "\(hook), \(action), \(policy), \(outer)"
                let list = stage.list
                #expect(stage.hasActed || hook == .observer && outer == .failing, place)
                #expect(stage.proxy.activeRequests.isEmpty && !list.isLoading, place)
                #expect(stage.shown == stage.hidden, place)
                #expect(stage.ended == stage.begun.count, place)
                #expect(![list.refreshState, list.appendState, list.prependState].contains { $0.isLoading }, place)
                #expect(list.items == Array(0..<list.items.count), place)
                let hasSucceeded = stage.begun.max().map { list.history.newestSuccess == $0 } == true
                if hasSucceeded { #expect(!list.items.isEmpty, place) }
                #expect(try await list.allItems() == Array(0..<35), place)
            }
        }
    }

    @Test(.fault(90)) func `A reload inside params(for:) supersedes the load`() async {
        let stage = ListStage(.cancelPrevious)
        stage.act(in: .params) { $0.reload() }
        stage.list.reload()
        await stage.waitUntilLoaded()
        #expect(stage.events == ["cancel", "success"])
        #expect(stage.list.items == Array(0..<10))
        #expect(stage.server.queries.count == 1)
    }

    @Test(.fault(90)) func `A load that is cancelled inside params(for:) calls no other hook`() async {
        let stage = ListStage(.cancelPrevious)
        let interceptor = InterceptorSpy()
        stage.act(in: .params) { $0.cancelAllRequests() }
        stage.list.interceptor = interceptor
        stage.list.loadData()
        await stage.waitUntilLoaded()
        #expect(interceptor.calls == [.willEnd("cancelled"), .didEnd("cancelled")])
        #expect(stage.server.queries.isEmpty)
    }

    @Test(.fault(90)) func `A page requested when the indicator hides is the next one`() async {
        let stage = ListStage(.cancelPrevious)
        stage.act(in: .hideLoading) { $0.loadNextPage() }
        stage.list.loadData(indicator: stage)
        await stage.waitUntilLoaded()
        #expect(stage.list.items == Array(0..<20))
    }

    @Test(.fault(90)) func `After a cancel inside the observer no load runs`() async {
        let stage = ListStage(.cancelPrevious)
        stage.list.identifies = true
        stage.list.reload()
        await stage.waitUntilLoaded()
        for number in (-10..<0).reversed() { stage.server.insertAtStart(number) }
        stage.act(in: .observer) { $0.cancelAllRequests() }
        stage.list.itemAppeared(at: 9)
        await stage.waitUntilLoaded()
        #expect(stage.events == ["success", "success", "cancel"])
        #expect(stage.server.queries.count <= 3)
    }
}

/// Receives every hook of a list, and calls a method of the list in one of them, once.
@MainActor
private final class ListStage: APIManagerCallbackDelegate, APIManagerParamSource, LoadingIndicator,
    PageListObserver
{
    typealias Hook = ListReentrancyTests.Hook

    final class Numbers: PageAPIRequest<[Int]>, APIManager {
        var onHook: (Hook) -> Void = { _ in }
        var policy = RestartPolicy.cancelPrevious
        var identifies = false

        private func hook<Value>(_ hook: Hook, _ value: Value) -> Value {
            onHook(hook)
            return value
        }

        var path: String { hook(.path, "/numbers") }
        var method: HTTPMethod { hook(.method, .get) }
        override var restartPolicy: RestartPolicy { hook(.restartPolicy, policy) }
        override var service: APIService? { hook(.service, nil) }
        override var strategy: any PageStrategy { hook(.strategy, OffsetStrategy(limit: 10)) }
        override var itemID: ItemID<Int>? { hook(.itemID, identifies ? ItemID(\.self) : nil) }
        override var headers: HTTPHeaders { hook(.headers, [:]) }
        override func reformParams(_ params: APIParams?) -> APIParams? { hook(.reformParams, params) }
        func reformData(_ response: [Int]) -> [Int] { hook(.reformData, response) }
    }

    let server = NumberServer(count: 35)
    let proxy: APIProxy
    let list: Numbers
    private(set) var begun: Set<RequestID> = []
    private(set) var events: [String] = []
    private(set) var ended = 0
    private(set) var shown = 0
    private(set) var hidden = 0
    private(set) var hasActed = true
    private var place: Hook?
    private var action: (Numbers) -> Void = { _ in }
    private let interceptor = InterceptorSpy()
    private let validator = ValidatorSpy()

    init(_ policy: RestartPolicy) {
        proxy = APIProxy(fake: server.transport)
        list = Numbers(proxy: proxy)
        list.policy = policy
        list.onHook = { [unowned self] in called($0) }
        (list.delegate, list.paramSource, list.pageObserver) = (self, self, self)
        (list.interceptor, list.validator) = (interceptor, validator)
        interceptor.onCall = { [unowned self] _, call in
            switch call {
            case .shouldLoad: called(.shouldLoad)
            case .didReceive: called(.didReceive)
            case .willEnd: called(.willEnd)
            case .didEnd:
                ended += 1
                called(.didEnd)
            }
        }
        validator.acceptsParams = { [unowned self] _ in
            called(.validatesParams)
            return true
        }
        validator.acceptsContent = { [unowned self] _ in
            called(.validatesContent)
            return true
        }
    }

    func act(in place: Hook, _ action: @escaping (Numbers) -> Void) {
        (self.place, self.action, hasActed) = (place, action, false)
    }

    /// Prepares the list, begins a load, and waits until no load runs.
    func run(_ outer: ListReentrancyTests.Outer, _ hook: Hook, _ action: ListReentrancyTests.Action) async throws {
        if outer != .first {
            for _ in 1...2 {
                list.loadNextPage()
                await waitUntilLoaded()
            }
        }
        act(in: hook) { [unowned self] in perform(action, $0) }
        switch outer {
        case .first, .reload: list.loadData(indicator: self)
        case .refreshAll: list.refreshAll()
        case .next: list.loadNextPage()
        case .failing:
            server.failNextRequest()
            list.loadNextPage()
        }
        await waitUntilLoaded()
        server.failNextRequest(nil)
        // Not every load calls every hook.
        if !hasActed { list.loadData(indicator: self) }
        await waitUntilLoaded()
    }

    func waitUntilLoaded() async {
        for _ in 0..<3 {
            await suspend(while: !proxy.activeRequests.isEmpty)
            await list.waitUntilIdle()
            await sentinel(proxy)
        }
    }

    private func perform(_ action: ListReentrancyTests.Action, _ list: Numbers) {
        switch action {
        case .reload: list.reload()
        case .refreshAll: list.refreshAll()
        case .loadData: list.loadData()
        case .loadNextPage: list.loadNextPage()
        case .loadPreviousPage: list.loadPreviousPage()
        case .retry: list.retry()
        case .cancel: list.cancelAllRequests()
        case .replace: if let first = list.items.first { try? list.replace(at: 0, with: first) }
        case .removeAndInsert:
            guard let first = try? list.remove(at: 0) else { return }
            _ = try? list.insert(first, at: 0)
        case .cancelProxy: proxy.cancelAllRequests()
        case .reloadAndCancel:
            let id = list.reload()
            begun.insert(id)
            list.cancelRequest(id)
        }
    }

    private func called(_ hook: Hook) {
        begun.formUnion(list.loads)
        guard hook == place, !hasActed else { return }
        hasActed = true
        action(list)
        begun.formUnion(list.loads)
    }

    func params(for request: BaseAPIRequest) -> APIParams? {
        called(.params)
        return nil
    }

    func showLoading(_ message: String?) {
        shown += 1
        called(.showLoading)
    }

    func hideLoading() {
        hidden += 1
        called(.hideLoading)
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) { ended("success") }
    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { ended("failure") }
    func managerCallAPIDidCancel(_ request: BaseAPIRequest) { ended("cancel") }

    private func ended(_ name: String) {
        events.append(name)
        called(.ending)
    }

    func pageListDidReload(_ request: BaseAPIRequest) { called(.observer) }
    func pageList(_ request: BaseAPIRequest, didInsert: Range<Int>, removing: Range<Int>) { called(.observer) }
}
