import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A list has pages of one account and one environment", .hangLimit, .timeLimit(.minutes(10)))
struct ListSessionTests {
    enum Change: CaseIterable {
        case logout, switchAccount, environment, path
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
