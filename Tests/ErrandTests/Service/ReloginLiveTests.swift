import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Relogin over live sockets", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct ReloginLiveTests {
    let screen = Screen()

    private func load(_ shop: GuardedShop, _ path: String = "/goods") -> GoodsRequest {
        let request = GoodsRequest(delegate: screen, paramSource: screen, proxy: shop.proxy)
        request.path = path
        request.loadData()
        return request
    }

    @Test(.fault(37), .fault(46), arguments: TransportKind.allCases, LoginExpiryFormat.allCases)
    func `Hundreds of loads with an expired token share one login, and each succeeds after it`(
        _ kind: TransportKind,
        _ refusal: LoginExpiryFormat
    ) async throws {
        let gate = Gate()
        // No load is served before several have arrived.
        let shop = try GuardedShop(kind, refusal.served.preceded(by: .pass(gate)))
        // The other format of a refusal differs before loads wait for the login.
        let count = rounds(refusal == .status ? 1_000 : 200, slow: 1_000)
        let requests = (0..<count).map { number in
            screen.params = ["number": number]
            return load(shop)
        }
        #expect(await shop.server.waitForTotalRequests(4))
        gate.open()
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: count))
        #expect(shop.logins.count == 1)
        let replays = shop.goods.filter { $0.header("X-Token") == "t1" }
        #expect(Set(replays.map(\.text)).count == count, "each load is accepted")
        #expect(replays.count == count, "and none twice")
        let refused = shop.goods.filter { $0.header("X-Token") == "t0" }
        #expect(refused.count >= 4)
        #expect(Set(refused.map(\.text)).count == refused.count, "none is refused twice")
        #expect(requests.allSatisfy { !$0.isLoading && $0.error == nil })
        #expect(shop.account.expiries == 0)
    }

    @Test(.fault(40), .fault(46), arguments: TransportKind.allCases, LoginExpiryFormat.allCases)
    func `A refusal of the old token after the login starts no second one`(
        _ kind: TransportKind,
        _ refusal: LoginExpiryFormat
    ) async throws {
        let gate = Gate()
        let shop = try GuardedShop(kind) {
            $0.path == "/late" ? refusal.served.preceded(by: .pass(gate)) : refusal.served
        }
        let late = load(shop, "/late")
        #expect(await shop.server.waitForTotalRequests(1))
        let other = load(shop)
        #expect(await screen.ending() == .success)
        #expect(!other.isLoading && late.isLoading)
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(shop.logins.count == 1)
        #expect(shop.server.totalRequests == 5)
    }

    @Test(.fault(41), .fault(46), arguments: TransportKind.allCases, LoginExpiryFormat.allCases)
    func `A refused login ends all waiting loads, once`(
        _ kind: TransportKind,
        _ refusal: LoginExpiryFormat
    ) async throws {
        let gate = Gate()
        let shop = try GuardedShop(kind, loginResponse: refusal.served.preceded(by: .pass(gate)), refusal.served)
        let requests = (0..<20).map { _ in load(shop) }
        // Some wait in the queue, which is as wide as the transport.
        let login = try #require(shop.proxy.defaultService?.login)
        await suspend(while: login.waiterCount + shop.proxy.queuedCount != 20 || shop.logins.isEmpty)
        gate.open()
        #expect(await screen.endings(of: requests) == Array(repeating: .failure(.loginExpired), count: 20))
        #expect(shop.logins.count == 1)
        #expect(shop.account.expiries == 1)
        #expect(requests.allSatisfy { $0.error?.underlying is APIError })
        #expect(shop.proxy.activeRequests.isEmpty)
    }

    @Test(.fault(42), .fault(46), arguments: TransportKind.allCases, LoginExpiryFormat.allCases)
    func `A logout while the login is under way ends all waiting loads as cancelled`(
        _ kind: TransportKind,
        _ refusal: LoginExpiryFormat
    ) async throws {
        let gate = Gate()
        let shop = try GuardedShop(kind, loginResponse: .status(200).preceded(by: .pass(gate)), refusal.served)
        let requests = (0..<20).map { _ in load(shop) }
        await suspend(while: shop.logins.isEmpty)
        shop.proxy.logout()
        shop.account.setToken("next")
        #expect(await screen.endings(of: requests) == Array(repeating: .cancelled, count: 20))
        gate.open()
        await sentinel(shop.proxy)
        #expect(requests.allSatisfy { !$0.isLoading })
        #expect(shop.goods.allSatisfy { $0.header("X-Token") == "t0" })
        #expect(shop.account.expiries == 0)
    }

    @Test(
        .fault(43),
        arguments: TransportKind.allCases,
        [
            [#"Basic realm="shop""#],
            [#"Digest realm="shop", qop="auth", nonce="dcd98b7102dd2f0e", opaque="5ccc069c403ebaf9""#],
            [#"Bearer realm="shop", error="invalid_token""#], [#"Basic realm="a""#, #"Digest realm="b", nonce="c""#],
            [#"Negotiate, Basic realm="a, b", Bearer"#], ["=,\"garbage", ""],
        ]
    )
    func `A challenge of any scheme is an expired login`(_ kind: TransportKind, _ lines: [String]) async throws {
        let challenges = lines.map { HeaderLine("WWW-Authenticate", $0) }
        let shop = try GuardedShop(kind, .status(401, headers: HeaderLines(challenges)))
        let start = ContinuousClock.now
        let request = load(shop)
        #expect(await screen.ending() == .success)
        if CookieProbe.runsSlowTests { #expect(start.duration(to: .now) < .seconds(1)) }
        #expect(request.error == nil)
        #expect(shop.logins.count == 1)
        #expect(shop.goods.map { $0.header("X-Token") } == ["t0", "t1"])
        #expect(shop.server.requests.allSatisfy { $0.header("Authorization") == nil })
    }

    @Test(.fault(44), .fault(46), arguments: TransportKind.allCases, LoginExpiryFormat.allCases)
    func `A load that is cancelled during the login is not sent again, and is released`(
        _ kind: TransportKind,
        _ refusal: LoginExpiryFormat
    ) async throws {
        let gate = Gate()
        let shop = try GuardedShop(kind, loginResponse: GuardedShop.welcome.preceded(by: .pass(gate)), refusal.served)
        screen.params = ["who": "leaves"]
        var leaving: GoodsRequest? = load(shop)
        weak let released = leaving
        await suspend(while: shop.proxy.defaultService?.login.waiterCount != 1)
        screen.params = ["who": "stays"]
        let staying = load(shop)
        leaving = nil
        #expect(released == nil)
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(!staying.isLoading)
        #expect(shop.goods.filter { $0.text.contains("leaves") }.count == 1)
    }

    @Test(.fault(45), .fault(46), arguments: TransportKind.allCases, LoginExpiryFormat.allCases)
    func `A replayed POST sends the same bytes, and reads its file again`(
        _ kind: TransportKind,
        _ refusal: LoginExpiryFormat
    ) async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "photo.bin")
        let photo = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try photo.write(to: file)
        screen.params = ["title": "龙井"]
        let shop = try GuardedShop(kind, refusal.served)
        for serializer in [RequestSerializer.json, .form, .multipart] {
            shop.account.setToken("t0")
            shop.server.removeRecordedRequests()
            let request = GoodsRequest(delegate: screen, paramSource: screen, proxy: shop.proxy)
            request.customSerializer = serializer
            if serializer.isMultipart { screen.parts = { $0.append(file: file, name: "photo") } }
            request.loadData()
            #expect(await screen.ending() == .success)
            let sent = shop.goods
            try #require(sent.count == 2)
            #expect(sent[0].body == sent[1].body)
            #expect(sent[0].header("Content-Type") == sent[1].header("Content-Type"))
            #expect(!sent[0].body.isEmpty)
            if serializer.isMultipart { #expect(sent[1].body.count > photo.count) }
            shop.accept("t\(shop.account.logins + 1)")
        }
    }
}

/// A server that accepts one token, and an app that obtains it with a login request.
@MainActor private final class GuardedShop {
    nonisolated static let welcome = Response.json(bytes: goodsJSON([]).utf8)

    let server: FixtureServer
    let proxy: APIProxy
    let account = Account()
    private let token = Token()

    convenience init(_ kind: TransportKind, loginResponse: Response = welcome, _ refusal: Response) throws {
        try self.init(kind, loginResponse: loginResponse) { _ in refusal }
    }

    init(
        _ kind: TransportKind,
        loginResponse: Response = welcome,
        refusal: @escaping @Sendable (RecordedRequest) -> Response
    ) throws {
        server = try FixtureServer.start { [token] request in
            guard request.path != "/login" else { return loginResponse }
            return request.header("X-Token") == token.valid.withLock { $0 } ? Self.welcome : refusal(request)
        }
        let service = APIService.sample { [account, server] in
            $0.baseURL = server.baseURL
            $0.reloginHandler = account
            $0.commonHeaders = { ["X-Token": account.token] }
        }
        proxy = APIProxy(service: service, transport: try kind.make())
        account.login = { [proxy] in
            let login = GoodsRequest(proxy: proxy)
            login.path = "/login"
            login.customLogin = true
            _ = try await login.value()
        }
    }

    /// The login requests that have arrived.
    var logins: [RecordedRequest] { server.requests.filter { $0.path == "/login" } }

    /// All other requests that have arrived.
    var goods: [RecordedRequest] { server.requests.filter { $0.path != "/login" } }

    /// Changes the accepted token.
    func accept(_ name: String) { token.valid.withLock { $0 = name } }

    private final class Token: Sendable {
        let valid = Lock("t1")
    }
}
