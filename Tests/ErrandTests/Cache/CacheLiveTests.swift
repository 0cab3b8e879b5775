import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("What a cache does in a load", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CacheLiveTests {
    typealias Scene = CacheRuleScene

    /// A goods list over a scene's server.
    private func goods(
        _ policy: CachePolicy,
        in scene: Scene,
        delegate: (any APIManagerCallbackDelegate)? = nil
    ) -> GoodsRequest {
        let request = GoodsRequest(delegate: delegate, proxy: scene.proxy)
        (request.method, request.customService) = (.get, scene.service)
        request.ownOptions.cachePolicy = policy
        return request
    }

    /// An adapter that counts its calls, and reverses a body.
    private nonisolated static func unsealing(_ counter: Counter) -> Adapter<APIResponse> {
        Adapter { response, _ in
            _ = counter.next()
            response.body = Data(response.body.reversed())
        }
    }

    private nonisolated static let pen = [Goods(id: 1, name: "pen")]

    private nonisolated static func sealed(_ goods: [Goods], _ headers: HeaderLines = [:]) -> Response {
        .json(bytes: goodsJSON(goods).utf8.reversed(), headers: headers)
    }

    /// Whether a file of the cache contains these bytes.
    private func isOnDisk(_ text: String, in scene: Scene) -> Bool {
        let files = FileManager.default.enumerator(at: scene.folder.url, includingPropertiesForKeys: nil)
        return (files?.allObjects as? [URL] ?? []).contains { url in
            (try? Data(contentsOf: url))?.range(of: Data(text.utf8)) != nil
        }
    }

    // MARK: What is read

    @Test(arguments: [CachePolicy.http, .elseLoad])
    func `A stored response runs through adapters, envelope, decoder and validator again`(
        _ policy: CachePolicy
    ) async throws {
        let scene = try Scene { request, _ in Self.sealed(Self.pen, ["Cache-Control": "max-age=60"]) }
        let (responses, data, accepted) = (Counter(), Counter(), Counter())
        scene.service.envelope = Envelope()
        scene.service.adapters.response = [Self.unsealing(responses)]
        scene.service.adapters.data = [Adapter { _, _ in _ = data.next() }]
        let validator = ContentValidator { _ in accepted.next() > 0 }
        let request = goods(policy, in: scene)
        request.validator = validator
        for count in 1...2 {
            #expect(try await request.value() == Self.pen)
            #expect([responses, data, accepted].map(\.count) == [count, count, count])
        }
        #expect(request.rawResponse?.source == .cache)
        #expect(request.serverCode == 200)
        #expect(scene.sent == 1)
        #expect(isOnDisk("nep", in: scene))
        #expect(!isOnDisk("pen", in: scene))
        #expect(scene.violations == [])
        withExtendedLifetime(validator) {}
    }

    @Test(arguments: [CachePolicy.http, .elseLoad])
    func `A service may have responses stored as its adapters have made them`(_ policy: CachePolicy) async throws {
        let scene = try Scene { request, number in
            number == 2
                ? .status(304) : Self.sealed(Self.pen, ["Cache-Control": "max-age=60", "ETag": "\"a\""])
        }
        let (responses, data) = (Counter(), Counter())
        scene.service.envelope = Envelope()
        scene.service.cachesAdaptedResponses = true
        scene.service.adapters.response = [Self.unsealing(responses)]
        scene.service.adapters.data = [Adapter { _, _ in _ = data.next() }]
        let request = goods(policy, in: scene)
        for _ in 1...2 { #expect(try await request.value() == Self.pen) }
        #expect(scene.sent == 1)
        #expect(responses.count == 1)
        #expect(data.count == 2)
        #expect(isOnDisk("pen", in: scene))
        #expect(!isOnDisk("nep", in: scene))
        guard policy == .http else { return }
        scene.clock.advance(by: .seconds(61))
        #expect(try await request.value() == Self.pen)
        #expect(request.rawResponse?.source == .validated)
        #expect(responses.count == 1)
    }

    @Test func `Rules store no failure, HTTP what the server permits`() async throws {
        for policy in [CachePolicy.elseLoad, .time(.seconds(60)), .version(1), .fallback, .first] {
            let scene = try Scene { _, number in
                switch number {
                case 1: .json(bytes: #"{"errcode":500,"msg":"no","data":[]}"#.utf8)
                case 2: .status(404, headers: ["Cache-Control": "max-age=60"])
                case 3: .json(bytes: #"{"errcode":11010,"msg":"expired"}"#.utf8)
                case 4: .json(bytes: "[".utf8)
                default: .json(bytes: goodsJSON(Self.pen).utf8)
                }
            }
            scene.service.envelope = Envelope()
            let request = goods(policy, in: scene)
            #expect(await request.outcome() == .server)
            #expect(await request.outcome() == .http)
            #expect(await request.outcome() == .loginExpired)
            #expect(await request.outcome() == .decoding)
            #expect(try await request.value() == Self.pen)
            #expect(scene.sent == 5)
            #expect(scene.violations == [])
        }
        let scene = try Scene { _, number in .text("no", status: 404, headers: ["Cache-Control": "max-age=60"]) }
        let request = scene.request()
        #expect(await scene.outcome(of: request) == "http 404")
        #expect(await scene.outcome(of: request) == "http 404")
        #expect(request.error?.response?.source == .cache)
        #expect(request.error?.response?.text == "no")
        #expect(scene.sent == 1)
        #expect(scene.violations == [])
    }

    @Test func `Rules store no response that the validator refuses`() async throws {
        let scene = try Scene()
        let validator = ContentValidator { ($0 as? String) != "v1" }
        let request = ValidatedRequest(proxy: scene.proxy)
        request.ownOptions.cachePolicy = .elseLoad
        request.customService = scene.service
        request.validator = validator
        #expect(await request.outcome() == .invalidResponse)
        #expect(await request.outcome() == nil)
        #expect(request.response == "v2")
        #expect(await request.outcome() == nil)
        #expect(scene.sent == 2)
        withExtendedLifetime(validator) {}
    }

    @Test(arguments: [CachePolicy.http, .elseLoad])
    func `What an older version of the app has stored is replaced if it cannot be decoded`(
        _ policy: CachePolicy
    ) async throws {
        let scene = try Scene { .text($1 == 1 ? "old" : "[\($1)]", headers: ["Cache-Control": "max-age=60"]) }
        #expect(await scene.load(policy) == "old network")
        let request = APIRequest<[Int]>(
            "/goods",
            service: scene.service,
            options: APIRequestOptions(cachePolicy: policy),
            proxy: scene.proxy
        )
        #expect(try await request.value() == [2])
        #expect(request.rawResponse?.source == .network)
        #expect(try await request.value() == [2])
        #expect(request.rawResponse?.source == .cache)
        #expect(scene.sent == 2)
        #expect(scene.events.events.map(\.kind.step).contains("missed unreadable"))
        #expect(scene.violations == [])
    }

    @Test func `What an adapter adds to a request is no part of a rule's key`() async throws {
        let scene = try Scene()
        let nonces = Counter()
        scene.service.adapters.params = [
            Adapter { params, _ in params = (params ?? [:]).merging(["nonce": .init(nonces.next())]) }
        ]
        scene.service.adapters.request = [
            Adapter { request, _ in request.headers["X-Nonce"] = String(nonces.next()) }
        ]
        #expect(await scene.load(.elseLoad) == "v1 network")
        #expect(await scene.load(.elseLoad) == "v1 cache")
        #expect(await scene.load(.elseLoad, method: .post, params: ["a": 1]) == "v2 network")
        #expect(await scene.load(.elseLoad, method: .post, params: ["a": 1]) == "v2 cache")
        #expect(await scene.load(.elseLoad, method: .post, params: ["a": 2]) == "v3 network")
        #expect(scene.server.requests.first?.queryValue("nonce") != nil)
        #expect(scene.server.requests.allSatisfy { $0.header("X-Nonce") != nil })
        #expect(scene.violations == [])
    }

    @Test func `The adapters of a load without a stored response are called once for each try`() async throws {
        let gate = Gate()
        let scene = try Scene(limits: QueueLimits(perHost: 1)) { request, number in
            request.path == "/slow" ? Scene.version(number).behind(gate) : Scene.version(number)
        }
        let attempts = Lock<[Int]>([])
        let usual = scene.service
        scene.service.adapters.request = [
            Adapter { _, context in attempts.withLock { $0.append(context.attempt) } }
        ]
        #expect(await scene.load() == "v1 network")
        #expect(await scene.load(.elseLoad) == "v2 network")
        #expect(attempts.withLock(\.self) == [1, 1])
        let blocker: APIRequest<String> = {
            let adapted = exchange(&scene.service, with: usual)
            defer { scene.service = adapted }
            return scene.request(.bypass, "/slow")
        }()
        let slow = Task { await scene.outcome(of: blocker) }
        #expect(await scene.server.waitForTotalRequests(3))
        let queued = Task { await scene.load(.http, "/others") }
        await suspend(while: scene.proxy.queuedCount < 1)
        gate.open()
        #expect(await slow.value == "v3 network")
        #expect(await queued.value == "v4 network")
        #expect(attempts.withLock { $0.last } == 1, "it is the first try")
    }

    @Test func `The source and the age of a response are known`() async throws {
        let scene = try Scene { request, number in
            request.header("If-None-Match") == nil
                ? Scene.version(number, "max-age=160", ["Age": "100", "ETag": "\"a\""]) : .status(304)
        }
        let request = scene.request()
        #expect(await scene.outcome(of: request) == "v1 network")
        #expect(request.rawResponse?.age == nil)
        scene.clock.advance(by: .seconds(10))
        #expect(await scene.outcome(of: request) == "v1 cache")
        #expect(request.rawResponse?.age == .seconds(110))
        #expect(request.rawResponse?.headers["Age"] == "110")
        #expect(request.rawResponse?.url.path == "/goods")
        #expect(request.rawResponse?.redirects == [])
        scene.clock.advance(by: .seconds(60))
        #expect(await scene.outcome(of: request) == "v1 validated")
        #expect(request.rawResponse?.age == .zero)
        #expect(request.rawResponse?.status == 200)
        let rule = scene.request(.elseLoad)
        #expect(await scene.outcome(of: rule) == "v3 network")
        scene.clock.advance(by: .seconds(7))
        #expect(await scene.outcome(of: rule) == "v3 cache")
        #expect(rule.rawResponse?.age == .seconds(7))
    }

    // MARK: Logins and cookies

    @Test func `A response of a renewed login is stored, and its refusal is not`() async throws {
        let scene = try Scene { request, number in
            request.header("X-Token") == "t0"
                ? .status(401, headers: ["Cache-Control": "max-age=60"]) : Scene.version(number)
        }
        let account = Account()
        scene.service.reloginHandler = account
        scene.service.commonHeaders = { ["X-Token": account.token] }
        for policy in [CachePolicy.http, .elseLoad] {
            account.setToken("t0")
            let count = scene.sent
            #expect(await scene.load(policy) == "v\(count + 2) network")
            #expect(await scene.load(policy) == "v\(count + 2) cache")
            #expect(scene.sent == count + 2)
        }
        account.fails = true
        account.setToken("t0")
        #expect(await scene.load(.elseLoad, "/others") == "loginExpired 401")
        account.fails = false
        #expect(await scene.load(.elseLoad, "/others").hasSuffix("network"))
        #expect(scene.violations == [])
    }

    @Test func `A load that begins during a relogin is sent with the new login`() async throws {
        let scene = try Scene { request, number in
            request.header("X-Token") == "t0" ? .status(401) : Scene.version(number)
        }
        let (account, latch) = (Account(), Latch())
        account.gate = latch
        scene.service.reloginHandler = account
        scene.service.commonHeaders = { ["X-Token": account.token] }
        let first = Task { await scene.load(.http, "/first") }
        await suspend(while: account.logins < 1)
        let second = Task { await scene.load(.http, "/second") }
        await suspend(while: scene.service.login.waiterCount < 2)
        latch.open()
        #expect(await first.value.hasSuffix("network"))
        #expect(await second.value.hasSuffix("network"))
        let tokens = scene.server.requests.filter { $0.path == "/second" }.map { $0.header("X-Token") }
        #expect(tokens == ["t1"])
        #expect(account.logins == 1)
        #expect(scene.violations == [])
    }

    @Test func `A stored cookie line is shown, and not given to the jar again`() async throws {
        for policy in [CachePolicy.http, .elseLoad] {
            let scene = try Scene { Scene.version($1, "max-age=60", ["Set-Cookie": "sid=1; Path=/"]) }
            let url = scene.server.url("/goods")
            #expect(await scene.load(policy) == "v1 network")
            #expect(scene.proxy.cookies.header(for: url, at: scene.clock.date) == "sid=1")
            scene.proxy.cookies.removeAll { _ in true }
            let request = scene.request(policy)
            #expect(await scene.outcome(of: request) == "v1 cache")
            #expect(request.rawResponse?.headers["Set-Cookie"] == "sid=1; Path=/")
            #expect(scene.proxy.cookies.header(for: url, at: scene.clock.date) == nil)
        }
    }

    @Test func `A response varies by the cookies of its request, not by those that it sets`() async throws {
        for policy in [CachePolicy.http, .elseLoad] {
            let scene = try Scene { request, _ in
                .text(
                    request.header("Cookie") ?? "none",
                    headers: ["Cache-Control": "max-age=60", "Vary": "Cookie", "Set-Cookie": "sid=1; Path=/"]
                )
            }
            #expect(await scene.load(policy) == "none network")
            #expect(await scene.load(policy) == "sid=1 network")
            #expect(await scene.load(policy) == "sid=1 cache")
            scene.proxy.cookies.removeAll { _ in true }
            #expect(await scene.load(policy) == "none cache")
        }
    }

    @Test func `After a logout nothing that was stored with the same cookies is found`() async throws {
        let (scene, other) = (try Scene(), try FixtureServer.start { _ in Scene.version(9, "max-age=60") })
        var images = APIService(baseURL: other.baseURL)
        (images.envelope, images.failureReader, images.retryPolicy) = (nil, nil, .never)
        let image = APIRequest<String>("/image", service: images, proxy: scene.proxy)
        #expect(await scene.load() == "v1 network")
        #expect(await scene.outcome(of: image) == "v9 network")
        #expect(await scene.outcome(of: image) == "v9 cache")
        scene.proxy.logout(from: scene.service)
        #expect(await scene.load() == "v2 network")
        #expect(await scene.outcome(of: image) == "v9 network", "the jar, which both services share, was cleared")
    }

    // MARK: Exchanges

    @Test func `Loads that share an exchange share its response with the cache`() async throws {
        let gate = Gate()
        let scene = try Scene { Scene.version($1).behind(gate) }
        let loads = (0..<3).map { _ in
            Task { await scene.load { $0.coalescesIdentical = true } }
        }
        await suspend(while: scene.proxy.sharedLoadCount < 3)
        gate.open()
        for load in loads { #expect(await load.value == "v1 network") }
        #expect(await scene.load { $0.coalescesIdentical = true } == "v1 cache")
        scene.clock.advance(by: .seconds(61))
        #expect(await scene.load { $0.coalescesIdentical = true } == "v2 network")
        #expect(scene.sent == 2)
        #expect(scene.violations == [])
    }

    @Test func `A hit does not wait for a place in a full queue`() async throws {
        let gate = Gate()
        let scene = try Scene(limits: QueueLimits(perHost: 1)) { request, number in
            request.path == "/slow" ? Scene.version(number).behind(gate) : Scene.version(number)
        }
        for policy in [CachePolicy.http, .elseLoad] { #expect(await scene.load(policy).hasSuffix("network")) }
        let slow = Task { await scene.load(.http, "/slow") }
        #expect(await scene.server.waitForTotalRequests(3))
        #expect(await scene.load() == "v1 cache")
        #expect(await scene.load(.elseLoad) == "v2 cache")
        let waiting = Task { await scene.load(.http, "/others") }
        await suspend(while: scene.proxy.queuedCount < 1)
        gate.open()
        #expect(await slow.value == "v3 network")
        #expect(await waiting.value == "v4 network")
        #expect(scene.violations == [])
    }

    @Test func `A load that has waited uses what another one has stored meanwhile`() async throws {
        let gate = Gate()
        let scene = try Scene(limits: QueueLimits(perHost: 1)) { request, number in
            request.path == "/slow" ? Scene.version(number).behind(gate) : Scene.version(number)
        }
        let slow = Task { await scene.load(.bypass, "/slow") }
        #expect(await scene.server.waitForTotalRequests(1))
        let waiting = Task { await scene.load() }
        await suspend(while: scene.proxy.queuedCount < 1)
        // A proxy with a queue of its own.
        let other = APIProxy(cookies: scene.proxy.cookies, clock: scene.clock, cache: scene.cache)
        let request = APIRequest<String>("/goods", service: scene.service, proxy: other)
        #expect(await scene.outcome(of: request) == "v2 network")
        gate.open()
        #expect(await slow.value == "v1 network")
        #expect(await waiting.value == "v2 cache")
        #expect(scene.sent == 2)
        #expect(scene.violations == [])
    }

    @Test func `Monitors see what a cache does, in the order of the table`() async throws {
        let scene = try Scene { request, number in
            request.header("If-None-Match") == nil
                ? Scene.version(number, "max-age=60", ["ETag": "\"a\""]) : .status(304)
        }
        func steps() -> [String] {
            let events = scene.events
            return events.steps(of: events.ids.last).filter { !["sent", "head"].contains($0) }
        }
        #expect(await scene.load() == "v1 network")
        #expect(steps() == ["began", "missed absent", "started", "made", "responded 200", "success"])
        #expect(await scene.load() == "v1 cache")
        #expect(steps() == ["began", "cached", "success"])
        scene.clock.advance(by: .seconds(61))
        #expect(await scene.load() == "v1 validated")
        #expect(steps() == ["began", "missed stale", "started", "made", "responded 304", "cached", "success"])
        #expect(await scene.load(.reload) == "v1 validated")
        #expect(steps().suffix(3) == ["responded 304", "cached", "success"])
        #expect(await scene.load(.bypass) == "v4 network")
        #expect(steps() == ["began", "started", "made", "responded 200", "success"])
        #expect(await scene.load(.first) == "v5 network")
        #expect(await scene.load(.first) == "v6 network")
        #expect(
            steps() == [
                "began", "missed mustValidate", "cached", "started", "made", "responded 200", "success",
            ]
        )
        #expect(scene.violations == [])
    }

    // MARK: Files and bodies

    @Test(arguments: [10, 70_000]) func `A hit of a download writes its file`(_ count: Int) async throws {
        let body = [UInt8](repeating: 7, count: count)
        let scene = try Scene { request, number in
            request.header("If-None-Match") == nil
                ? .bytes(body, headers: ["Cache-Control": "max-age=60", "ETag": "\"a\""])
                : .status(304, headers: ["Cache-Control": "max-age=60"])
        }
        let file = scene.folder.url.appending(path: "file")
        func download(_ policy: CachePolicy = .http) async throws -> APIResponse.Source? {
            let request = APIRequest<DownloadedFile>(
                "/file",
                destination: .file(file),
                service: scene.service,
                options: APIRequestOptions(cachePolicy: policy),
                proxy: scene.proxy
            )
            try? FileManager.default.removeItem(at: file)
            let downloaded = try await request.value()
            #expect(try Data(contentsOf: downloaded.url) == Data(body))
            #expect(downloaded.url.path == file.path)
            return request.rawResponse?.source
        }
        #expect(try await download() == .network)
        #expect(try await download() == .cache)
        scene.clock.advance(by: .seconds(61))
        #expect(try await download() == .validated)
        #expect(try await download() == .cache)
        #expect(scene.sent == 2)
        let data = APIRequest<Data>("/file", service: scene.service, proxy: scene.proxy)
        #expect(try await data.value() == Data(body))
        #expect(data.rawResponse?.source == .cache)
        #expect(try await download(.elseLoad) == .network)
        #expect(try await download(.elseLoad) == .cache)
        #expect(try scene.folder.names == ["cache", "file"])
        #expect(scene.violations == [])
    }

    @Test(arguments: [10, 70_000]) func `A stored refusal of a download has its body`(_ count: Int) async throws {
        let body = [UInt8](repeating: 7, count: count)
        let scene = try Scene { request, number in
            .bytes(body, status: 404, headers: ["Cache-Control": "max-age=60"])
        }
        for source in [APIResponse.Source.network, .cache] {
            let request = APIRequest<DownloadedFile>(
                "/file",
                destination: .folder(scene.folder.url),
                service: scene.service,
                proxy: scene.proxy
            )
            #expect(await request.outcome() == .http)
            #expect(request.error?.response?.source == source)
            #expect(request.error?.response?.body.count == count)
        }
        #expect(try scene.folder.names == ["cache"])
        let accepting = APIRequest<DownloadedFile>(
            "/file",
            destination: .file(scene.folder.url.appending(path: "file")),
            service: scene.service,
            options: APIRequestOptions(acceptedStatuses: [404]),
            proxy: scene.proxy
        )
        let file = try await accepting.value()
        #expect(try Data(contentsOf: file.url).count == count)
        #expect(accepting.rawResponse?.source == .cache)
    }

    @Test func `A rule's response to POST is one to the same body`() async throws {
        let scene = try Scene { request, number in .text("\(request.text) \(number)") }
        for (params, expected) in [
            (["a": 1], "1 network"), (["a": 2], "2 network"), (["a": 1], "1 cache"), (["a": 2], "2 cache"),
            (nil, "3 network"), (nil, "3 cache"),
        ] as [(APIParams?, String)] {
            let text = await scene.load(.elseLoad, method: .post, params: params)
            #expect(text.hasSuffix(" \(expected)"), "\(text)")
        }
        #expect(await scene.load(.elseLoad, method: .put, params: ["a": 1]).hasSuffix("4 network"))
        #expect(await scene.load(.http, method: .post, params: ["a": 1]).hasSuffix("5 network"))
    }

    @Test func `A body that is not in memory has no rule`() async throws {
        let scene = try Scene()
        let file = try TemporaryFile(Data("a".utf8))
        let adapted: APIService = {
            var service = scene.service
            service.adapters.request = [Adapter { _, _ in }]
            return service
        }()
        for service in [scene.service, adapted] {
            for policy in [CachePolicy.elseLoad, .fallback, .first, .time(.seconds(1)), .version(1)] {
                func outcome(
                    _ serializer: RequestSerializer,
                    _ parts: (@MainActor (inout MultipartForm) -> Void)? = nil
                ) async -> APIErrorType? {
                    await APIRequest<String>(
                        "/goods",
                        method: .post,
                        requestSerializer: serializer,
                        service: service,
                        options: APIRequestOptions(cachePolicy: policy),
                        proxy: scene.proxy,
                        parts: parts
                    ).outcome()
                }
                #expect(await outcome(.raw(.file(file.url), contentType: "a/b")) == .invalidRequest)
                #expect(await outcome(.multipart) { $0.append(file: file.url, name: "a") } == .invalidRequest)
                #expect(await outcome(.multipart) { $0.append(Data([1]), name: "a") } == .invalidRequest, "\(policy)")
            }
        }
        #expect(scene.sent == 0)
        #expect(scene.violations == [])
    }

    // MARK: Stale responses

    @Test func `A stale response is used while another load validates it`() async throws {
        let gate = Gate()
        let scene = try Scene { request, number in
            let response = Scene.version(number, "max-age=10, stale-while-revalidate=100", ["ETag": "\"\(number)\""])
            return number == 2 ? response.behind(gate) : response
        }
        #expect(await scene.load() == "v1 network")
        var endings = scene.proxy.endings.makeAsyncIterator()
        scene.clock.advance(by: .seconds(11))
        #expect(await scene.load() == "v1 cache")
        let used = try await endings.next()
        #expect(await scene.server.waitForTotalRequests(2))
        let background = try #require(scene.proxy.activeRequests.first)
        #expect(background.id != used?.id)
        #expect(background.priority == .background)
        #expect(background.path == "/goods")
        #expect(await scene.load() == "v1 cache")
        _ = try await endings.next()
        #expect(scene.proxy.activeRequests.map(\.id) == [background.id], "it is validated once")
        gate.open()
        let ended = try await endings.next()
        #expect(ended?.id == background.id)
        #expect(ended?.requestClass == nil)
        #expect(ended?.response?.status == 200)
        if case .success? = ended?.ending {} else { Issue.record("\(ended as Any)") }
        #expect(await scene.load() == "v2 cache")
        #expect(scene.sent == 2)
        #expect(scene.server.requests.last?.header("If-None-Match") == "\"1\"")
        let steps = scene.events.steps(of: background.id)
        #expect(steps.first == "began")
        #expect(steps.contains("responded 200"))
        #expect(steps.last == "success")
        scene.clock.advance(by: .seconds(200))
        #expect(await scene.load() == "v3 network")
        #expect(scene.violations == [])
    }

    @Test func `A stale failure is validated as well`() async throws {
        for status in [404, 503] {
            let scene = try Scene { _, number in
                number > 1
                    ? Scene.version(number)
                    : .status(status, headers: ["Cache-Control": "max-age=10, stale-while-revalidate=100"])
            }
            #expect(await scene.load() == "http \(status)")
            scene.clock.advance(by: .seconds(11))
            #expect(await scene.load() == "http \(status)")
            #expect(await scene.server.waitForTotalRequests(2))
            await scene.settle()
            #expect(await scene.load() == "v2 cache")
            #expect(scene.violations == [])
        }
    }

    @Test func `A logout cancels the load that validates`() async throws {
        let gate = Gate()
        let scene = try Scene { _, number in
            let response = Scene.version(number, "max-age=10, stale-while-revalidate=100")
            return number == 2 ? response.behind(gate) : response
        }
        #expect(await scene.load() == "v1 network")
        scene.clock.advance(by: .seconds(11))
        var endings = scene.proxy.endings.makeAsyncIterator()
        #expect(await scene.load() == "v1 cache")
        _ = try await endings.next()
        #expect(await scene.server.waitForTotalRequests(2))
        let background = try #require(scene.proxy.activeRequests.first)
        scene.proxy.logout()
        let ended = try await endings.next()
        #expect(ended?.id == background.id)
        if case .cancelled? = ended?.ending {} else { Issue.record("\(ended as Any)") }
        #expect(scene.proxy.activeRequests.isEmpty)
        #expect(scene.events.steps(of: background.id).last == "cancelled")
        gate.open()
        #expect(await scene.load() == "v3 network")
        scene.clock.advance(by: .seconds(11))
        #expect(await scene.load() == "v3 cache")
        #expect(await scene.server.waitForTotalRequests(4), "the next one may be validated")
        await scene.settle()
        #expect(scene.violations == [])
    }

    @Test func `What a logout has ended is not validated`() async throws {
        let scene = try Scene { Scene.version($1, "max-age=10, stale-while-revalidate=100") }
        #expect(await scene.load() == "v1 network")
        scene.clock.advance(by: .seconds(11))
        let ended = Latch()
        await loadAndLogOut(scene, ended)
        // The work of the load, which is its last part that has the serializer.
        try await ended.wait()
        await scene.settle()
        #expect(scene.sent == 1)
        #expect(scene.violations == [])
    }

    /// Loads, and logs out while the stored response is decoded; `ended` opens when nothing has the serializer any more.
    private func loadAndLogOut(_ scene: Scene, _ ended: Latch) async {
        let observer = DeinitObserver { ended.open() }
        let request = APIRequest<String>(
            "/goods",
            responseSerializer: ResponseSerializer { [proxy = scene.proxy] response, _ in
                withExtendedLifetime(observer) { proxy.logout() }
                return response.text
            },
            service: scene.service,
            proxy: scene.proxy
        )
        #expect(await request.outcome() == .cancelled)
    }

    @Test func `A stale response is used instead of an error of the server`() async throws {
        let scene = try Scene { _, number in
            number > 1
                ? .status([500, 502, 503, 504, 501, 403][number - 2])
                : Scene.version(number, "max-age=10, stale-if-error=100", ["ETag": "\"a\""])
        }
        #expect(await scene.load() == "v1 network")
        scene.clock.advance(by: .seconds(60))
        for _ in 0..<4 { #expect(await scene.load() == "v1 cache") }
        #expect(await scene.load() == "http 501")
        #expect(await scene.load() == "http 403")
        scene.server.stop()
        #expect(await scene.load() == "v1 cache")
        scene.clock.advance(by: .seconds(51))
        #expect(await scene.load() == "transport")
        #expect(scene.violations == [])
    }

    @Test func `A stored response says nothing about the login`() async throws {
        let scene = try Scene { _, number in
            number > 1 ? .status(503) : Scene.version(number, "max-age=10, stale-if-error=100")
        }
        let account = Account()
        scene.service.reloginHandler = account
        let login = scene.service.login
        #expect(await scene.load() == "v1 network")
        #expect(login.current.isProven)
        login.beginSession()
        login.didSignIn()
        #expect(await scene.load() == "v1 cache")
        scene.clock.advance(by: .seconds(60))
        #expect(await scene.load() == "v1 cache")
        #expect(scene.sent == 2)
        #expect(!login.current.isProven)
        withExtendedLifetime(account) {}
    }

    @Test func `Without a response, a stale one is used as long as it was fresh`() async throws {
        let scene = try Scene { request, number in
            request.path == "/goods" ? Scene.version(number) : Scene.version(number, "max-age=60, must-revalidate")
        }
        #expect(await scene.load() == "v1 network")
        #expect(await scene.load(.http, "/strict") == "v2 network")
        scene.server.stop()
        scene.clock.advance(by: .seconds(61))
        #expect(await scene.load() == "v1 cache")
        #expect(await scene.load(.http, "/strict") == "transport")
        scene.clock.advance(by: .seconds(60))
        #expect(await scene.load() == "transport")
        #expect(scene.violations == [])
    }

    @Test func `The age of a response that is used without a network includes the one that it came with`() async throws
    {
        let scene = try Scene { Scene.version($1, "max-age=100", ["Age": "90"]) }
        let request = scene.request()
        #expect(await scene.outcome(of: request) == "v1 network")
        scene.server.stop()
        scene.clock.advance(by: .seconds(11))
        #expect(await scene.outcome(of: request) == "v1 cache")
        #expect(request.rawResponse?.age == .seconds(101))
        #expect(request.rawResponse?.headers["Age"] == "101")
    }

    @Test func `A load that fails without a network may use what is stored`() async throws {
        let scene = try Scene(reachability: Reachability(status: .unreachable))
        func failing(_ policy: CachePolicy, _ path: String = "/goods") async -> String {
            await scene.load(policy, path) { $0.failsWhenUnreachable = true }
        }
        #expect(await failing(.http) == "noNetwork")
        for policy in [CachePolicy.http, .elseLoad] { #expect(await scene.load(policy).hasSuffix("network")) }
        #expect(await failing(.http) == "v1 cache")
        #expect(await failing(.elseLoad) == "v2 cache")
        #expect(await failing(.fallback) == "v2 cache")
        #expect(await failing(.first) == "noNetwork")
        #expect(await failing(.bypass) == "noNetwork")
        #expect(await failing(.reload) == "noNetwork")
        #expect(await failing(.elseLoad, "/others") == "noNetwork")
        #expect(await failing(.fallback, "/others") == "noNetwork")
        scene.clock.advance(by: .seconds(200))
        #expect(await failing(.http) == "noNetwork")
        #expect(scene.sent == 2)
        #expect(scene.violations == [])
    }

    // MARK: Invalidation

    @Test func `A success of another method removes what it may have changed`() async throws {
        let scene = try Scene { request, number in
            switch request.header("X-Case") {
            case "fails": .status(500)
            case "location": .status(201, headers: ["Location": "/a", "Content-Location": "http://other.test/b"])
            default: Scene.version(number)
            }
        }
        func isStored(_ path: String = "/goods") async -> Bool {
            await scene.load(.onlyIfCached, path).hasSuffix("cache")
        }
        func store(_ paths: String...) async {
            for path in paths { #expect(await scene.load(.reload, path).hasSuffix("network")) }
        }
        for method in [HTTPMethod.post, .put, .patch, .delete, HTTPMethod(rawValue: "PURGE")] {
            await store("/goods", "/b")
            #expect(await scene.load(.http, method: method).hasSuffix("network"))
            #expect(await !isStored(), "\(method)")
            #expect(await isStored("/b"))
        }
        await store("/goods", "/a", "/b")
        _ = await scene.load(.http, method: .post, headers: ["X-Case": "fails"])
        #expect(await isStored())
        _ = await scene.load(.http, method: .options)
        #expect(await isStored())
        _ = await scene.load(.bypass, method: .post, headers: ["X-Case": "location"])
        #expect(await !isStored())
        #expect(await !isStored("/a"))
        #expect(await isStored("/b"), "it is of another origin")
        await store("/goods")
        _ = try await scene.proxy.send(HTTPRequest(.get, scene.server.url("/goods")))
        #expect(await isStored())
        _ = try await scene.proxy.send(HTTPRequest(.put, scene.server.url("/goods")))
        #expect(await !isStored())
        await store("/goods")
        _ = try await scene.proxy.send(HTTPRequest(.delete, URL("/goods")), to: scene.service)
        #expect(await !isStored())
        #expect(scene.violations == [])
    }

    /// A profile that a `PUT` changes, and whose first response, with the old value, waits for a gate.
    private struct Profile {
        let arrived = Latch()
        let gate = Latch()
        let network: ScriptedTransport
        let proxy: APIProxy

        init(in folder: TemporaryFolder) {
            let server = Lock((value: "old", isHeld: true))
            network = ScriptedTransport { [arrived, gate] request in
                guard request.method == .get else {
                    server.withLock { $0.value = "new" }
                    return .status(204)
                }
                let (value, isHeld) = server.withLock { state in
                    defer { state.isHeld = false }
                    return state
                }
                if isHeld {
                    arrived.open()
                    try await gate.wait()
                }
                return HTTPResponse(status: 200, headers: ["Cache-Control": "max-age=60"], body: Data(value.utf8))
            }
            var service = APIService.sample()
            service.envelope = nil
            proxy = APIProxy(service: service, transport: network, cache: APICache(folder: folder.url))
        }

        func load(isCoalescing: Bool = false) async throws -> String {
            let options = APIRequestOptions(coalescesIdentical: isCoalescing)
            return try await APIRequest<String>("/profile", options: options, proxy: proxy).value()
        }

        func change() async throws { try await APIRequest<Void>("/profile", method: .put, proxy: proxy).value() }
    }

    @Test(arguments: [false, true], [false, true])
    func `A response to a request that was sent before a change is neither stored nor shared after it`(
        _ isStoredBefore: Bool,
        _ isCoalescing: Bool
    ) async throws {
        let folder = try TemporaryFolder()
        let profile = Profile(in: folder)
        async let late = profile.load(isCoalescing: isCoalescing)
        try await profile.arrived.wait()
        try await profile.change()
        if isStoredBefore { #expect(try await profile.load(isCoalescing: isCoalescing) == "new") }
        profile.gate.open()
        #expect(try await late == "old")
        for _ in 0..<2 { #expect(try await profile.load(isCoalescing: isCoalescing) == "new") }
        #expect(profile.network.requests.count == 3, "the new one is stored")
    }

    @Test func `A newer refusal of a part replaces the part`() async throws {
        let scene = try Scene { _, number in
            guard number == 1 else { return .status(404) }
            let headers: HeaderLines = ["Cache-Control": "max-age=600", "Content-Range": "bytes 0-1/10"]
            return .bytes(Array("v1".utf8), status: 206, headers: headers)
        }
        let range: HTTPHeaders = ["Range": "bytes=0-1"]
        #expect(await scene.load(headers: range) == "v1 network")
        #expect(await scene.load(headers: range) == "v1 cache")
        #expect(await scene.load(.reload, headers: range) == "http 404")
        #expect(await scene.load(headers: range) == "http 404")
    }

    @Test(
        arguments: [
            (404, "max-age=600", "http 404"), (410, nil, "http 410"), (200, "no-store", "v2 network"),
            (200, nil, "v2 network"), (206, "no-store", "v1 cache"), (403, "no-store", "v1 cache"),
            (500, nil, "v1 cache"),
        ] as [(Int, String?, String)]
    )
    func `A newer response that is not stored replaces an older one`(
        _ status: Int,
        _ control: String?,
        _ expected: String
    ) async throws {
        let scene = try Scene { request, number in
            guard number > 1 else { return Scene.version(1, "max-age=600") }
            let headers = control.map { ["Cache-Control": $0] as HeaderLines } ?? [:]
            return status == 200 ? Scene.version(2, control) : .status(status, headers: headers)
        }
        #expect(await scene.load() == "v1 network")
        _ = await scene.load(.reload)
        #expect(await scene.load() == (status == 404 ? "http 404" : expected))
        #expect(scene.violations == [])
    }

    @Test func `A plain call neither uses nor stores a response`() async throws {
        let scene = try Scene()
        let url = scene.server.url("/goods")
        #expect(try await scene.proxy.send(HTTPRequest(.get, url)).text == "v1")
        #expect(await scene.load() == "v2 network")
        let response = try await scene.proxy.send(HTTPRequest(.get, url))
        #expect(response.text == "v3")
        #expect(response.source == .network)
        #expect(await scene.load() == "v2 cache")
        #expect(scene.violations == [])
    }

    // MARK: Without a cache

    @Test func `What needs stored responses is refused where there are none`() async throws {
        let server = try FixtureServer.start { _ in Scene.version(1) }
        var service = APIService(baseURL: server.baseURL)
        service.envelope = nil
        let folder = try TemporaryFolder()
        let proxies = [
            APIProxy(service: service), APIProxy(service: service, cache: APICache(folder: folder.url)),
        ]
        for (proxy, isLogin) in zip(proxies, [false, true]) {
            for policy in [CachePolicy.elseLoad, .time(.seconds(1)), .version(1), .fallback, .first, .onlyIfCached] {
                let request = APIRequest<String>(
                    "/goods",
                    isLoginRequest: isLogin,
                    options: APIRequestOptions(cachePolicy: policy),
                    proxy: proxy
                )
                #expect(await request.outcome() == .invalidRequest, "\(policy)")
                #expect(request.error?.reason?.contains("cachePolicy") == true)
            }
            #expect(server.totalRequests == (isLogin ? 3 : 0))
            for policy in [CachePolicy.http, .bypass, .reload] {
                let request = APIRequest<String>(
                    "/goods",
                    isLoginRequest: isLogin,
                    options: APIRequestOptions(cachePolicy: policy),
                    proxy: proxy
                )
                #expect(await request.outcome() == nil)
                #expect(request.rawResponse?.source == .network)
            }
        }
        #expect(server.totalRequests == 6)
    }

    // MARK: Content that is young enough

    /// A request that has loaded once, without a cache policy.
    private func loaded(in scene: Scene, _ screen: CacheScreen, _ params: APIParams? = nil) async -> APIRequest<String>
    {
        let request = scene.request(.bypass, delegate: screen)
        request.loadData(params: .given(params))
        #expect(await screen.ending() == .success)
        return request
    }

    @Test func `A load that is not needed ends at once`() async throws {
        let (scene, screen) = (try Scene(), CacheScreen())
        let request = await loaded(in: scene, screen)
        scene.clock.advance(by: .seconds(60))
        let id = request.loadIfNeeded(maxAge: .seconds(60))
        #expect(request.isLoading)
        #expect(scene.proxy.activeRequests.map(\.id) == [id])
        #expect(screen.log == ["success v1"])
        #expect(await screen.ending() == .success)
        #expect(!request.isLoading)
        #expect(request.response == "v1")
        #expect(screen.log == ["success v1", "success v1"])
        #expect(scene.sent == 1)
        #expect(scene.events.steps(of: id) == ["began", "cached", "success"])
        #expect(scene.violations == [])
    }

    @Test func `That a load was not needed changes no age`() async throws {
        let (scene, screen) = (try Scene(), CacheScreen())
        let request = await loaded(in: scene, screen)
        for _ in 0..<3 {
            scene.clock.advance(by: .seconds(20))
            request.loadIfNeeded(maxAge: .seconds(60))
            #expect(await screen.ending() == .success)
            #expect(scene.sent == 1)
        }
        scene.clock.advance(by: .seconds(1))
        request.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(scene.sent == 2)
        #expect(request.response == "v2")
    }

    @Test func `What is too old, or of other parameters, is loaded`() async throws {
        let (scene, screen) = (try Scene(), CacheScreen())
        let request = await loaded(in: scene, screen, ["a": 1, "b": 2])
        request.loadIfNeeded(maxAge: .seconds(60), params: ["b": 2, "a": 1])
        #expect(await screen.ending() == .success)
        #expect(scene.sent == 1)
        request.loadIfNeeded(maxAge: .seconds(60), params: ["a": 1])
        #expect(await screen.ending() == .success)
        request.loadIfNeeded(maxAge: .seconds(60), params: nil)
        #expect(await screen.ending() == .success)
        #expect(scene.sent == 3)
        scene.clock.advance(by: .seconds(61))
        request.loadIfNeeded(maxAge: .seconds(60), params: nil)
        #expect(await screen.ending() == .success)
        #expect(scene.sent == 4)
        #expect(request.response == "v4")
        let other = scene.request(.bypass, delegate: screen)
        other.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(scene.sent == 5)
        other.reset()
        other.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(scene.sent == 6)
    }

    @Test func `The age of what was stored counts`() async throws {
        let (scene, screen) = (try Scene(), CacheScreen())
        #expect(await scene.load(.elseLoad) == "v1 network")
        scene.clock.advance(by: .seconds(50))
        let request = scene.request(.elseLoad, delegate: screen)
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(request.rawResponse?.source == .cache)
        scene.clock.advance(by: .seconds(20))
        request.loadIfNeeded(maxAge: .seconds(70))
        #expect(await screen.ending() == .success)
        #expect(scene.events.steps(of: scene.events.ids.last) == ["began", "cached", "success"])
        #expect(request.rawResponse?.age == .seconds(70))
    }

    @Test func `A load that runs is the one that is needed`() async throws {
        let gate = Gate()
        let (scene, screen) = (try Scene { Scene.version($1).behind(gate) }, CacheScreen())
        let request = scene.request(.bypass, delegate: screen)
        let running = request.loadData()
        #expect(request.loadIfNeeded(maxAge: .seconds(60)) == running)
        gate.open()
        #expect(await screen.ending() == .success)
        let atOnce = request.loadIfNeeded(maxAge: .seconds(60))
        #expect(request.loadIfNeeded(maxAge: .seconds(60)) == atOnce)
        #expect(await screen.ending() == .success)
        await sentinel(scene.proxy)
        #expect(screen.log.count == 2)
        #expect(scene.sent == 1)
        withExtendedLifetime(request) {}
    }

    @Test func `The delegate has the ending of the load that is needed, whoever has begun it`() async throws {
        let gate = Gate()
        let (scene, screen) = (try Scene { Scene.version($1).behind(gate) }, CacheScreen())
        let request = scene.request(.bypass, delegate: screen)
        let caller = Task { await scene.outcome(of: request) }
        await suspend(while: !request.isLoading)
        request.loadIfNeeded(maxAge: .seconds(60))
        caller.cancel()
        await sentinel(scene.proxy)
        gate.open()
        _ = await caller.value
        await scene.settle()
        await sentinel(scene.proxy)
        #expect(screen.log == ["success v1"])
        #expect(scene.violations == [])
    }

    @Test func `After a failure, a response that is young enough is used`() async throws {
        let (scene, screen) = (try Scene { $1 == 2 ? .status(500) : Scene.version($1) }, CacheScreen())
        let interceptor = InterceptorSpy()
        let request = await loaded(in: scene, screen)
        request.loadData()
        #expect(await screen.ending() == .failure(.http))
        #expect(request.error != nil)
        request.interceptor = interceptor
        let id = request.loadIfNeeded(maxAge: .seconds(60), params: nil)
        #expect(await screen.ending() == .success)
        #expect(request.error == nil)
        #expect(request.isSuccess)
        #expect(request.response == "v1")
        #expect(interceptor.calls.contains(.willEnd("success")))
        #expect(interceptor.calls.last == .didEnd("success"))
        #expect(request.rawResponse?.status == 200, "it is the response of what the request has")
        for case .respondedFromCache(let response) in scene.events.events(of: id).map(\.kind) {
            #expect(response.status == 200)
        }
        #expect(scene.sent == 2)
        #expect(scene.violations == [])
    }

    @Test func `A load that is not needed can be cancelled`() async throws {
        let (scene, screen) = (try Scene(), CacheScreen())
        let request = await loaded(in: scene, screen)
        request.loadIfNeeded(maxAge: .seconds(60))
        request.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        await sentinel(scene.proxy)
        #expect(screen.log == ["success v1", "cancelled"])
        #expect(request.response == "v1")
        #expect(scene.violations == [])
    }
}

@MainActor
@Suite(
    "A load with a cache that is cancelled at any point ends once",
    .limitedConcurrency,
    .blocksThread,
    .hangLimit,
    .timeLimit(.minutes(10))
)
struct CacheCancellationTests {
    typealias Scene = CacheRuleScene

    /// Where a load is when it is cancelled.
    enum Point: CaseIterable, Sendable {
        case lookingUp, adaptingStored, queued, validating, adaptingValidated, delivering, sendingAfterShown
    }

    /// How it is cancelled.
    enum Manner: CaseIterable, Sendable {
        case byID, ofRequest, ofProxy, byRelease, byLogout
    }

    @Test(arguments: Point.allCases, Manner.allCases)
    func `It ends as cancelled`(_ point: Point, _ manner: Manner) async throws {
        let (gate, latch, arrived) = (Gate(), Latch(), Latch())
        defer {
            gate.open()
            latch.open()
        }
        let scene = try Scene(limits: QueueLimits(perHost: 1)) { request, number in
            if point == .adaptingValidated, request.header("If-None-Match") != nil { return .status(304) }
            let response = Scene.version(number, "max-age=60", ["ETag": "\"a\""])
            return number == 1 || point == .adaptingValidated ? response : response.behind(gate)
        }
        let policy: CachePolicy = point == .sendingAfterShown ? .first : .http
        #expect(await scene.load(policy) == "v1 network")
        let usual = scene.service
        prepare(point, scene, arrived, latch)
        let screen = CacheScreen()
        let path = point == .queued ? "/others" : "/goods"
        var request: APIRequest<String>? = scene.request(policy, path, delegate: screen)
        var slow: Task<String, Never>?
        if point == .queued {
            let blocker = scene.request(.bypass, "/slow")
            slow = Task { await scene.outcome(of: blocker) }
            #expect(await scene.server.waitForTotalRequests(2))
        }
        let id = try #require(request?.loadData())
        try await reach(point, scene, screen, arrived)
        let sent = scene.sent
        switch manner {
        case .byID: scene.proxy.cancelRequest(id)
        case .ofRequest: request?.cancelAllRequests()
        case .ofProxy: scene.proxy.cancelAllRequests()
        case .byRelease: request = nil
        case .byLogout: scene.proxy.logout()
        }
        gate.open()
        latch.open()
        if manner != .byRelease { #expect(await screen.ending() == .cancelled) }
        _ = await slow?.value
        await scene.settle()
        await sentinel(scene.proxy)
        let shown = point == .sendingAfterShown ? ["shown v1"] : []
        #expect(screen.log == shown + (manner == .byRelease ? [] : ["cancelled"]))
        #expect(scene.events.steps(of: id).last == "cancelled")
        #expect(scene.events.ended == scene.events.ids.count)
        #expect(scene.sent == sent)
        #expect(scene.proxy.queuedCount == 0)
        #expect(request?.isLoading != true)
        #expect(scene.violations == [])
        scene.service = usual
        let next = await scene.load(policy, path)
        let isKept = manner != .byLogout && ![.queued, .validating, .sendingAfterShown].contains(point)
        #expect(isKept ? next == "v1 cache" : next.hasSuffix("network"), "a cancel removes nothing: \(next)")
    }

    private func prepare(_ point: Point, _ scene: Scene, _ arrived: Latch, _ latch: Latch) {
        switch point {
        case .lookingUp:
            scene.service.commonHeaders = {
                arrived.open()
                await latch.waitIgnoringCancellation()
                return [:]
            }
        case .adaptingStored, .adaptingValidated:
            scene.service.adapters.response = [
                Adapter { _, _ in
                    arrived.open()
                    try await latch.wait()
                }
            ]
        case .queued, .validating, .delivering, .sendingAfterShown: break
        }
        if [.validating, .adaptingValidated].contains(point) { scene.clock.advance(by: .seconds(61)) }
    }

    private func reach(_ point: Point, _ scene: Scene, _ screen: CacheScreen, _ arrived: Latch) async throws {
        switch point {
        case .lookingUp, .adaptingStored, .adaptingValidated: try await arrived.wait()
        case .queued: await suspend(while: scene.proxy.queuedCount < 1)
        case .validating: #expect(await scene.server.waitForTotalRequests(2))
        // Without a suspension, because the delivery waits for the main actor.
        case .delivering: spin(while: scene.proxy.delivery.count == 0)
        case .sendingAfterShown:
            #expect(await scene.server.waitForTotalRequests(2))
            await suspend(while: screen.log.isEmpty)
        }
    }

    @Test func `Cancelled at random instants, each load ends once`() async throws {
        let scene = try Scene { request, number in
            let control = "max-age=1, stale-while-revalidate=\(number % 3)"
            return request.header("If-None-Match") == nil
                ? Scene.version(number, control, ["ETag": "\"a\""]) : .status(304)
        }
        let policies: [CachePolicy] = [.http, .first, .elseLoad, .reload, .fallback, .time(.seconds(1))]
        let screen = Screen()
        for round in 0..<20 {
            let requests = (0..<24).map { index in
                scene.request(policies[index % policies.count], "/\(index % 4)", delegate: screen) {
                    $0.coalescesIdentical = index % 5 == 0
                }
            }
            let ids = requests.map { $0.loadData() }
            // One at once.
            scene.proxy.cancelRequest(ids[round])
            let cancelling = Task.detached { [proxy = scene.proxy] in
                for id in ids.shuffled() {
                    for _ in 0..<Int.random(in: 0..<20) { await Task.yield() }
                    if Bool.random() { proxy.cancelRequest(id) }
                }
            }
            let endings = await screen.endings(of: requests)
            #expect(endings.count == 24)
            #expect(endings.allSatisfy { $0 == .success || $0 == .cancelled })
            await cancelling.value
            if round % 5 == 4 { scene.proxy.logout() }
            scene.clock.advance(by: .seconds(round % 3))
        }
        await scene.settle()
        await sentinel(scene.proxy)
        #expect(screen.events.count == 20 * 24)
        #expect(screen.events.contains(.success) && screen.events.contains(.cancelled))
        #expect(scene.events.ended == scene.events.ids.count)
        #expect(scene.violations == [])
    }
}
