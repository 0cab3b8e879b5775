import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandImages
@testable import ErrandTestSupport

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

    @Test(
        arguments: [
            "http://cdn.test/7.png", "https://shop.test/api/7.png", "http://shop.test:81/api/7.png",
            "http://shop.test./api/7.png", "http://shop.test@cdn.test/7.png", "http://api.shop.test/7.png",
        ]
    )
    func `A URL of another origin has nothing of the service`(_ url: String) async throws {
        let scene = scene()
        #expect(await scene.loader.outcome(of: ImageRequest(URL(url))) == "image 7")
        #expect(scene.transport.requests.count == 1)
        let request = try #require(scene.transport.requests.first)
        #expect(request.url.user == nil && request.url.hasSameOrigin(as: URL(url)))
        #expect(!"\(request.url.absoluteString) \(request.headers.map { "\($0.name) \($0.value)" })".contains("s3cret"))
    }

    @Test(arguments: [
        ("//cdn.test/7.png", "invalidRequest", 0), ("file:///7.png", "security", 0),
        ("data:image/png;base64,iVBORw0KGgo=", "decoding unknownFormat", 1),
        ("javascript:1", "decoding unknownFormat", 1), ("", "decoding unknownFormat", 1),
    ])
    func `A URL without scheme or host is refused, or sent to the service`(
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
