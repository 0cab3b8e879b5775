import ErrandTesting
import FixtureServer
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandImages
@testable import ErrandTestSupport

@MainActor
@Suite("Images and sessions", .serialized, .limitedConcurrency, .blocksThread, .hangLimit, .timeLimit(.minutes(5)))
struct ImageSessionTests {
    /// What ends or begins a session.
    enum Change: CaseIterable, Sendable {
        case logout, switchAccount, jar, signIn, otherService, path

        /// Whether the loads of the former user end as cancelled.
        var endsLoads: Bool { self == .logout || self == .switchAccount }
    }

    private func make(_ change: Change, in scene: ImageScene) async throws {
        switch change {
        case .logout: scene.proxy.logout()
        case .switchAccount: scene.proxy.switchAccount(to: CookieJar())
        case .jar: scene.proxy.defaultService?.cookies = CookieJar()
        case .signIn:
            try await APIRequest<Void>("/login", method: .post, isLoginRequest: true, proxy: scene.proxy).value()
        case .otherService: scene.proxy.defaultService = .sample()
        case .path: scene.proxy.defaultService?.baseURL.append(path: "tenants/8")
        }
    }

    @Test(arguments: Change.allCases)
    func `What is in memory is not found in another session`(_ change: Change) async throws {
        let scene = ImageScene()
        #expect(await scene.loader.outcome(of: ImageScene.image(1)) == "image 1")
        try await make(change, in: scene)
        #expect(scene.loader.cachedImage(for: ImageScene.image(1)) == nil)
        #expect(scene.loader.memoryCache.count == 0 && scene.loader.memoryCache.bytes == 0)
        #expect(await scene.loader.outcome(of: ImageScene.image(1)) == "image 1")
        #expect(scene.sent.count { $0 == 1 } == 2)
    }

    @Test(arguments: ImageInstant.allCases, [Change.logout, .switchAccount])
    func `At the end of a session every image ends as cancelled, and none is kept`(
        _ instant: ImageInstant,
        _ change: Change
    ) async throws {
        let scene = ImageScene(holds: true)
        let receipt = await scene.reach(instant) {
            scene.load(1, "b")
            for number in 2..<20 { scene.load(number) }
        }
        let sent = scene.sent
        try await make(change, in: scene)
        await scene.settle()
        await suspend(while: !scene.endings.contains { $0.hasPrefix("b") })
        #expect(scene.endings.filter { !$0.hasSuffix(": cancelled") } == [])
        #expect(scene.endings.count == 20 + (instant == .waiting ? 4 : 0))
        #expect(scene.loader.memoryCache.count == 0)
        // Whatever had its place before may have reached the network, and nothing since.
        #expect(Set(scene.sent).isSuperset(of: sent) && scene.sent.count <= (instant == .hit ? 5 : 4))
        withExtendedLifetime(receipt) {}
    }

    @Test(arguments: ImageInstant.allCases, Change.allCases)
    func `A caller of the next session gets an image of its own`(_ instant: ImageInstant, _ change: Change) async throws
    {
        let user = Lock(0)
        let network = ImageNetwork(holds: true)
        let scene = ImageScene(network: network) { request in
            if request.url.path.hasSuffix("login") { return .json(#"{"errcode":200}"#) }
            let current = user.withLock(\.self)
            _ = try await network.respond(request)
            // The image of the user who has asked.
            return HTTPResponse(status: 200, body: PNGFile.data(current * 100 + 1))
        }
        let receipt = await scene.reach(instant)
        try await make(change, in: scene)
        user.withLock { $0 = 1 }
        network.releaseAll()
        scene.decodings.checkpoint.withLock(\.self)?.release()
        scene.load(1, "b")
        await suspend(
            while: !scene.endings.contains { $0.hasPrefix("b") } || !scene.endings.contains { $0.hasPrefix("a") }
        )
        #expect(scene.endings.contains("b: image 101"))
        if change.endsLoads { #expect(scene.endings.contains("a: cancelled")) }
        #expect(scene.loader.cachedImage(for: ImageScene.image(1))?.number == 101)
        withExtendedLifetime(receipt) {}
    }

    @Test(arguments: [false, true])
    func `Callers from before a sign-in get their ending, also after a logout or cancelAll`(_ logsOut: Bool)
        async throws
    {
        let scene = ImageScene(holds: true, places: 1)
        scene.load(90)
        await scene.reach(1)
        let receipt = scene.load(1, "a")
        let login = Task { try await make(.signIn, in: scene) }
        await suspend(while: !scene.transport.requests.contains { $0.url.path.hasSuffix("login") })
        scene.network.release("login")
        try await login.value
        // Another load of the same image, because the session is another one.
        scene.load(1, "b")
        if logsOut { scene.proxy.logout() } else { scene.loader.cancelAll() }
        await scene.settle()
        await suspend(while: scene.endings.count < 3)
        #expect(scene.endings.sorted() == ["90: cancelled", "a: cancelled", "b: cancelled"])
        withExtendedLifetime(receipt) {}
    }

    @Test func `A logout in a closure is before the closures of the next callers`() async {
        let scene = ImageScene()
        scene.onEnding = { name in if name == "a" { scene.proxy.logout() } }
        for name in ["a", "b", "c"] { scene.load(1, name) }
        await scene.end(3)
        #expect(scene.endings == ["a: image 1", "b: cancelled", "c: cancelled"])
        #expect(scene.loader.cachedImage(for: ImageScene.image(1)) == nil)
    }

    @Test func `A logout that also changes the service delivers and sends nothing of the former user`() async {
        let (scene, checkpoint) = (ImageScene(places: 1), Checkpoint())
        defer { checkpoint.release() }
        scene.decodings.checkpoint.withLock { $0 = checkpoint }
        scene.load(1, "decoding")
        scene.load(2, "waiting")
        await suspend(while: !checkpoint.isReached)
        scene.proxy.logout()
        scene.proxy.defaultService = APIService(baseURL: URL("http://other.test"))
        checkpoint.release()
        await scene.end(2)
        #expect(scene.endings.sorted() == ["decoding: cancelled", "waiting: cancelled"])
        #expect(scene.sent == [1])
    }

    @Test func `A relogin that needs an image waits for none that waits for the relogin`() async throws {
        let account = Account()
        let service = APIService.sample { service in
            service.reloginHandler = account
            service.commonHeaders = { ["Authorization": account.token] }
        }
        let scene = ImageScene(places: 2, service: service) { request in
            let isCaptcha = request.url.lastPathComponent == "90.png"
            guard isCaptcha || request.headers["Authorization"] != "t0" else { return .status(401) }
            return ImageNetwork.response(request.url.lastPathComponent)
        }
        account.login = {
            #expect(await scene.loader.outcome(of: ImageScene.image(90)) == "image 90")
        }
        for number in 1...4 { scene.load(number) }
        await scene.end(4)
        #expect(scene.endings.sorted() == (1...4).map { "\($0): image \($0)" })
        #expect(account.logins == 1)
        withExtendedLifetime(account) {}
    }

    @Test func `A load that the closure of an image begins in a relogin does not wait for it`() async throws {
        let account = Account()
        let service = APIService.sample { service in
            service.reloginHandler = account
            service.commonHeaders = { ["Authorization": account.token] }
        }
        let scene = ImageScene(places: 2, service: service) { request in
            switch request.url.lastPathComponent {
            case "refresh": return .json(#"{"errcode":200}"#)
            case "90.png": return .status(404)
            default: break
            }
            guard request.headers["Authorization"] != "t0" else { return .status(401) }
            return ImageNetwork.response(request.url.lastPathComponent)
        }
        account.login = {
            await withCheckedContinuation { done in
                _ = scene.loader.load(ImageScene.image(90)) { _ in
                    let refresh = APIRequest<Void>("/refresh", method: .post, proxy: scene.proxy)
                    _ = refresh.loadData { _ in withExtendedLifetime(refresh) { done.resume() } }
                }
            }
        }
        scene.load(1)
        await scene.end(1)
        #expect(scene.endings == ["1: image 1"])
        #expect(account.logins == 1)
        withExtendedLifetime(account) {}
    }

    @Test(arguments: LoginExpiryFormat.allCases)
    func `50 images whose login has expired cause one relogin`(_ format: LoginExpiryFormat) async throws {
        let account = Account()
        let service = APIService.sample { service in
            service.reloginHandler = account
            service.commonHeaders = { ["Authorization": account.token] }
            service.envelope?.loginExpiredCodes = [11010]
        }
        let scene = ImageScene(places: 50, service: service) { request in
            guard request.headers["Authorization"] != "t0" else { return format.response }
            return ImageNetwork.response(request.url.lastPathComponent)
        }
        for number in 1...50 { scene.load(number) }
        await scene.end(50)
        #expect(scene.endings.sorted() == (1...50).map { "\($0): image \($0)" }.sorted())
        #expect(account.logins == 1)
        #expect(scene.loader.memoryCache.count <= 10)
        // A relogin of the same user keeps what is in memory.
        #expect(scene.loader.cachedImage(for: ImageScene.image(scene.decodings.pictures.last?.number ?? 0)) != nil)
        withExtendedLifetime(account) {}
    }

    @Test func `A relogin that fails ends the images with loginExpired`() async throws {
        let account = Account()
        account.fails = true
        let service = APIService.sample { $0.reloginHandler = account }
        let scene = ImageScene(service: service) { _ in .status(401) }
        for number in 1...10 { scene.load(number) }
        await scene.end(10)
        #expect(scene.endings.allSatisfy { $0.hasSuffix(": loginExpired") })
        #expect(account.expiries == 1)
        withExtendedLifetime(account) {}
    }

    @Test func `Images that wait for a relogin end with a logout`() async throws {
        let (account, gate) = (Account(), Latch())
        account.gate = gate
        let service = APIService.sample { $0.reloginHandler = account }
        let scene = ImageScene(service: service) { _ in .status(401) }
        for number in 1...10 { scene.load(number) }
        await suspend(while: account.logins == 0)
        scene.proxy.logout()
        gate.open()
        await scene.end(10)
        #expect(scene.endings.allSatisfy { $0.hasSuffix(": cancelled") })
        #expect(scene.loader.fetchCount == 4)
        withExtendedLifetime(account) {}
    }
}

@MainActor @Suite("Images of other origins", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(5)))
struct ImageOriginTests {
    private func service(_ change: (inout APIService) -> Void = { _ in }) -> APIService {
        .sample { service in
            service.commonHeaders = { ["Authorization": "s3cret", "X-Key": "s3cret"] }
            service.commonParams = { ["token": "s3cret"] }
            service.adapters.request.append(Adapter { request, _ in request.headers["X-Signature"] = "s3cret" })
            change(&service)
        }
    }

    private func scene(_ change: (inout APIService) -> Void = { _ in }) -> ImageScene {
        ImageScene(service: service(change)) { ImageNetwork.response($0.url.lastPathComponent) }
    }

    @Test(arguments: [
        "/7.png", "7.png", "/7.png#left", "http://shop.test/api/7.png#left", "http://shop.test/api/7.png",
        "http://SHOP.test:80/api/7.png",
    ])
    func `A path and a URL of the service's origin have what the service adds`(_ url: String) async throws {
        let scene = scene()
        #expect(await scene.loader.outcome(of: ImageRequest(URL(url))) == "image 7")
        let request = try #require(scene.transport.requests.first)
        #expect(request.url.path == "/api/7.png")
        #expect(request.headers["Authorization"] == "s3cret" && request.headers["X-Signature"] == "s3cret")
        #expect(request.query == ["token": ["s3cret"]])
    }

    @Test func `Parts of one image are loaded once`() async {
        let scene = scene()
        for fragment in ["", "#left", "#right"] {
            #expect(await scene.loader.outcome(of: ImageRequest(URL("/7.png\(fragment)"))) == "image 7")
        }
        #expect(scene.transport.requests.count == 1)
    }

    @Test func `A URL relative to another one is resolved`() async throws {
        let scene = scene()
        let own = try #require(URL(string: "7.png", relativeTo: URL("http://shop.test/img/")))
        let other = try #require(URL(string: "8.png", relativeTo: URL("http://cdn.test/img/")))
        for url in [own, other] { _ = await scene.loader.outcome(of: ImageRequest(url)) }
        #expect(scene.transport.requests.map(\.url.path) == ["/img/7.png", "/img/8.png"])
        #expect(scene.transport.requests.map { $0.headers["Authorization"] } == ["s3cret", nil])
    }

    @Test func `A URL without a scheme has that of the service`() async {
        let scene = scene()
        for url in ["//cdn.test/7.png", "//shop.test/8.png"] {
            #expect(await scene.loader.outcome(of: ImageRequest(URL(url))) == "image \(url.suffix(5).prefix(1))")
        }
        #expect(scene.transport.requests.map(\.url.host) == ["cdn.test", "shop.test"])
        #expect(scene.transport.requests.map(\.url.path) == ["/7.png", "/8.png"])
        #expect(scene.transport.requests.map { $0.headers["Authorization"] } == [nil, "s3cret"])
    }

    @Test(
        arguments: [
            "http://cdn.test/7.png", "https://shop.test/api/7.png", "http://shop.test:81/api/7.png",
            "http://shop.test./api/7.png", "http://shop.test@cdn.test/7.png", "http://api.shop.test/7.png",
        ]
    )
    func `A URL of another origin has nothing of the service`(_ url: String) async throws {
        var options = APIRequestOptions()
        options.adapters.request = [Adapter { request, _ in request.headers["X-Own"] = "s3cret" }]
        let scene = ImageScene(options: options, service: service()) { ImageNetwork.response($0.url.lastPathComponent) }
        #expect(await scene.loader.outcome(of: ImageRequest(URL("/7.png"))) == "image 7")
        #expect(scene.transport.requests.last?.headers["X-Own"] == "s3cret")
        #expect(await scene.loader.outcome(of: ImageRequest(URL(url))) == "image 7")
        #expect(scene.transport.requests.count == 2)
        let request = try #require(scene.transport.requests.last)
        #expect(request.url.user == nil && request.url.hasSameOrigin(as: URL(url)))
        #expect(!"\(request.url.absoluteString) \(request.headers.map { "\($0.name) \($0.value)" })".contains("s3cret"))
    }

    @Test(arguments: [
        ("file:///7.png", "invalidRequest", 0),
        ("data:image/png;base64,iVBORw0KGgo=", "invalidRequest", 0), ("javascript:1", "invalidRequest", 0),
        ("about:blank", "invalidRequest", 0), ("blob:http://cdn.test/7.png", "invalidRequest", 0),
        ("", "decoding unknownFormat", 1),
    ])
    func `A URL that names no server is refused, but for a path, which is sent to the service`(
        _ url: String,
        _ outcome: String,
        _ count: Int
    ) async throws {
        let scene = scene()
        let request = ImageRequest(try #require(URL(string: url) ?? URL(string: "/")))
        #expect(await scene.loader.outcome(of: request) == outcome)
        #expect(scene.transport.requests.count == count)
        #expect(scene.transport.requests.allSatisfy { $0.url.hasSameOrigin(as: URL("http://shop.test")) })
    }

    @Test func `A 401 of another origin begins no relogin, and an envelope is not read`() async {
        let account = Account()
        let scene = ImageScene(service: service { $0.reloginHandler = account }) { request in
            request.url.path == "/401.png" ? .status(401) : .json(#"{"errcode":11010,"msg":"expired"}"#)
        }
        #expect(await scene.loader.outcome(of: ImageRequest(URL("http://cdn.test/401.png"))) == "http 401")
        let error = await scene.loader.outcome(of: ImageRequest(URL("http://cdn.test/envelope.png")))
        #expect(error == "decoding unknownFormat")
        #expect(account.logins == 0)
        withExtendedLifetime(account) {}
    }

    @Test func `Headers of the request are sent to its own URL`() async throws {
        let scene = scene()
        let headers: HTTPHeaders = ["X-Size": "2"]
        _ = await scene.loader.outcome(of: ImageRequest(URL("http://cdn.test/7.png"), headers: headers))
        #expect(scene.transport.requests.first?.headers["X-Size"] == "2")
    }

    @Test func `Another origin has the cookies of its host, and those that it sets are kept`() async throws {
        let scene = ImageScene(service: service()) { request in
            ImageNetwork.response(request.url.lastPathComponent, headers: ["Set-Cookie": "cdn=1; Path=/"])
        }
        scene.proxy.cookies.store(setCookie: "sid=s3cret; Path=/", from: URL("http://shop.test/"))
        for number in [7, 8] { _ = await scene.loader.outcome(of: ImageRequest(URL("http://cdn.test/\(number).png"))) }
        #expect(scene.transport.requests.map { $0.headers["Cookie"] } == [nil, "cdn=1"])
    }

    @Test func `Cookies of another origin are those of the environment`() async throws {
        let environment = APIEnvironment("staging", baseURL: URL("http://shop.test/api"))
        let scene = ImageScene(service: APIService(environment: environment)) { request in
            ImageNetwork.response(request.url.lastPathComponent, headers: ["Set-Cookie": "cdn=staging; Path=/"])
        }
        scene.proxy.cookies.store(setCookie: "cdn=production; Path=/", from: URL("http://cdn.test/"))
        for number in [7, 8] { _ = await scene.loader.outcome(of: ImageRequest(URL("http://cdn.test/\(number).png"))) }
        #expect(scene.transport.requests.map { $0.headers["Cookie"] } == [nil, "cdn=staging"])
    }

    @Test func `Another origin follows later changes of the service`() async throws {
        let scene = scene()
        _ = await scene.loader.outcome(of: ImageRequest(URL("http://cdn.test/7.png")))
        let jar = CookieJar()
        jar.store(setCookie: "cdn=new; Path=/", from: URL("http://cdn.test/"))
        let events = EventRecorder()
        var changed = service()
        (changed.cookies, changed.monitors, changed.limits.bodyBytes) = (jar, [events], 10)
        scene.proxy.defaultService = changed
        let outcome = await scene.loader.outcome(of: ImageRequest(URL("http://cdn.test/8.png")))
        #expect(outcome == "responseTooLarge")
        #expect(scene.transport.requests.last?.headers["Cookie"] == "cdn=new")
        #expect(events.count > 0)
    }

    @Test func `Images of another origin end with a logout too`() async throws {
        let network = ImageNetwork(holds: true)
        let scene = ImageScene(service: service(), script: network.respond)
        let receipt = scene.load(ImageRequest(URL("http://cdn.test/7.png")), "a")
        await scene.reach(1)
        scene.proxy.logout()
        scene.load(ImageRequest(URL("http://cdn.test/7.png")), "b")
        network.releaseAll()
        await scene.end(2)
        #expect(scene.endings.sorted() == ["a: cancelled", "b: image 7"])
        #expect(scene.loader.memoryCache.count == 1)
        withExtendedLifetime(receipt) {}
    }

    @Test func `A redirect to another origin has no secrets either`() async throws {
        let scene = ImageScene(service: service()) { request in
            if request.url.path == "/api/1.png" { return .status(302, headers: ["Location": "http://cdn.test/7.png"]) }
            return ImageNetwork.response(request.url.lastPathComponent)
        }
        #expect(await scene.loader.outcome(of: ImageScene.image(1)) == "image 7")
        let last = try #require(scene.transport.requests.last)
        #expect(last.url.host == "cdn.test" && last.headers["Authorization"] == nil)
    }

    @Test func `Without a service, an image fails`() async {
        let proxy = APIProxy(transport: ScriptedTransport { _ in ImageNetwork.response("7.png") })
        let loader = ImageLoader(proxy: proxy, decoder: DecodingLog().decoder(bytes: 1))
        #expect(await loader.outcome(of: ImageScene.image(7)) == "invalidRequest")
        proxy.defaultService = .sample()
        #expect(await loader.outcome(of: ImageScene.image(7)) == "image 7")
    }
}
