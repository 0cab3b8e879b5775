import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("A plain call without a service has the cookies of the default one", .hangLimit, .timeLimit(.minutes(10)))
struct PlainCallCookieTests: SessionScene {
    let screen = Screen()
    let account = Account()
    let clock = ManualClock()
    private let production = APIEnvironment("production", baseURL: URL("http://api.shop.test/v1"))
    private let staging = APIEnvironment("staging", baseURL: URL("http://staging.shop.test/v2"))
    private let url = URL("http://api.shop.test/v1/plain")

    /// A jar that has, for each environment, a cookie with its name.
    private func jar() -> CookieJar {
        let jar = CookieJar()
        for name in ["production", "staging"] {
            jar.jar(of: name).store(setCookie: "of=\(name); Path=/", from: url, at: clock.date)
        }
        return jar
    }

    @Test func `The changes of its environment apply`() async throws {
        let own = jar()
        var environment = production
        environment.changes = { $0.cookies = own }
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let proxy = APIProxy(service: APIService(environment: environment), transport: transport, clock: clock)
        _ = try await proxy.send(HTTPRequest(.get, url))
        #expect(transport.requests.map { $0.headers["Cookie"] } == ["of=production"])
    }

    @Test func `Inside a relogin it has the environment of that, also after a change`() async {
        let (gate, transport) = (Latch(), refusing(but: "t1"))
        var service = APIService(environment: production)
        service.reloginHandler = account
        service.commonHeaders = { [account] in ["X-Token": account.token] }
        let proxy = APIProxy(service: service, transport: transport, cookies: jar(), clock: clock)
        account.gate = gate
        account.login = { [proxy, url] in _ = try await proxy.send(HTTPRequest(.post, url)) }
        let request = load(proxy)
        await suspend(while: account.logins == 0)
        proxy.defaultService?.environment = staging
        gate.open()
        #expect(await screen.endings(of: [request]) == [.success])
        #expect(transport.requests.map { $0.url.lastPathComponent } == ["goods", "plain", "goods"])
        #expect(transport.requests.map { $0.headers["Cookie"] } == Array(repeating: "of=production", count: 3))
    }
}
