import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// Changes of the cookie jar while loads are under way.
@MainActor @Suite("Several accounts", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct AccountTests {
    private let screen = Screen()
    private let folder: TemporaryFolder
    private let old: CookieJar
    private let new: CookieJar
    private let url = URL("http://shop.test/api/goods")

    init() throws {
        folder = try TemporaryFolder()
        old = CookieJar(file: folder.file)
        new = CookieJar(file: folder.url.appending(path: "new.txt"))
        old.store(setCookie: "sid=old; Path=/", from: url)
        new.store(setCookie: "sid=new; Path=/", from: url)
    }

    /// Responds with a cookie; requests for `/goods` are served after `gate` has opened.
    private func transport(_ gate: Latch = Latch(), _ arrived: Latch = Latch()) -> ScriptedTransport {
        ScriptedTransport { request async throws(TransportError) in
            var response = HTTPResponse.json(goodsJSON([]))
            response.headers.append("Set-Cookie", "late=1; Path=/")
            guard request.url.path.hasSuffix("/goods") else { return response }
            arrived.open()
            try await gate.wait()
            return response
        }
    }

    @Test(arguments: [false, true])
    func `An async call whose user signs out before it goes on is cancelled`(_ isByDelegate: Bool) async throws {
        let (gate, arrived) = (Latch(), Latch())
        let proxy = APIProxy(service: .sample(), transport: transport(gate, arrived))
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.customRestartPolicy = .ignoreNew
        if isByDelegate {
            screen.onEvent = { _, _ in proxy.logout() }
            request.loadData()
        }
        let call = Task { await request.outcome() }
        try await arrived.wait()
        await suspend(while: request.waiters.isEmpty)
        if !isByDelegate { request.loadData { _ in proxy.logout() } }
        gate.open()
        #expect(await call.value == .cancelled)
    }

    private final class Lines: StreamAPIRequest<String>, APIManager {
        let (path, method) = ("/lines", HTTPMethod.get)
    }

    @Test func `A reader of elements is cancelled by a logout, also after the end of the load`() async throws {
        let transport = ScriptedTransport { _ in HTTPResponse(status: 200, body: Data("a\n".utf8)) }
        let proxy = APIProxy(service: .sample(), transport: transport)
        let lines = Lines(proxy: proxy)
        var iterator = lines.elements().makeAsyncIterator()
        #expect(try await iterator.next(isolation: #isolation) == "a")
        await suspend(while: lines.isLoading)
        proxy.logout()
        let error = await #expect(throws: APIError.self) { try await iterator.next(isolation: #isolation) }
        #expect(error?.type == .cancelled)
    }

    enum Call: CaseIterable {
        case value, pages, allItems, values, batch, chain

        @MainActor fileprivate func run(_ request: GoodsRequest, _ list: OffsetNumbers) async throws {
            switch self {
            case .value: _ = try await request.value()
            case .pages: for try await _ in list.pages() { return }
            case .allItems: _ = try await list.allItems()
            case .values: _ = try await APIBatch.values(of: [request])
            case .batch:
                let batch = APIBatch()
                batch.add(request)
                try await batch.run()
            case .chain:
                let chain = APIChain()
                chain.add(request)
                try await chain.run()
            }
        }
    }

    @Test(arguments: Call.allCases)
    func `An async call is cancelled whose user signs out after its load has ended`(_ call: Call) async throws {
        let transport = ScriptedTransport { request in
            switch request.url.lastPathComponent {
            case "numbers": .json(#"{"errcode":200,"data":[1,2]}"#)
            default: .json(goodsJSON([]))
            }
        }
        let proxy = APIProxy(service: .sample(), transport: transport)
        let interceptor = InterceptorSpy()
        interceptor.onCall = { _, call in if case .didEnd = call { proxy.logout() } }
        let (request, list) = (
            GoodsRequest(delegate: screen, proxy: proxy), OffsetNumbers(proxy: proxy)
        )
        for request in [request, list] { request.interceptor = interceptor }
        do {
            try await call.run(request, list)
            Issue.record("the former user's data is returned")
        } catch {
            #expect((error as? APIError)?.type == .cancelled)
        }
        #expect(transport.requests.count == 1)
    }

    @Test(.blocksThread, arguments: [false, true])
    func `A call without a request object is cancelled whose user signs out before it goes on`(_ sends: Bool)
        async throws
    {
        let (gate, arrived, headers) = (Latch(), Latch(), Latch())
        let isAdapted = Lock(false)
        let proxy = APIProxy(service: .sample(), transport: transport(gate, arrived))
        let service = try #require(proxy.defaultService)
        proxy.defaultService?.adapters.request = [
            Adapter { _, _ in
                headers.open()
                try await gate.wait()
                isAdapted.withLock { $0 = true }
            }
        ]
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        let call = Task {
            if sends {
                _ = try await proxy.send(HTTPRequest(.get, URL("/goods")), to: service)
            } else {
                _ = try await request.prepare()
            }
        }
        try await (sends ? arrived : headers).wait()
        gate.open()
        // Nothing of the main actor runs meanwhile.
        spin(while: sends ? !proxy.activeRequests.isEmpty : !isAdapted.withLock(\.self))
        proxy.logout()
        await #expect(throws: APIError.self) { try await call.value }
    }

    @Test(arguments: [false, true])
    func `A call that joins a load belongs to the session of that load`(_ isOfLoad: Bool) async throws {
        let (gate, arrived) = (Latch(), Latch())
        let proxy = APIProxy(
            service: .sample { $0.environment = APIEnvironment("a", baseURL: URL("http://a.test")) },
            transport: transport(gate, arrived)
        )
        let former = try #require(proxy.defaultService)
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.customRestartPolicy = .ignoreNew
        request.loadData()
        try await arrived.wait()
        let call = Task { await request.outcome() }
        await suspend(while: request.waiters.isEmpty)
        proxy.defaultService?.environment = APIEnvironment("b", baseURL: URL("http://b.test"))
        screen.onEvent = { _, _ in if isOfLoad { proxy.logout(from: former) } }
        if !isOfLoad { proxy.logout() }
        gate.open()
        #expect(await call.value == (isOfLoad ? .cancelled : nil))
    }

    @Test(arguments: [false, true])
    func `Who receives a load after another receiver has signed out does not get the response`(_ isByDelegate: Bool)
        async
    {
        let gate = Latch()
        gate.open()
        let proxy = APIProxy(service: .sample(), transport: transport(gate))
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.customRestartPolicy = .ignoreNew
        var endings: [APIErrorType?] = []
        screen.onEvent = { _, _ in proxy.logout() }
        if isByDelegate { request.loadData() } else { request.loadData { _ in proxy.logout() } }
        request.loadData { endings.append($0.error?.type) }
        await suspend(while: endings.isEmpty)
        #expect(endings == [.cancelled])
    }

    @Test func `A sign-in after which the delegate switches the account succeeds`() async throws {
        let (gate, arrived) = (Latch(), Latch())
        let proxy = APIProxy(service: .sample(), transport: transport(gate, arrived))
        let signIn = GoodsRequest(delegate: screen, proxy: proxy)
        (signIn.customRestartPolicy, signIn.customLogin) = (.ignoreNew, true)
        screen.onEvent = { [new] _, _ in proxy.switchAccount(to: new) }
        signIn.loadData()
        let call = Task { await signIn.outcome() }
        try await arrived.wait()
        await suspend(while: signIn.waiters.isEmpty)
        gate.open()
        #expect(await call.value == nil)
        #expect(proxy.cookies === new)
    }

    @Test func `The cookies of a load that ends after a switch are stored for the account that sent it`() async throws {
        let (gate, arrived) = (Latch(), Latch())
        let transport = transport(gate, arrived)
        let proxy = APIProxy(service: .sample(), transport: transport, cookies: old)
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.loadData()
        try await arrived.wait()
        #expect(proxy.switchCookies(to: new) === old)
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(old.header(for: url) == "sid=old; late=1")
        #expect(new.header(for: url) == "sid=new")
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.map { $0.headers["Cookie"] } == ["sid=old", "sid=new"])
        #expect(new.header(for: url) == "sid=new; late=1")
    }

    @Test func `A load that waited for a relogin is repeated with its account's cookies`() async throws {
        let transport = ScriptedTransport { request async throws(TransportError) in
            request.headers["Cookie"] == nil ? .json("", status: 401) : .json(goodsJSON([]))
        }
        old.removeAll { _ in true }
        let proxy = APIProxy(service: .sample(), transport: transport, cookies: old)
        proxy.defaultService?.reloginHandler = Switching { [old, new, url] in
            old.store(setCookie: "sid=again; Path=/", from: url)
            proxy.switchCookies(to: new)
        }
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.map { $0.headers["Cookie"] } == [nil, "sid=again"])
    }

    @Test(arguments: [false, true], [false, true])
    func `A relogin by another service goes on with the cookies of its session, or without any`(
        _ signsOut: Bool,
        _ beginsLate: Bool
    ) async throws {
        let (isUnderWay, hasChanged, tries) = (Latch(), Latch(), Counter())
        let transport = ScriptedTransport { request in
            guard request.url.path.hasSuffix("token") else { return .status(401) }
            guard !beginsLate, tries.next() == 1 else {
                return HTTPResponse(status: 200, headers: ["Set-Cookie": "sid=renewed; Path=/"])
            }
            isUnderWay.open()
            try await hasChanged.wait()
            return .status(503)
        }
        let proxy = APIProxy(service: .sample(), transport: transport, cookies: old)
        var tokens = APIService.sample()
        tokens.retryPolicy = RetryPolicy()
        tokens.retryPolicy.baseDelay = .zero
        let handler = Renewing { [tokens] in
            if beginsLate {
                isUnderWay.open()
                try await hasChanged.wait()
            }
            try await APIRequest<Void>("/token", service: tokens).value()
        }
        proxy.defaultService?.reloginHandler = handler
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.loadData()
        try await isUnderWay.wait()
        if signsOut {
            proxy.logout()
            old.store(setCookie: "sid=next; Path=/", from: url)
        } else {
            proxy.switchAccount(to: new)
        }
        hasChanged.open()
        try await handler.renewal?.value
        let cookies = transport.requests.filter { $0.url.path.hasSuffix("token") }.map { $0.headers["Cookie"] }
        #expect(cookies == (beginsLate ? [] : ["sid=old"]) + [signsOut ? nil : "sid=old"])
        #expect(old.header(for: url) == (signsOut ? "sid=next" : "sid=renewed"))
        #expect(new.header(for: url) == "sid=new")
        withExtendedLifetime(request) {}
    }

    /// Makes `change` while a relogin is under way, which goes on with `renew`; returns the cookies of each token request.
    private func relogin(
        of service: APIService = .sample(),
        change: (APIProxy) -> Void,
        renew: @escaping @MainActor (APIProxy) async throws -> Void
    ) async throws -> [String?] {
        let (isUnderWay, hasChanged) = (Latch(), Latch())
        let transport = ScriptedTransport { request in
            guard request.url.path.hasSuffix("token") else { return .status(401) }
            return HTTPResponse(status: 200, headers: ["Set-Cookie": "sid=renewed; Path=/"])
        }
        let proxy = APIProxy(service: service, transport: transport, cookies: old)
        let handler = Renewing {
            isUnderWay.open()
            try await hasChanged.wait()
            try await renew(proxy)
        }
        proxy.defaultService?.reloginHandler = handler
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.loadData()
        try await isUnderWay.wait()
        change(proxy)
        hasChanged.open()
        try await handler.renewal?.value
        withExtendedLifetime(request) {}
        return transport.requests.filter { $0.url.path.hasSuffix("token") }.map { $0.headers["Cookie"] }
    }

    @Test func `A relogin of a service with its own cookies keeps them when the service has others`() async throws {
        let cookies = try await relogin(of: .sample { [old] in $0.cookies = old }) { proxy in
            proxy.switchAccount(to: CookieJar())
            proxy.defaultService?.cookies = new
        } renew: { _ in
            try await APIRequest<Void>("/token").value()
        }
        #expect(cookies == ["sid=old"])
        #expect(old.header(for: url) == "sid=renewed")
        #expect(new.header(for: url) == "sid=new")
    }

    @Test(arguments: [false, true])
    func `A handler that removes the cookies keeps those that it receives, whoever has signed in since`(
        _ switches: Bool
    ) async throws {
        let cookies = try await relogin { proxy in
            old.removeAll()
            if switches { proxy.switchAccount(to: new) }
        } renew: { _ in
            for _ in 1...2 { try await APIRequest<Void>("/token").value() }
        }
        #expect(cookies == [nil, "sid=renewed"])
        #expect(old.header(for: url) == "sid=renewed")
        #expect(new.header(for: url) == "sid=new")
    }

    @Test(arguments: [false, true])
    func `After a logout, the loads of a relogin share their cookies with each other alone`(_ isOfOther: Bool)
        async throws
    {
        var tokens = APIService.sample()
        if isOfOther { tokens.cookies = new }
        let jar = isOfOther ? new : old
        let cookies = try await relogin { proxy in
            proxy.logout()
            if isOfOther { proxy.logout(from: tokens) }
            jar.store(setCookie: "sid=next; Path=/", from: url)
        } renew: { [tokens] _ in
            let options = APIRequestOptions(coalescesIdentical: true)
            for _ in 1...2 { try await APIRequest<Void>("/token", service: tokens, options: options).value() }
        }
        #expect(cookies == [nil, "sid=renewed"])
        #expect(jar.header(for: url) == "sid=next")
    }

    @Test func `A jar that a relogin uses first reports the problems of its file to the proxy`() async throws {
        let problems = Lock(0)
        try Data("no cookies".utf8).write(to: folder.url.appending(path: "damaged.txt"))
        var tokens = APIService.sample()
        tokens.cookies = CookieJar(file: folder.url.appending(path: "damaged.txt"))
        _ = try await relogin { proxy in
            proxy.onError = { _ in problems.withLock { $0 += 1 } }
        } renew: { [tokens] _ in
            try await APIRequest<Void>("/token", service: tokens).value()
        }
        #expect(problems.withLock(\.self) == 1)
    }

    @Test func `A logout in a relogin ends the session of the account that there is by then`() async throws {
        _ = try await relogin {
            $0.switchAccount(to: new)
        } renew: {
            $0.logout()
        }
        #expect(old.header(for: url) == "sid=old")
        #expect(new.header(for: url) == nil)
    }

    @Test(arguments: [false, true])
    func `A redirect keeps its account, and stores no cookies after a logout`(_ signsOut: Bool) async throws {
        let (proxy, new) = (APIProxy(service: .sample(), transport: transport(), cookies: old), new)
        let transport = ScriptedTransport { request async throws(TransportError) in
            guard request.url.path == "/" else {
                return HTTPResponse(status: 200, headers: ["Set-Cookie": "late=1; Path=/"])
            }
            if signsOut { proxy.cookies.removeAll() } else { proxy.switchCookies(to: new) }
            return HTTPResponse(status: 302, headers: ["Location": "/home", "Set-Cookie": "hop=1; Path=/"])
        }
        let sender = APIProxy(service: .sample(), transport: transport, cookies: old)
        _ = try await sender.send(HTTPRequest(.get, URL("http://shop.test/")))
        #expect(transport.requests.map { $0.headers["Cookie"] } == ["sid=old", signsOut ? nil : "sid=old; hop=1"])
        #expect(old.header(for: url) == (signsOut ? nil : "sid=old; hop=1; late=1"))
        #expect(new.header(for: url) == "sid=new")
    }

    @Test func `A logout ends all loads before it waits for the disk`() async throws {
        let loads = Lock<[Int]>([])
        let known = Lock<APIProxy?>(nil)
        try Data().write(to: folder.file)
        // The hook is called while the jar is saved, which fails because its folder is a file.
        let jar = CookieJar(file: folder.file.appending(path: "cookies.txt")) { _ in
            let count = known.withLock { $0 }?.activeRequests.count
            loads.withLock { $0.append(contentsOf: count.map { [$0] } ?? []) }
        }
        let (gate, arrived) = (Latch(), Latch())
        let proxy = APIProxy(service: .sample(), transport: transport(gate, arrived), cookies: jar)
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.loadData()
        try await arrived.wait()
        jar.store(setCookie: "sid=old; Path=/", from: url)
        known.withLock { $0 = proxy }
        proxy.logout()
        #expect(loads.withLock { $0 } == [0])
        #expect(await screen.ending() == .cancelled)
        #expect(jar.cookies.isEmpty)
        gate.open()
    }

    @Test func `Switching saves the previous jar`() throws {
        let proxy = APIProxy(service: .sample(), transport: transport(), cookies: old)
        proxy.switchAccount(to: new)
        #expect(CookieJar(file: folder.file).header(for: url) == "sid=old")
        #expect(proxy.cookies === new)
    }

    @Test func `No call is sent with the old token and the new cookies while a switch waits for the disk`() async throws
    {
        let account = TokenAccount()
        let proxy = APIProxy(service: account.service, transport: account.transport, cookies: old)
        let calls = try await account.send(through: proxy, locking: folder.file)
        proxy.switchAccount(to: new)
        account.token.withLock { $0 = "new" }
        await calls.value
        let sent = account.transport.requests.filter { $0.headers["X-Token"] == "old" }
        #expect(!sent.isEmpty)
        for request in sent { #expect(request.headers["Cookie"]?.contains("sid=new") != true) }
        #expect(new.header(for: url)?.contains("user=old") != true)
    }

    @Test func `No cookie of a call that begins while a logout waits for the disk is kept`() async throws {
        let account = TokenAccount()
        let proxy = APIProxy(service: account.service, transport: account.transport, cookies: old)
        let calls = try await account.send(through: proxy, locking: folder.file)
        proxy.logout()
        account.token.withLock { $0 = "" }
        let header = old.header(for: url)
        await calls.value
        #expect(account.transport.requests.contains { $0.headers["X-Token"] == "old" })
        #expect(header?.contains("old") != true)
        #expect(old.header(for: url)?.contains("old") != true)
        try old.flush()
        #expect(try !String(contentsOf: folder.file, encoding: .utf8).contains("user\told"))
    }

    @Test func `A service with a separate jar does not change the proxy's`() async throws {
        let gate = Latch()
        gate.open()
        let transport = transport(gate)
        let service = APIService.sample { $0.cookies = new }
        let proxy = APIProxy(service: .sample(), transport: transport, cookies: old)
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.loadData()
        #expect(await screen.ending() == .success)
        request.customService = service
        request.loadData()
        #expect(await screen.ending() == .success)
        proxy.defaultService = service
        _ = try await proxy.send(HTTPRequest(.get, url))
        #expect(transport.requests.map { $0.headers["Cookie"] } == ["sid=old", "sid=new", "sid=new; late=1"])
        #expect(old.header(for: url) == "sid=old; late=1")
    }

    @Test func `A service chooses whether localhost is a secure origin`() async throws {
        let gate = Latch()
        gate.open()
        let transport = transport(gate)
        let proxy = APIProxy(transport: transport, cookies: old)
        let url = URL("http://localhost/goods")
        for trusting in [true, false] {
            let jar = CookieJar(trustworthyLoopback: trusting)
            jar.store(setCookie: "sid=1; Secure; Path=/", from: URL("https://localhost/"))
            var service = APIService(baseURL: url)
            service.cookies = jar
            proxy.defaultService = service
            _ = try await proxy.send(HTTPRequest(.get, url))
        }
        #expect(transport.requests.map { $0.headers["Cookie"] } == ["sid=1", nil])
    }

    @Test func `A logout ends the session of every jar that shares the file`() throws {
        let other = CookieJar(file: folder.file)
        let before = other.generation
        other.store(setCookie: "pending=1", from: url)
        old.removeAll()
        other.store(setCookie: "late=1", from: url, generation: before)
        try other.flush()
        #expect(other.cookies.isEmpty)
        #expect(CookieJar(file: folder.file).cookies.isEmpty)
        old.store(setCookie: "sid=again", from: url)
        try old.flush()
        try other.flush()
        #expect(CookieJar(file: folder.file).cookies.map(\.value) == ["again"])
        #expect(new.header(for: url) == "sid=new")
    }
}

/// Renews the login in a task that ends although the relogin is cancelled.
@MainActor private final class Renewing: ReloginHandler {
    private(set) var renewal: Task<Void, any Error>?
    private let renew: @MainActor () async throws -> Void

    init(_ renew: @escaping @MainActor () async throws -> Void) { self.renew = renew }

    func relogin() async throws {
        let renewal = Task { [renew] in try await renew() }
        self.renewal = renewal
        try await renewal.value
    }
}

/// A relogin that is a closure.
@MainActor private final class Switching: ReloginHandler {
    private let action: @MainActor () -> Void

    init(_ action: @escaping @MainActor () -> Void) {
        self.action = action
    }

    func relogin() async throws { action() }
    func sessionDidExpire(_ error: APIError) {}
}

/// An account whose calls send its token, and receive a cookie with it.
private final class TokenAccount: Sendable {
    let token = Lock("old")
    let transport = ScriptedTransport {
        .json("{}", headers: ["Set-Cookie": "user=\($0.headers["X-Token"] ?? "")"])
    }

    var service: APIService {
        .sample { $0.commonHeaders = { [self] in ["X-Token": token.withLock(\.self)] } }
    }

    /// Sends calls from another thread while another process has the lock on the file of a jar.
    ///
    /// The first one has ended when this returns, so that there is a cookie to save.
    func send(through proxy: APIProxy, locking file: URL) async throws -> Task<Void, Never> {
        let descriptor = open("\(file.path).lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
        _ = try await proxy.send(HTTPRequest(.get, URL("/sync")), to: service)
        // A jar waits for two seconds, after which the calls would not be in between.
        let end = ContinuousClock.now + .seconds(1)
        return Task.detached { [service] in
            for _ in 0..<30 where ContinuousClock.now < end {
                _ = try? await proxy.send(HTTPRequest(.get, URL("/sync")), to: service)
            }
            close(descriptor)
        }
    }
}
