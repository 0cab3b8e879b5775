import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Requests of relogin() have the service and the proxy whose login it is", .timeLimit(.minutes(10)))
struct ReloginProxyTests {
    private let account = Account()

    /// What sends the loads that need the login.
    enum Sender: CaseIterable, Sendable {
        /// The shared proxy; the requests name the service.
        case sharedProxy
        /// A proxy whose default service it is.
        case ownProxy
        /// A proxy with another default service; the requests name the service.
        case proxyOfOther
        /// A proxy without a service; a plain call names it.
        case plainCall
    }

    /// How the handler's request is made.
    enum Way: CaseIterable, Sendable {
        case local, stored, delegate, childTask
    }

    /// Accepts the token "t1", and every login.
    private func transport() -> ScriptedTransport {
        ScriptedTransport { request in
            let isAccepted = request.headers["X-B"] == "t1" || request.url.path.hasSuffix("login")
            return isAccepted ? .json(goodsJSON([])) : .status(401)
        }
    }

    private func service(_ host: String, header: String) -> APIService {
        var service = APIService(baseURL: URL("http://\(host).test/api"))
        service.commonHeaders = { [account] in [header: account.token] }
        return service
    }

    /// The service of the login, whose environment adds a second to the timeout each time that it changes the service.
    private var secured: APIService {
        var service = service("b", header: "X-B")
        service.reloginHandler = account
        service.environment.changes = { service in
            service.timeout += .seconds(1)
        }
        return service
    }

    private func signIn(_ way: Way, _ stored: APIRequest<[Goods]>) async throws {
        switch way {
        case .local: _ = try await APIRequest<[Goods]>("/login").value()
        case .stored: _ = try await stored.value()
        case .delegate:
            let request = APIRequest<[Goods]>("/login")
            request.loadData()
            await suspend(while: request.isLoading)
        case .childTask:
            async let login: Void = { @MainActor in _ = try await APIRequest<[Goods]>("/login").value() }()
            try await login
        }
    }

    @Test(arguments: Sender.allCases, Way.allCases)
    func `A request that names neither is sent to that service by that proxy`(
        _ sender: Sender,
        _ way: Way
    ) async throws {
        let (shared, own) = (transport(), transport())
        let other = service("a", header: "X-A")
        let service = secured
        let sharedProxy = APIProxy(fake: shared, service: other)
        try await withSharedProxy(sharedProxy) {
            let stored = APIRequest<[Goods]>("/login")
            account.login = { try await signIn(way, stored) }
            let proxy =
                switch sender {
                case .sharedProxy: APIProxy.shared
                case .ownProxy: APIProxy(fake: own, service: service)
                case .proxyOfOther, .plainCall: APIProxy(fake: own, service: other)
                }
            if sender == .plainCall {
                let response = try await proxy.send(HTTPRequest(.get, URL("/goods")), to: service)
                #expect(response.status == 200)
            } else {
                let named = sender == .ownProxy ? nil : service
                _ = try await APIRequest<[Goods]>("/goods", service: named, proxy: proxy).value()
            }
            // One that was made before has a proxy, but no service.
            let transport = sender == .sharedProxy || way == .stored ? shared : own
            let login = try #require(transport.requests.first { $0.url.path.hasSuffix("login") })
            #expect(login.url.absoluteString == "http://b.test/api/login")
            #expect(login.headers["X-B"] == "t0" && login.headers["X-A"] == nil)
            #expect(login.timeout == .seconds(61), "the changes of the environment apply once")
            #expect((shared.requests + own.requests).allSatisfy { $0.url.host() == "b.test" })
            // Afterwards as before.
            _ = try await APIRequest<[Goods]>("/login").value()
            #expect(shared.requests.last?.url.host() == "a.test")
        }
        #expect(account.logins == 1)
    }

    @Test func `A request that is given another proxy or a service is sent by that and to that`() async throws {
        let (shared, own) = (transport(), transport())
        let other = service("a", header: "X-A")
        try await withSharedProxy(APIProxy(fake: shared, service: other)) {
            account.login = {
                _ = try await APIRequest<[Goods]>("/login", proxy: .shared).value()
                _ = try await APIRequest<[Goods]>("/login", service: other).value()
            }
            _ = try await APIRequest<[Goods]>("/goods", proxy: APIProxy(fake: own, service: secured)).value()
        }
        #expect(shared.requests.map(\.url.absoluteString) == ["http://a.test/api/login"])
        #expect(own.requests.map(\.url.host) == ["b.test", "a.test", "b.test"])
    }

    @Test func `What a request of the login changes for itself is not inherited`() async throws {
        let transport = transport()
        account.login = { _ = try await APIRequest<[Goods]>("/login").value() }
        let request = GoodsRequest(proxy: APIProxy(fake: transport, service: secured))
        request.ownOptions.envelope = .wholeBody
        request.reform = { _ in ["x": 1] }
        await #expect { try await request.value() } throws: { ($0 as? APIError)?.type == .decoding }
        #expect(account.logins == 1, "the login was read in the envelope of the service")
        #expect(transport.requests.count == 3)
    }
}
