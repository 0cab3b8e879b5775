import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A list neither skips nor repeats a page", .hangLimit, .timeLimit(.minutes(10)))
struct PageAPIRequestTests {
    struct ItemPage: PageResponse, Sendable {
        enum CodingKeys: String, CodingKey {
            case items = "list"
            case totalItems = "totalRow"
        }

        var items: [Int]
        var totalItems: Int?
    }

    final class Numbers: PageAPIRequest<ItemPage>, APIManager {
        let path = "/numbers"
        let method = HTTPMethod.get
        override var strategy: any PageStrategy { .pageNumber(size: 10) }
    }

    let server = NumberServer(count: 35)
    let screen = Screen(params: ["shop": 7])

    private func numbers() -> Numbers {
        Numbers(delegate: screen, paramSource: screen, proxy: APIProxy(fake: server.transport))
    }

    @Test func `A list is loaded from its first page to its end`() async {
        let list = numbers()
        #expect(!list.hasMore)
        list.reload()
        #expect(list.refreshState.isLoading)
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<10))
        #expect(list.totalCount == 35)
        while list.loadNextPage() != nil { #expect(await screen.ending() == .success) }
        #expect(list.items == Array(0..<35))
        #expect(list.appendState.isEnd)
        #expect(!list.hasMore)
        #expect(list.loadNextPage() == nil)
        #expect(server.queries == (1...4).map { "page=\($0)&pageSize=10&shop=7" })
    }

    @Test func `A list of arrays by offset shows no item twice`() async {
        let list = OffsetNumbers(delegate: screen, proxy: APIProxy(fake: server.transport))
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        server.insertAtStart()
        while list.loadNextPage() != nil { #expect(await screen.ending() == .success) }
        #expect(list.items == Array(0..<35))
    }

    @Test func `loadData on a list is a reload`() async {
        let list = numbers()
        list.loadData()
        #expect(await screen.ending() == .success)
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        list.loadData()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<10))
        #expect(list.hasMore)
    }

    @Test(.fault(49)) func `A hundred calls while a page is loading send one request`() async {
        let list = numbers()
        list.reload()
        let reloading = list.loadNextPage()
        #expect(reloading == list.loads.first)
        #expect(await screen.ending() == .success)
        let ids = Set((0..<100).map { _ in list.loadNextPage() })
        #expect(ids.count == 1)
        #expect(await screen.ending() == .success)
        #expect(server.queries.count == 2)
        #expect(list.items.count == 20)
    }

    @Test(.fault(48)) func `After a failure of page 3 a retry loads only page 3`() async {
        let list = numbers()
        for _ in 0..<2 {
            list.loadNextPage()
            #expect(await screen.ending() == .success)
        }
        server.failNextRequest()
        list.loadNextPage()
        #expect(await screen.ending() == .failure(.http))
        #expect(list.appendState.error?.type == .http)
        #expect(list.items.count == 20)
        #expect(list.hasMore)
        #expect(list.retry() != nil)
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<30))
        #expect(server.queries.suffix(2) == ["page=3&pageSize=10&shop=7", "page=3&pageSize=10&shop=7"])
        #expect(list.retry() == nil)
    }

    @Test func `A failed refresh keeps the items and the position`() async {
        let list = numbers()
        for _ in 0..<2 {
            list.loadNextPage()
            #expect(await screen.ending() == .success)
        }
        server.failNextRequest()
        list.reload()
        #expect(await screen.ending() == .failure(.http))
        #expect(list.refreshState.error?.type == .http)
        #expect(list.items == Array(0..<20))
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<30))
        #expect(list.retry() != nil)
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<10))
    }

    @Test(.fault(49)) func `A refresh supersedes the next page, which is ignored`() async {
        let list = numbers()
        list.reload()
        #expect(await screen.ending() == .success)
        let append = list.loadNextPage()
        let refresh = list.reload()
        #expect(append != refresh)
        #expect(list.refreshState.isLoading && !list.appendState.isLoading)
        #expect(await screen.endings(2) == [.cancelled, .success])
        #expect(list.items == Array(0..<10))
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<20))
    }

    @Test func `A cancelled page can be loaded again`() async {
        let list = numbers()
        list.reload()
        #expect(await screen.ending() == .success)
        list.loadNextPage()
        list.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        #expect(!list.appendState.isLoading)
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<20))
    }

    @Test(.fault(47), .fault(81)) func `A total that is too small loses no item`() async {
        let list = numbers()
        server.announce(total: 5)
        while list.loadNextPage() != nil { #expect(await screen.ending() == .success) }
        #expect(list.appendState.isEnd)
        #expect(list.items == Array(0..<35))
    }

    @Test(.fault(47)) func `A total that is too large ends the list with its empty page`() async {
        let list = numbers()
        server.announce(total: 1000)
        while list.loadNextPage() != nil { #expect(await screen.ending() == .success) }
        #expect(list.items == Array(0..<35))
        #expect(list.loadNextPage() == nil)
    }

    @Test func `An invalid strategy fails the load before it is sent`() async {
        final class Nothing: PageAPIRequest<[Int]>, APIManager {
            let path = "/numbers"
            let method = HTTPMethod.get
            override var strategy: any PageStrategy { .pageNumber(size: 0) }
        }
        let list = Nothing(delegate: screen, proxy: APIProxy(fake: server.transport))
        list.reload()
        #expect(await screen.ending() == .failure(.invalidRequest))
        #expect(list.refreshState.error?.type == .invalidRequest)
        #expect(server.queries.isEmpty)
    }
}

@MainActor @Suite("The loading indicator of a list", .hangLimit, .timeLimit(.minutes(10)))
struct ListIndicatorTests {
    let server = NumberServer(count: 25)
    let screen = Screen()
    let list: OffsetNumbers

    init() {
        list = OffsetNumbers(delegate: screen, proxy: APIProxy(fake: server.transport))
    }

    @Test func `A reload and each next page show it until their ending`() async {
        let indicator = IndicatorSpy()
        list.reload(indicator: indicator, message: "one")
        #expect(indicator.shown == ["one"] && indicator.hides == 0)
        #expect(await screen.ending() == .success)
        #expect(indicator.isBalanced)
        list.reload(params: ["text": "pen"], indicator: indicator, message: "two")
        #expect(await screen.ending() == .success)
        while list.loadNextPage(indicator: indicator, message: "next") != nil {
            #expect(!indicator.isBalanced)
            #expect(await screen.ending() == .success)
            #expect(indicator.isBalanced)
        }
        #expect(indicator.shown == ["one", "two", "next", "next"], "none at the end of the list")
        #expect(server.queries.dropFirst().allSatisfy { $0.hasSuffix("text=pen") })
    }

    @Test func `That of a page that is already loading is shown until its ending, too`() async {
        let (first, second) = (IndicatorSpy(), IndicatorSpy())
        for load in [{ $0.loadNextPage(indicator: first) }, { $0.reload(indicator: first) }]
            as [@MainActor (OffsetNumbers) -> RequestID?]
        {
            let id = load(list)
            for _ in 0..<3 { #expect(list.loadNextPage(indicator: second, message: "pulled") == id) }
            #expect(!second.isBalanced)
            #expect(await screen.ending() == .success)
            #expect(second.isBalanced, "hidden before the delegate")
        }
        #expect(first.shown.count == 2 && first.isBalanced && second.shown == ["pulled", "pulled"])
    }

    @Test func `An indicator of a page that is already loading does not retain the list`() async {
        let (indicator, gate) = (IndicatorSpy(), Latch())
        let transport = ScriptedTransport { _ in
            try await gate.wait()
            return .json("[1]")
        }
        var list: OffsetNumbers? = OffsetNumbers(proxy: APIProxy(fake: transport))
        let proxy = list?.proxy
        list?.loadNextPage()
        list?.loadNextPage(indicator: indicator)
        await transport.waitForRequests()
        list = nil
        #expect(proxy?.activeRequests.isEmpty == true)
        await suspend(while: !indicator.isBalanced)
        #expect(indicator.shown.count == 1)
    }

    @Test func `A load that is superseded, cancelled or fails hides its indicator`() async {
        let indicator = IndicatorSpy()
        list.loadNextPage(indicator: indicator)
        list.reload(indicator: indicator)
        list.reload(params: nil, indicator: indicator)
        #expect(await screen.endings(3) == [.cancelled, .cancelled, .success])
        #expect(indicator.shown.count == 1 && indicator.isBalanced)
        server.failNextRequest()
        list.loadNextPage(indicator: indicator)
        #expect(await screen.ending() == .failure(.http))
        list.loadNextPage(indicator: indicator)
        list.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        #expect(indicator.shown.count == 3 && indicator.isBalanced)
    }
}

@MainActor @Suite("A list has pages of one account and one environment", .hangLimit, .timeLimit(.minutes(10)))
struct ListSessionTests {
    enum Change: CaseIterable {
        case logout, switchAccount, jar, environment, path
    }

    private final class Names: PageAPIRequest<[String]>, APIManager {
        let path = "/names"
        let method = HTTPMethod.get
        override var strategy: any PageStrategy { .offset(limit: 2) }
    }

    private let screen = Screen()
    private let account = Account()
    private let transport = ScriptedTransport { request in
        if request.url.path.hasSuffix("login") { return .json(goodsJSON([])) }
        let token = request.headers["X-Token"] ?? ""
        if token == "expired" { return .status(401) }
        let offset = request.query["offset"]?.first.flatMap { Int($0) } ?? 0
        return .json(#"{"errcode":200,"data":["\#(token)\#(offset)","\#(token)\#(offset + 1)"]}"#)
    }
    private let proxy: APIProxy

    init() {
        account.setToken("a")
        var service = APIService.sample()
        service.reloginHandler = account
        service.commonHeaders = { [account] in ["X-Token": account.token] }
        proxy = APIProxy(service: service, transport: transport, clock: ManualClock())
    }

    private func make(_ change: Change) {
        switch change {
        case .logout: proxy.logout()
        case .switchAccount: proxy.switchAccount(to: CookieJar())
        case .jar: proxy.defaultService?.cookies = CookieJar()
        case .environment:
            proxy.defaultService?.environment = APIEnvironment("other", baseURL: URL("http://other.test/api"))
        case .path: proxy.defaultService?.baseURL.append(path: "tenants/8")
        }
        account.setToken("b")
    }

    @Test(.fault(59), arguments: Change.allCases)
    func `After a change, the next page is the first one of the new account`(_ change: Change) async {
        let list = Names(delegate: screen, proxy: proxy)
        list.loadData()
        #expect(await screen.ending() == .success)
        make(change)
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(list.items == ["b0", "b1"])
        list.itemAppeared(at: 1)
        #expect(await screen.ending() == .success)
        #expect(list.items == ["b0", "b1", "b2", "b3"])
    }

    @Test func `After a sign-in of the same session, the next page follows`() async throws {
        let list = Names(delegate: screen, proxy: proxy)
        list.loadData()
        #expect(await screen.ending() == .success)
        _ = try await APIRequest<JSONValue>("/login", isLoginRequest: true, proxy: proxy).value()
        account.setToken("b")
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(list.items == ["a0", "a1", "b2", "b3"])
    }

    @Test func `After a relogin, the next page follows`() async {
        let list = Names(delegate: screen, proxy: proxy)
        list.loadData()
        #expect(await screen.ending() == .success)
        account.setToken("expired")
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(account.logins == 1)
        #expect(list.items == ["a0", "a1", "t12", "t13"])
    }

    @Test(arguments: Change.allCases)
    func `An iteration ends when the account or the environment changes`(_ change: Change) async {
        let list = Names(delegate: screen, proxy: proxy)
        var pages: [[String]] = []
        let error = await #expect(throws: APIError.self) {
            for try await page in list.pages() {
                pages.append(page)
                make(change)
            }
        }
        #expect(error?.type == .cancelled)
        #expect(error?.reason == "the account or the environment has changed during the iteration")
        #expect(pages == [["a0", "a1"]])
    }
}

@MainActor @Suite("A list keeps the parameters of its reload", .hangLimit, .timeLimit(.minutes(10)))
struct ReloadParamsTests {
    final class Numbers: PageAPIRequest<[Int]>, APIManager {
        var path = "/numbers"
        let method = HTTPMethod.get
        var customRestartPolicy = RestartPolicy.cancelPrevious
        override var restartPolicy: RestartPolicy { customRestartPolicy }
        override var strategy: any PageStrategy { .offset(limit: 10) }
    }

    let server = NumberServer(count: 25)
    let screen = Screen(params: ["shop": 7])

    private func numbers() -> Numbers {
        Numbers(delegate: screen, paramSource: screen, proxy: APIProxy(fake: server.transport))
    }

    @Test func `The following pages have the parameters of the reload`() async {
        let list = numbers()
        screen.onParams = { _ in Issue.record("asked") }
        list.reload(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        while list.loadNextPage() != nil { #expect(await screen.ending() == .success) }
        #expect(list.items == Array(0..<25))
        list.refreshAll()
        _ = await screen.endings(3)
        #expect(server.queries.count >= 6)
        for query in server.queries { #expect(query.hasSuffix("text=pen")) }
    }

    @Test func `A reload without parameters asks the param source again, and so do the following pages`() async {
        let list = numbers()
        list.loadData(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        list.reload()
        #expect(await screen.ending() == .success)
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(server.queries.map { $0.hasSuffix("text=pen") } == [true, false, false])
        #expect(server.queries.suffix(2).allSatisfy { $0.hasSuffix("shop=7") })
    }

    @Test func `After a load that was needed, the param source is asked again for each page and for another load`()
        async
    {
        let list = numbers()
        var questions = 0
        screen.onParams = { _ in questions += 1 }
        list.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(questions == 1)
        screen.params = ["shop": 8]
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        screen.params = ["shop": 9]
        list.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(questions == 3 && list.items.count == 10)
        #expect(server.queries.map { $0.suffix(6) } == ["shop=7", "shop=8", "shop=9"])
    }

    @Test func `A page that is added has the path of the first one, also after a reload of another that has failed`()
        async
    {
        let list = numbers()
        list.reload()
        #expect(await screen.ending() == .success)
        list.path = "/others"
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        server.failNextRequest()
        list.reload()
        #expect(await screen.ending() == .failure(.http))
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(server.paths == ["numbers", "numbers", "others", "numbers"])
        #expect(list.items == Array(0..<25))
        list.refreshAll()
        #expect(await screen.endings(3) == [.success, .success, .success])
        list.reload()
        #expect(await screen.ending() == .success)
        #expect(server.paths.suffix(4) == ["numbers", "numbers", "numbers", "others"])
    }

    @Test func `A list is as old as its first page`() async {
        let clock = ManualClock()
        let proxy = APIProxy(service: .sample(), transport: server.transport, clock: clock)
        let list = Numbers(delegate: screen, paramSource: screen, proxy: proxy)
        list.reload()
        #expect(await screen.ending() == .success)
        clock.advance(by: .seconds(50))
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        list.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(server.queries.count == 2 && list.items.count == 20)
        clock.advance(by: .seconds(20))
        list.refreshAll()
        #expect(await screen.endings(2) == [.success, .success])
        clock.advance(by: .seconds(60))
        list.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(server.queries.count == 4)
        clock.advance(by: .seconds(1))
        list.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(server.queries.count == 5 && list.items.count == 10)
    }

    /// A list whose first page is of the beginning of the clock, and its second one of 50 seconds later.
    private func list(_ clock: ManualClock, _ transport: ScriptedTransport? = nil) async -> Numbers {
        let proxy = APIProxy(service: .sample(), transport: transport ?? server.transport, clock: clock)
        let list = Numbers(delegate: screen, proxy: proxy)
        list.reload(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        clock.advance(by: .seconds(50))
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        return list
    }

    @Test func `A page that is added to an old list while it loads does not make the list young`() async {
        let (clock, gate) = (ManualClock(), Latch())
        let transport = ScriptedTransport { [server] request in
            if request.query["offset"] == ["20"] { try await gate.wait() }
            return server.response(request)
        }
        let list = await list(clock, transport)
        let (young, page) = (list.loadNextPage(), list.loadIfNeeded(maxAge: .seconds(60), params: ["text": "pen"]))
        #expect(young == page)
        clock.advance(by: .seconds(20))
        #expect(list.loadIfNeeded(maxAge: .seconds(60), params: ["text": "pen"]) != page)
        #expect(await screen.endings(2) == [.cancelled, .success])
        gate.open()
        #expect(list.items == Array(0..<10))
    }

    @Test(arguments: [true, false])
    func
        `A refresh of all pages that fails leaves a list as old as it was, and one that succeeds is as old as its first page`(
            _ fails: Bool
        ) async
    {
        let (clock, gate) = (ManualClock(), Latch())
        let isRefreshing = Lock(false)
        let transport = ScriptedTransport { [server] request in
            let isSecond = request.query["offset"] == ["10"] && isRefreshing.withLock(\.self)
            if isSecond { try await gate.wait() }
            return isSecond && fails ? .status(503) : server.response(request)
        }
        let list = await list(clock, transport)
        isRefreshing.withLock { $0 = true }
        list.refreshAll()
        #expect(await screen.ending() == .success)
        clock.advance(by: .seconds(50))
        gate.open()
        #expect(await screen.ending() == (fails ? .failure(.http) : .success))
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        let sent = transport.requests.count
        list.loadIfNeeded(maxAge: .seconds(60), params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        #expect(transport.requests.count == sent + (fails ? 1 : 0))
        clock.advance(by: .seconds(11))
        list.loadIfNeeded(maxAge: .seconds(60), params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        #expect(transport.requests.count == sent + 1)
    }

    @Test(arguments: [RestartPolicy.cancelPrevious, .ignoreNew, .concurrent], [false, true])
    func `A refresh of all pages is what a list needs, and goes on`(
        _ policy: RestartPolicy,
        _ isYoung: Bool
    ) async {
        let (clock, gates) = (ManualClock(), [Latch(), Latch()])
        let isRefreshing = Lock(false)
        let transport = ScriptedTransport { [server] request in
            let page = request.query["offset"] == ["0"] ? 0 : 1
            if isRefreshing.withLock(\.self) { try await gates[page].wait() }
            return server.response(request)
        }
        let list = await list(clock, transport)
        list.customRestartPolicy = policy
        if !isYoung { clock.advance(by: .seconds(3600)) }
        isRefreshing.withLock { $0 = true }
        let (maxAge, params) = (Duration.seconds(isYoung ? 600 : 60), RequestParams.given(["text": "pen"]))
        let first = list.refreshAll()
        #expect(list.loadIfNeeded(maxAge: maxAge, params: params) == first)
        gates[0].open()
        #expect(await screen.ending() == .success)
        let second = list.loadIfNeeded(maxAge: maxAge, params: params)
        #expect(list.proxy.activeRequests.map(\.id) == [second] && list.items.count == 20)
        gates[1].open()
        #expect(await screen.ending() == .success)
        list.loadIfNeeded(maxAge: maxAge, params: params)
        #expect(await screen.ending() == .success)
        #expect(list.items.count == 20 && transport.requests.count == 4)
    }

    @Test(arguments: [RestartPolicy.cancelPrevious, .concurrent])
    func `A reload of something else does not replace the pages that were needed`(_ policy: RestartPolicy) async {
        let (clock, gate) = (ManualClock(), Latch())
        let transport = ScriptedTransport { [server] request in
            if request.query["text"] == ["tea"] { try await gate.wait() }
            return server.response(request)
        }
        let list = await list(clock, transport)
        list.customRestartPolicy = policy
        list.loadData(params: ["text": "tea"])
        list.loadIfNeeded(maxAge: .seconds(60), params: ["text": "pen"])
        gate.open()
        let endings = Set(await screen.endings(2).map { "\($0)" })
        #expect(endings == (policy == .concurrent ? ["success"] : ["cancelled", "success"]))
        #expect(list.items.count == 20 && list.refreshState.error == nil && !list.refreshState.isLoading)
        list.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(server.queries.last?.hasSuffix("text=pen") == true)
    }

    @Test func `After a change of the environment in a refresh of all pages, the path is read again`() async {
        let clock = ManualClock()
        let list = await list(clock)
        list.refreshAll()
        list.path = "/others"
        list.proxy.defaultService?.environment = APIEnvironment("b", baseURL: URL("http://b.test"))
        await list.waitUntilIdle()
        list.loadNextPage()
        await list.waitUntilIdle()
        #expect(server.paths.suffix(2) == ["others", "others"] && list.items == Array(0..<20))
    }

    @Test func `After a load that was not needed, no refresh of something else has failed`() async {
        let list = numbers()
        list.reload(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        server.failNextRequest()
        list.reload(params: ["text": "tea"])
        #expect(await screen.ending() == .failure(.http))
        #expect(list.refreshState.error != nil)
        list.loadIfNeeded(maxAge: .seconds(60), params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        #expect(list.refreshState.error == nil && list.retry() == nil)
        list.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(server.queries.last?.hasSuffix("text=pen") == true)
    }

    @Test func `A load that is not needed does not keep the next page from being loaded`() async {
        let list = numbers()
        list.customRestartPolicy = .ignoreNew
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        let ids = [list.loadIfNeeded(maxAge: .seconds(60)), list.loadNextPage()]
        #expect(ids[0] != ids[1] && list.loadNextPage() == ids[1])
        #expect(await screen.endings(2) == [.success, .success])
        #expect(list.items == Array(0..<20) && server.queries.count == 2)
    }

    @Test func `A load that was needed, and has failed, is tried again with the parameters of that moment`() async {
        let list = numbers()
        server.failNextRequest()
        list.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .failure(.http))
        screen.params = ["shop": 8]
        #expect(list.retry() != nil)
        #expect(await screen.ending() == .success)
        #expect(list.items.count == 10)
        #expect(server.queries.map { $0.suffix(6) } == ["shop=7", "shop=8"])
    }

    @Test
    func `After a failed reload the pages of the list keep their parameters, and a retry has those of the reload`()
        async
    {
        let list = numbers()
        list.reload(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        server.failNextRequest("ink")
        list.reload(params: ["text": "ink"])
        #expect(await screen.ending() == .failure(.http))
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<20))
        list.retry()
        #expect(await screen.ending() == .success)
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(
            server.queries.map { $0.hasSuffix("text=ink") ? "ink" : "pen" } == ["pen", "ink", "pen", "ink", "ink"]
        )
    }

    @Test func `After a cancelled reload the pages of the list keep their parameters`() async {
        let list = numbers()
        list.reload(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        list.reload(params: ["text": "ink"])
        list.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(list.items.count == 20)
        #expect(server.queries.last?.hasSuffix("text=pen") == true)
        list.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(server.queries.last?.hasSuffix("text=ink") == true, "the newest reload")
    }

    @Test func `Without a list, the first page has the parameters of the reload that failed`() async {
        let list = numbers()
        server.failNextRequest()
        list.reload(params: ["text": "pen"])
        #expect(await screen.ending() == .failure(.http))
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(server.queries.allSatisfy { $0.hasSuffix("text=pen") })
    }

    @Test func `A list that is loaded again loads the page that has failed`() async {
        let list = numbers()
        list.reload(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        server.failNextRequest()
        list.loadNextPage()
        #expect(await screen.ending() == .failure(.http))
        #expect((list as BaseAPIRequest).loadAgain() != nil)
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<20))
        #expect(server.queries[1] == server.queries[2])
        list.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<10), "nothing has failed: a reload")
        #expect(server.queries.allSatisfy { $0.hasSuffix("text=pen") })
    }

    @Test func `A closure and an async call receive the first page of a list`() async throws {
        let list = numbers()
        #expect(try await list.value(params: ["text": "pen"]) == Array(0..<10))
        let page = await withCheckedContinuation { page in
            list.loadData(params: ["text": "ink"]) { page.resume(returning: $0) }
        }
        #expect(try page.get() == Array(0..<10))
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(server.queries.last?.hasSuffix("text=ink") == true)
    }

    @Test func `A page that the list has not taken is no reason not to load it`() async {
        let list = numbers()
        list.loadData()
        #expect(await screen.ending() == .success)
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        // The second of its two pages.
        screen.onEvent = { request, _ in request.cancelAllRequests() }
        list.refreshAll()
        #expect(await screen.endings(2) == [.success, .cancelled])
        screen.onEvent = nil
        let sent = server.queries.count
        list.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(server.queries.count == sent + 1)
        list.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(server.queries.count == sent + 1)
    }
}

@MainActor @Suite("A page of a list ends with the last of those who want it", .timeLimit(.minutes(10)))
struct JoinedPageTests {
    let screen = Screen()
    let gate = Latch()

    /// A list whose second page waits.
    private func list() -> OffsetNumbers {
        let server = NumberServer(count: 35)
        let transport = ScriptedTransport { [gate] request in
            if request.url.query()?.contains("offset=0") == false { try await gate.wait() }
            return server.response(request)
        }
        return OffsetNumbers(delegate: screen, proxy: APIProxy(fake: transport))
    }

    /// Waits for the second page in a task that has received the first.
    private func iteration(_ list: OffsetNumbers) async -> Task<[Int]?, any Error> {
        let task = Task {
            var pages = list.pages().makeAsyncIterator()
            _ = try await pages.next()
            return try await pages.next()
        }
        await suspend(while: list.items.isEmpty || !list.appendState.isLoading)
        return task
    }

    @Test func `An iteration that is cancelled leaves a page that the screen has joined`() async {
        let list = list()
        let pages = await iteration(list)
        let id = list.loadNextPage()
        #expect(list.proxy.activeRequests.map(\.id) == [id])
        pages.cancel()
        await #expect { try await pages.value } throws: { ($0 as? APIError)?.type == .cancelled }
        #expect(list.proxy.activeRequests.map(\.id) == [id] && list.waiters.isEmpty)
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<20))
    }

    @Test func `An iteration that has joined a page leaves it to the screen`() async throws {
        let list = list()
        var iterator = list.pages().makeAsyncIterator()
        _ = try await iterator.next()
        list.loadNextPage()
        let joined = Task { [iterator] in
            var iterator = iterator
            return try await iterator.next(isolation: #isolation)
        }
        await suspend(while: list.waiters.isEmpty)
        joined.cancel()
        await #expect { try await joined.value } throws: { ($0 as? APIError)?.type == .cancelled }
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<20))
    }

    @Test func `A page that only an iteration wants is cancelled with it`() async {
        let list = list()
        let pages = await iteration(list)
        pages.cancel()
        await #expect { try await pages.value } throws: { ($0 as? APIError)?.type == .cancelled }
        #expect(list.proxy.activeRequests.isEmpty && list.items == Array(0..<10))
        #expect(screen.events.isEmpty)
    }
}
