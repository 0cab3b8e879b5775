import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("The cache policies over sockets", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CacheRuleTests {
    typealias Scene = CacheRuleScene

    private final class Chat: StreamAPIRequest<String>, APIManager {
        let (path, method) = ("/goods", HTTPMethod.post)
        override var strategy: StreamStrategy<String>? { .lines }
    }

    // MARK: HTTP

    @Test func `A fresh response is used, and a stale one is validated or replaced`() async throws {
        let scene = try Scene { request, number in
            if number == 2, request.header("If-None-Match") == "\"a\"" {
                return .status(304, headers: ["ETag": "\"a\"", "Cache-Control": "max-age=10"])
            }
            return Scene.version(number, "max-age=60", ["ETag": number == 1 ? "\"a\"" : "\"b\""])
        }
        #expect(await scene.load() == "v1 network")
        scene.clock.advance(by: .seconds(59))
        #expect(await scene.load() == "v1 cache")
        scene.clock.advance(by: .seconds(1))
        #expect(await scene.load() == "v1 validated")
        scene.clock.advance(by: .seconds(9))
        #expect(await scene.load() == "v1 cache")
        scene.clock.advance(by: .seconds(1))
        #expect(await scene.load() == "v3 network")
        #expect(scene.server.requests.map { $0.header("If-None-Match") } == [nil, "\"a\"", "\"a\""])
        #expect(await scene.load() == "v3 cache")
        #expect(scene.violations == [])
    }

    @Test func `A stream that changes something removes what is stored of its URL`() async throws {
        let scene = try Scene { request, number in
            request.method == "POST" ? .text("one\ntwo\n") : Scene.version(number)
        }
        #expect(try await scene.request().value() == "v1")
        #expect(try await scene.request().value() == "v1")
        let chat = Chat(proxy: scene.proxy)
        chat.loadData()
        await chat.waitUntilIdle()
        #expect(chat.elements == ["one", "two"])
        #expect(try await scene.request().value() == "v3")
        chat.loadData()
        await suspend(while: chat.newElements.isEmpty)
        await chat.waitUntilIdle()
        #expect(try await scene.request().value() == "v5")
    }

    @Test(arguments: [false, true])
    func `A stream removes what was stored while it arrived, however it ends`(isCancelled: Bool) async throws {
        let (folder, versions) = (try TemporaryFolder(), Counter())
        let (stream, body) = AsyncThrowingStream<Data, any Error>.makeStream()
        let transport = ScriptedTransport { request in
            guard request.method != .post else { return .stream { stream } }
            let text = Data("v\(versions.next())".utf8)
            return HTTPResponse(status: 200, headers: ["Cache-Control": "max-age=60"], body: text)
        }
        let service = APIService.sample { $0.envelope = nil }
        let proxy = APIProxy(service: service, transport: transport, cache: APICache(folder: folder.url))
        let (chat, goods) = (Chat(proxy: proxy), APIRequest<String>("/goods", proxy: proxy))
        chat.loadData()
        body.yield(Data("one\n".utf8))
        await suspend(while: chat.elements.isEmpty)
        for _ in 0..<2 { #expect(try await goods.value() == "v1") }
        if isCancelled { chat.cancelAllRequests() } else { body.finish() }
        while try await goods.value() == "v1" { await Task.yield() }
        #expect(versions.count == 2)
    }

    @Test(arguments: [CachePolicy.http, .onlyIfCached, .elseLoad, .time(.seconds(100)), .fallback, .first])
    func `A stored response is found although the common headers cannot be made offline`(_ policy: CachePolicy)
        async throws
    {
        let scene = try Scene()
        let isOffline = Lock(false)
        scene.service.commonHeaders = {
            if isOffline.withLock(\.self) { throw APIError(.noNetwork) }
            return ["X-Token": "a"]
        }
        #expect(await scene.load(policy == .onlyIfCached ? .http : policy) == "v1 network")
        isOffline.withLock { $0 = true }
        let isShown = policy == .first
        let request = scene.request(policy)
        #expect(await scene.outcome(of: request) == (isShown ? "noNetwork" : "v1 cache"))
        #expect(!isShown || request.cachedResponse == "v1")
        #expect(scene.sent == 1 && scene.violations == [])
    }

    @Test func `A logout without a default service removes what is stored as well`() async throws {
        let scene = try Scene()
        scene.proxy.defaultService = nil
        #expect(await scene.load(.elseLoad) == "v1 network")
        #expect(await scene.load(.elseLoad) == "v1 cache")
        scene.proxy.logout()
        #expect(await scene.load(.elseLoad) == "v2 network")
    }

    @Test func `What may be used offline may be used after a failure of the server too`() async throws {
        let scene = try Scene { request, number in
            number == 2 ? .status(502) : Scene.version(number)
        }
        #expect(await scene.load() == "v1 network")
        scene.clock.advance(by: .seconds(70))
        (scene.service.retryPolicy, scene.service.retryPolicy.maxRetries) = (RetryPolicy(), 1)
        let load = Task { await scene.load() }
        await scene.clock.waitForSleepers()
        scene.server.stop()
        scene.clock.advance(by: .seconds(10))
        #expect(await load.value == "v1 cache")
        #expect(scene.violations == [])
    }

    @Test func `OnlyIfCached sends nothing for a stored response that is too large for the request`() async throws {
        let scene = try Scene { _, number in Scene.version(number, "max-age=60", ["X-A": "a"]) }
        #expect(await scene.load() == "v1 network")
        scene.service.limits.bodyBytes = 1
        #expect(await scene.load(.onlyIfCached) == "http 504")
        #expect(scene.sent == 1)
    }

    @Test func `A 304 of another version is followed by a request without conditions`() async throws {
        let scene = try Scene { request, number in
            request.header("If-None-Match") == nil
                ? Scene.version(number, "max-age=60", ["ETag": "\"a\""]) : .status(304, headers: ["ETag": "\"z\""])
        }
        #expect(await scene.load() == "v1 network")
        scene.clock.advance(by: .seconds(61))
        #expect(await scene.load() == "v3 network")
        #expect(scene.sent == 3)
        #expect(scene.violations == [])
    }

    @Test func `A validator that cannot be sent back is no condition, and blocks no load`() async throws {
        let scene = try Scene { _, number in Scene.version(number, "max-age=60", ["ETag": "\"a\u{7F}\""]) }
        #expect(await scene.load() == "v1 network")
        scene.clock.advance(by: .seconds(61))
        #expect(await scene.load() == "v2 network")
        #expect(scene.server.requests.map { $0.header("If-None-Match") } == [nil, nil])
    }

    @Test func `A request's own conditions are answered, by the cache or by the server`() async throws {
        let scene = try Scene { request, number in
            request.header("If-None-Match") == "\"a\""
                ? .status(304, headers: ["ETag": "\"a\""]) : Scene.version(number, "max-age=60", ["ETag": "\"a\""])
        }
        #expect(await scene.load(headers: ["If-None-Match": "\"a\""]) == "http 304", "nothing is stored")
        #expect(await scene.load() == "v2 network")
        #expect(await scene.load(headers: ["If-None-Match": "\"a\""]) == "http 304")
        #expect(await scene.load(headers: ["If-None-Match": "\"x\""]) == "v2 cache")
        #expect(scene.sent == 2)
        scene.clock.advance(by: .seconds(61))
        #expect(await scene.load(headers: ["If-None-Match": "\"x\""]) == "v2 validated")
        #expect(scene.server.requests.last?.headers.values("If-None-Match") == ["\"a\""])
    }

    @Test func `A part of a stored representation is used`() async throws {
        let scene = try Scene { request, _ in
            .representation(
                of: .bytes(Array("0123456789".utf8)),
                etag: "\"a\"",
                headers: ["Content-Type": "text/plain", "Cache-Control": "max-age=60"],
                to: request
            )
        }
        #expect(await scene.load(headers: ["Range": "bytes=2-5"]) == "2345 network")
        #expect(await scene.load(headers: ["Range": "bytes=3-4"]) == "34 cache")
        #expect(await scene.load(headers: ["Range": "bytes=3-6"]) == "3456 network")
        #expect(await scene.load() == "0123456789 network")
        let request = scene.request(headers: ["Range": "bytes=-3"])
        #expect(await scene.outcome(of: request) == "789 cache")
        #expect(request.rawResponse?.status == 206)
        #expect(request.rawResponse?.headers["Content-Range"] == "bytes 7-9/10")
        #expect(request.rawResponse?.headers["Content-Length"] == "3")
        #expect(await scene.load() == "0123456789 cache")
        #expect(scene.sent == 3)
    }

    @Test func `A stored response answers HEAD, which updates or removes it`() async throws {
        let scene = try Scene { request, number in
            Scene.version(number, "max-age=60", ["ETag": number < 3 ? "\"a\"" : "\"b\""])
        }
        #expect(await scene.load() == "v1 network")
        #expect(await scene.load(method: .head) == " cache")
        scene.clock.advance(by: .seconds(61))
        #expect(await scene.load(method: .head) == " network")
        #expect(await scene.load() == "v1 cache", "it is fresh again")
        scene.clock.advance(by: .seconds(61))
        #expect(await scene.load(method: .head) == " network")
        #expect(await scene.load() == "v4 network", "it was of another version")
    }

    @Test func `Responses are kept apart by the lines that they vary by`() async throws {
        let scene = try Scene { request, number in
            .text("\(request.header("X-A") ?? "-")\(number)", headers: ["Cache-Control": "max-age=60", "Vary": "X-A"])
        }
        #expect(await scene.load(headers: ["X-A": "a"]) == "a1 network")
        #expect(await scene.load(headers: ["X-A": "b"]) == "b2 network")
        #expect(await scene.load() == "-3 network")
        #expect(await scene.load(headers: ["X-A": "a"]) == "a1 cache")
        #expect(await scene.load(headers: ["X-A": "b"]) == "b2 cache")
        #expect(await scene.load() == "-3 cache")
        #expect(
            scene.events.events.map(\.kind.step).filter { $0.hasPrefix("missed") } == [
                "missed absent", "missed varies", "missed varies",
            ]
        )
    }

    @Test func `Nothing is read or stored by none`() async throws {
        let scene = try Scene()
        #expect(await scene.load(.bypass) == "v1 network")
        #expect(await scene.load() == "v2 network")
        #expect(await scene.load(.bypass) == "v3 network")
        #expect(await scene.load() == "v2 cache")
    }

    @Test func `A reload asks the server, and its response is stored`() async throws {
        let scene = try Scene { request, number in
            request.header("If-None-Match") == "\"a\""
                ? .status(304) : Scene.version(number, "max-age=60", ["ETag": number == 1 ? "\"a\"" : "\"b\""])
        }
        #expect(await scene.load() == "v1 network")
        #expect(await scene.load(.reload) == "v1 validated")
        #expect(await scene.load() == "v1 cache")
        let other = try Scene()
        #expect(await other.load() == "v1 network")
        #expect(await other.load(.reload) == "v2 network")
        #expect(await other.load() == "v2 cache")
        #expect(other.violations == [])
    }

    @Test(arguments: [CachePolicy.elseLoad, .time(.seconds(60)), .version(1)])
    func `What is stored by a rule is found with a renewed token, whatever it varies by`(_ rule: CachePolicy)
        async throws
    {
        let (scene, account) = (try Scene { Scene.version($1, nil, Self.varies) }, Account())
        scene.service.reloginHandler = account
        scene.service.commonHeaders = { ["Authorization": account.token] }
        #expect(await scene.load(rule) == "v1 network")
        account.setToken("t1")
        #expect(await scene.load(rule) == "v1 cache")
        #expect(await scene.load(rule, headers: ["X-Color": "red"]) == "v2 network")
        #expect(await scene.load(.http) == "v3 network")
        #expect(scene.violations == [])
    }

    nonisolated private static let varies: HeaderLines = ["Vary": "authorization, X-Color, Cookie"]

    @Test(arguments: [CachePolicy.elseLoad, .time(.seconds(60)), .version(1)])
    func `What is stored by a rule is not for another Authorization that no relogin renews`(_ rule: CachePolicy)
        async throws
    {
        let (scene, account) = (try Scene { Scene.version($1, nil, Self.varies) }, Account())
        scene.service.commonHeaders = { ["Authorization": account.token] }
        #expect(await scene.load(rule) == "v1 network")
        account.setToken("another service's")
        #expect(await scene.load(rule) == "v2 network")
        #expect(await scene.load(rule) == "v2 cache")
        scene.service.reloginHandler = account
        #expect(await scene.load(rule, headers: ["Authorization": "tenant 1"]) == "v3 network")
        #expect(await scene.load(rule, headers: ["Authorization": "tenant 2"]) == "v4 network")
        #expect(await scene.load(rule, headers: ["Authorization": "tenant 2"]) == "v4 cache")
        #expect(scene.violations == [])
    }

    @Test func `A rule sends what is not stored, whatever the request says`() async throws {
        let scene = try Scene()
        #expect(await scene.load(.elseLoad, headers: ["Cache-Control": "only-if-cached"]) == "v1 network")
        #expect(await scene.load(.elseLoad, headers: ["Cache-Control": "only-if-cached"]) == "v1 cache")
    }

    @Test func `OnlyIfCached sends nothing`() async throws {
        let scene = try Scene()
        #expect(await scene.load(.onlyIfCached) == "http 504")
        #expect(scene.sent == 0)
        #expect(await scene.load() == "v1 network")
        #expect(await scene.load(.onlyIfCached) == "v1 cache")
        #expect(await scene.load(headers: ["Cache-Control": "only-if-cached"]) == "v1 cache")
        #expect(await scene.load(.onlyIfCached, "/others") == "http 504")
        scene.clock.advance(by: .seconds(61))
        #expect(await scene.load(.onlyIfCached) == "http 504")
        #expect(await scene.load(headers: ["Cache-Control": "only-if-cached"]) == "http 504")
        #expect(await scene.load(.onlyIfCached, headers: ["Cache-Control": "max-stale"]) == "v1 cache")
        #expect(scene.sent == 1)
        #expect(scene.violations == [])
    }

    @Test(arguments: [HTTPMethod.post, .put])
    func `OnlyIfCached sends no other method either, and retries nothing`(_ method: HTTPMethod) async throws {
        let scene = try Scene()
        scene.service.retryPolicy = RetryPolicy()
        #expect(await scene.load(.onlyIfCached, method: method) == "http 504")
        #expect(scene.sent == 0)
        let misses = scene.events.events.count { if case .missedCache = $0.kind { true } else { false } }
        #expect(misses == 1)
    }

    @Test func `OnlyIfCached sends nothing where the folder cannot be used`() async throws {
        let scene = try Scene()
        try Data().write(to: scene.folder.url.appending(path: "cache"))
        #expect(await scene.load(.onlyIfCached) == "http 504")
        #expect(scene.sent == 0)
    }

    @Test func `OnlyIfCached sends nothing for a stored response that cannot be decoded`() async throws {
        let scene = try Scene()
        #expect(await scene.load() == "v1 network")
        let numbers = APIRequest<[Int]>(
            "/goods",
            service: scene.service,
            options: APIRequestOptions(cachePolicy: .onlyIfCached),
            proxy: scene.proxy
        )
        #expect(await numbers.outcome() != nil)
        #expect(scene.sent == 1)
    }

    // MARK: Rules

    @Test func `ElseLoad uses a response of any age, whatever the server says`() async throws {
        let scene = try Scene { Scene.version($1, "no-store, no-cache", ["Expires": "0", "Set-Cookie": "a=1"]) }
        #expect(await scene.load(.elseLoad) == "v1 network")
        scene.clock.advance(by: .seconds(1_000_000_000))
        #expect(await scene.load(.elseLoad, headers: ["Cache-Control": "no-cache"]) == "v1 cache")
        #expect(await scene.load(.elseLoad, params: ["page": 2]) == "v2 network")
        #expect(await scene.load(.elseLoad, params: ["page": 2]) == "v2 cache")
        #expect(await scene.load(.elseLoad, params: ["page": 1]) == "v3 network")
        #expect(await scene.load() == "v4 network", "the rules of an app have responses of their own")
        #expect(await scene.load(.elseLoad) == "v1 cache")
        #expect(scene.violations == [])
    }

    @Test func `A rule's response varies by lines too`() async throws {
        let scene = try Scene { Scene.version($1, nil, ["Vary": "X-A"]) }
        #expect(await scene.load(.elseLoad, headers: ["X-A": "a"]) == "v1 network")
        #expect(await scene.load(.elseLoad, headers: ["X-A": "b"]) == "v2 network")
        #expect(await scene.load(.elseLoad, headers: ["X-A": "a"]) == "v1 cache")
    }

    @Test func `A rule's response to a range is not one of the whole`() async throws {
        let scene = try Scene { request, _ in
            .representation(of: .bytes(Array("0123456789".utf8)), headers: ["Content-Type": "text/plain"], to: request)
        }
        #expect(await scene.load(.elseLoad, headers: ["Range": "bytes=2-5"]) == "2345 network")
        #expect(await scene.load(.elseLoad) == "0123456789 network")
        #expect(await scene.load(.elseLoad, headers: ["Range": "bytes=0-1"]) == "01 network")
    }

    @Test func `A response is used for the time of the rule`() async throws {
        let scene = try Scene { Scene.version($1, "no-store") }
        #expect(await scene.load(.time(.seconds(60))) == "v1 network")
        scene.clock.advance(by: .seconds(60))
        #expect(await scene.load(.time(.seconds(60))) == "v1 cache")
        scene.clock.advance(by: .seconds(1))
        #expect(await scene.load(.time(.seconds(100))) == "v1 cache")
        #expect(await scene.load(.time(.seconds(60))) == "v2 network")
        #expect(await scene.load(.time(.seconds(1))) == "v2 cache")
        #expect(scene.events.events.map(\.kind.step).contains("missed stale"))
    }

    @Test func `A response is used for its version alone`() async throws {
        let scene = try Scene()
        #expect(await scene.load(.version(1)) == "v1 network")
        scene.clock.advance(by: .seconds(1_000_000))
        #expect(await scene.load(.version(1)) == "v1 cache")
        #expect(await scene.load(.version(2)) == "v2 network")
        #expect(await scene.load(.version(2)) == "v2 cache")
        #expect(await scene.load(.version(1)) == "v1 cache")
        #expect(await scene.load(.elseLoad) == "v3 network")
    }

    @Test func `A fallback is used where an adapter finds that a response is not one of the service`() async throws {
        let scene = try Scene { $1 == 2 ? .text("<html>", headers: ["X-Portal": "1"]) : Scene.version($1, "no-store") }
        scene.service.adapters.response = [
            Adapter { response, _ in
                if response.headers["X-Portal"] != nil { throw APIError(.noNetwork, reason: "a captive portal") }
            }
        ]
        #expect(await scene.load(.fallback) == "v1 network")
        #expect(await scene.load(.fallback) == "v1 cache")
        #expect(await scene.load(.fallback) == "v3 network")
    }

    @Test func `A fallback is used only where there is no response`() async throws {
        let scene = try Scene { $1 == 3 ? .status(500) : Scene.version($1, "no-store") }
        #expect(await scene.load(.fallback) == "v1 network")
        #expect(await scene.load(.fallback) == "v2 network")
        #expect(await scene.load(.fallback) == "http 500")
        scene.server.stop()
        scene.clock.advance(by: .seconds(5))
        let request = scene.request(.fallback)
        #expect(await scene.outcome(of: request) == "v2 cache")
        #expect(request.rawResponse?.age == .seconds(5))
        #expect(await scene.load(.fallback, "/others") == "transport")
        #expect(scene.violations == [])
    }

    @Test func `A fallback follows all retries`() async throws {
        let scene = try Scene { Scene.version($1, "no-store") }
        #expect(await scene.load(.fallback) == "v1 network")
        scene.server.stop()
        scene.service.retryPolicy = RetryPolicy()
        scene.service.retryPolicy.maxRetries = 2
        scene.service.retryPolicy.waitsForConnectivity = false
        let load = Task { await scene.load(.fallback) }
        for _ in 0..<2 {
            await scene.clock.waitForSleepers()
            scene.clock.advance(by: .seconds(100))
        }
        #expect(await load.value == "v1 cache")
        #expect(scene.events.events.count { $0.kind.step == "again" } == 2)
        #expect(scene.violations == [])
    }

    @Test func `A fallback is used when the deadline of the load passes`() async throws {
        let gate = Gate()
        defer { gate.open() }
        let scene = try Scene { $1 == 1 ? Scene.version($1) : Scene.version($1).behind(gate) }
        #expect(await scene.load(.fallback) == "v1 network")
        let load = Task { await scene.load(.fallback) { $0.deadline = .seconds(5) } }
        #expect(await scene.server.waitForTotalRequests(2))
        await scene.clock.waitForSleepers()
        scene.clock.advance(by: .seconds(5))
        #expect(await load.value == "v1 cache")
        #expect(scene.violations == [])
    }

    // MARK: First

    @Test func `First shows what is stored, and ends once with the network`() async throws {
        let scene = try Scene { Scene.version($1, "no-store") }
        let screen = CacheScreen()
        let request = scene.request(.first, delegate: screen)
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(screen.log == ["success v1"])
        #expect(request.cachedResponse == nil)
        scene.clock.advance(by: .seconds(10))
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(screen.log == ["success v1", "shown v1", "success v2"])
        #expect(screen.shown.map(\.source) == [.cache])
        #expect(screen.shown.map(\.age) == [.seconds(10)])
        #expect(request.cachedResponse == "v1")
        #expect(request.response == "v2")
        #expect(request.rawResponse?.source == .network)
        request.reset()
        #expect(request.cachedResponse == nil)
        #expect(scene.violations == [])
    }

    @Test func `First fails with the network after it has shown`() async throws {
        let scene = try Scene { Scene.version($1, "no-store") }
        #expect(await scene.load(.first) == "v1 network")
        scene.server.stop()
        let screen = CacheScreen()
        let request = scene.request(.first, delegate: screen)
        request.loadData()
        #expect(await screen.ending() == .failure(.transport))
        #expect(screen.log == ["shown v1", "failure transport"])
        #expect(request.cachedResponse == "v1")
        #expect(request.response == nil)
        #expect(scene.violations == [])
    }

    @Test(arguments: [false, true]) func `What the validator refuses is not shown`(_ throwsError: Bool) async throws {
        let scene = try Scene { Scene.version($1, "no-store") }
        #expect(await scene.load(.first) == "v1 network")
        let (screen, validator) = (
            CacheScreen(),
            ContentValidator {
                if throwsError, $0 as? String == "v1" { throw APIError(.invalidResponse) }
                return ($0 as? String) != "v1"
            }
        )
        let request = ValidatedRequest(delegate: screen, proxy: scene.proxy)
        request.ownOptions.cachePolicy = .first
        request.customService = scene.service
        request.validator = validator
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(screen.log == ["success v2"])
        #expect(request.cachedResponse == nil)
        withExtendedLifetime(validator) {}
    }

    @Test func `A load that is cancelled while it shows ends as cancelled`() async throws {
        let gate = Gate()
        let scene = try Scene {
            $1 == 1 ? Scene.version($1) : Scene.version($1).behind(gate)
        }
        #expect(await scene.load(.first) == "v1 network")
        let screen = CacheScreen()
        screen.onShown = { $0.cancelAllRequests() }
        let request = scene.request(.first, delegate: screen)
        request.loadData()
        #expect(await screen.ending() == .cancelled)
        gate.open()
        await sentinel(scene.proxy)
        #expect(screen.log == ["shown v1", "cancelled"])
        #expect(!request.isLoading)
        #expect(scene.violations == [])
    }
}
