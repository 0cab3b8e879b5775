import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A session that has ended does not affect the next", .hangLimit, .timeLimit(.minutes(10)))
struct SessionEndTests: SessionScene {
    let screen = Screen()
    let account = Account()
    let clock = ManualClock()

    /// The points at which a load of the old account may be when the account changes.
    enum Whereabouts: CaseIterable, Sendable {
        case queued, underWay, inBackOff, waitingForRelogin, waitingToStart
    }

    /// Stops loads of the old account at `place`, and responses those of the new one.
    private func transport(_ place: Whereabouts, until gate: Latch) -> ScriptedTransport {
        ScriptedTransport { request in
            guard request.headers["X-Token"] != "new" else { return .json(goodsJSON([])) }
            switch place {
            case .queued, .underWay: await gate.waitIgnoringCancellation()
            case .inBackOff: return .status(503)
            case .waitingForRelogin, .waitingToStart: return .status(401)
            }
            return HTTPResponse(status: 200, headers: ["Set-Cookie": "late=1; Path=/"])
        }
    }

    /// Begins a load and runs it to its point, after another load where the point is a queue.
    private func loads(
        at place: Whereabouts,
        _ proxy: APIProxy,
        _ transport: ScriptedTransport
    ) async -> [GoodsRequest] {
        var requests = [load(proxy)]
        await transport.waitForRequests(1)
        switch place {
        case .queued:
            requests.append(load(proxy))
            await suspend(while: proxy.queuedCount == 0)
        case .underWay: break
        case .inBackOff: await clock.waitForSleepers()
        case .waitingForRelogin, .waitingToStart:
            await suspend(while: account.logins == 0)
            if place == .waitingToStart { requests.append(load(proxy)) }
        }
        return requests
    }

    @Test(.fault(42), arguments: Whereabouts.allCases, [false, true])
    func `No load of the old account is sent with the new one's token or cookies`(
        _ place: Whereabouts,
        _ switches: Bool
    ) async {
        let (old, new) = (CookieJar(), CookieJar())
        old.store(setCookie: "sid=old; Path=/", from: URL("http://shop.test/"))
        new.store(setCookie: "sid=new; Path=/", from: URL("http://shop.test/"))
        let (gate, login) = (Latch(), Latch())
        let transport = transport(place, until: gate)
        account.login = { await login.waitIgnoringCancellation() }
        let proxy = proxy(transport, limits: QueueLimits(perHost: 1), cookies: old)
        var requests = await loads(at: place, proxy, transport)
        if switches { proxy.switchAccount(to: new) } else { proxy.logout() }
        account.setToken("new")
        #expect(await screen.endings(of: requests) == Array(repeating: .cancelled, count: requests.count))
        requests.append(load(proxy))
        gate.open()
        clock.advance(by: .seconds(100))
        #expect(await screen.ending() == .success)
        // Not earlier, because this late handler replaces the new token.
        login.open()
        await sentinel(proxy)
        let sent = transport.requests.map { [$0.headers["X-Token"], $0.headers["Cookie"]] }
        #expect(sent == [["t0", "sid=old"], ["new", switches ? "sid=new" : nil]])
        #expect(proxy.cookies.header(for: URL("http://shop.test/")) == (switches ? "sid=new" : nil))
        #expect(account.expiries == 0)
        #expect(screen.events.count == requests.count)
    }

    @Test(.fault(42)) func `A load whose account changes while it begins is not sent`() async {
        let (old, new) = (CookieJar(), CookieJar())
        old.store(setCookie: "sid=old; Path=/", from: URL("http://shop.test/"))
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let proxy = proxy(transport, cookies: old)
        let validator = ValidatorSpy()
        validator.acceptsParams = { [account] _ in
            proxy.switchAccount(to: new)
            account.setToken("new")
            return true
        }
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.validator = validator
        request.loadData()
        #expect(await screen.ending() == .cancelled)
        await sentinel(proxy)
        #expect(transport.requests.isEmpty)
    }

    @Test(.fault(42)) func `A load whose account changes while its headers are read is not sent`() async {
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let proxy = proxy(transport)
        proxy.defaultService?.commonHeaders = { [weak proxy] in
            proxy?.switchAccount(to: CookieJar())
            return ["X-Token": "new"]
        }
        let request = load(proxy)
        #expect(await screen.ending() == .cancelled)
        await sentinel(proxy)
        #expect(transport.requests.isEmpty)
        #expect(!request.isLoading)
    }

    @Test func `A logout inside the handler ends its waiters as cancelled`() async {
        let proxy = proxy(refusing())
        account.login = { [proxy] in proxy.logout() }
        let requests = (0..<3).map { _ in load(proxy) }
        #expect(await screen.endings(of: requests) == [.cancelled, .cancelled, .cancelled])
        #expect(requests.allSatisfy { !$0.isLoading })
        #expect(account.expiries == 0)
    }

    @Test(.fault(42), arguments: [false, true])
    func `A relogin that runs is cancelled with its session, inside of the call that ends it`(_ switches: Bool) async {
        let (began, cancelled) = (Latch(), Counter())
        account.login = {
            try await withTaskCancellationHandler {
                began.open()
                try await Latch().wait()
            } onCancel: {
                _ = cancelled.next()
            }
        }
        let proxy = proxy(refusing())
        let request = load(proxy)
        try? await began.wait()
        if switches { proxy.switchAccount(to: CookieJar()) } else { proxy.logout() }
        #expect(cancelled.count == 1)
        #expect(await screen.ending() == .cancelled)
        await sentinel(proxy)
        #expect(account.expiries == 0 && !request.isLoading)
    }

    @Test(.fault(42), arguments: [false, true])
    func `A load that begins between the change of the cookies and the end of the session ends with it`(
        _ switches: Bool
    ) async throws {
        let folder = try TemporaryFolder()
        // A jar whose file is damaged reports that when a proxy receives it; one whose folder is a file, when it is saved.
        try Data("no cookies".utf8).write(to: folder.file)
        let damaged = CookieJar(file: folder.file)
        let plainFile = folder.url.appending(path: "plain")
        try Data().write(to: plainFile)
        let unsaved = CookieJar(file: plainFile.appending(path: "cookies.txt"))
        let gate = Latch()
        let transport = ScriptedTransport { _ in
            await gate.waitIgnoringCancellation()
            return HTTPResponse(status: 200, headers: ["Set-Cookie": "late=1; Path=/"])
        }
        let proxy = proxy(transport, cookies: switches ? CookieJar() : unsaved)
        let (request, ends, begun) = (GoodsRequest(delegate: screen, proxy: proxy), Counter(), Counter())
        proxy.onError = { _ in
            // A jar may have reported before, and reports each kind of problem.
            guard ends.count == 1, begun.next() == 1 else { return }
            MainActor.assumeIsolated { _ = request.loadData() }
        }
        if !switches { unsaved.store(setCookie: "sid=old; Path=/", from: URL("http://shop.test/")) }
        _ = ends.next()
        if switches { proxy.switchAccount(to: damaged) } else { proxy.logout() }
        #expect(begun.count >= 1, "the hook was called in between")
        #expect(proxy.activeRequests.isEmpty)
        gate.open()
        #expect(await screen.ending() == .cancelled)
        await sentinel(proxy)
        #expect(screen.events == [.cancelled])
        #expect(switches || proxy.cookies.cookies.isEmpty)
        withExtendedLifetime(folder) {}
    }

    @Test func `Another service's loads and plain calls continue`() async throws {
        let gate = Latch()
        let proxy = proxy(
            ScriptedTransport { _ in
                try await gate.wait()
                return .json(goodsJSON([]))
            }
        )
        let other = GoodsRequest(delegate: screen, proxy: proxy)
        other.customService = .sample()
        other.loadData()
        let call = Task { try await proxy.send(HTTPRequest(.get, URL("http://shop.test/plain"))) }
        await suspend(while: proxy.activeRequests.count < 2)
        proxy.logout()
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(try await call.value.status == 200)
    }
}
