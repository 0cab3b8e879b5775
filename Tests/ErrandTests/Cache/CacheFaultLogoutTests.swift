import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A logout and the cache", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CacheFaultLogoutTests {
    enum Instant: CaseIterable {
        case beforeHead, insideBody, inAdapter
    }

    /// What ends the session while a load of it is in flight.
    enum End: CaseIterable {
        case logout, clear, switchAccount, logoutOfOtherCache
    }

    private let scene: CacheFolderScene
    private let arrived = Gate()
    private let gate = Gate()

    init() throws { scene = try CacheFolderScene() }

    /// The first response stops at an instant.
    private func server(_ instant: Instant) throws -> FixtureServer {
        let count = Counter()
        return try FixtureServer.start { [arrived, gate] request in
            let headers: HeaderLines = ["Cache-Control": "max-age=3600", "Content-Length": "100000"]
            let halves = (0..<2).map { _ in Response.Step.write([UInt8](repeating: 1, count: 50_000)) }
            guard count.next() == 1, instant != .inAdapter else {
                return Response(status: 200, headers: headers, steps: halves)
            }
            let stop = [Response.Step.open(arrived), .pass(gate)]
            guard instant == .beforeHead else {
                return Response(status: 200, headers: headers, steps: halves[..<1] + stop + halves[1...])
            }
            return Response(status: 200, headers: headers, steps: halves)
                .preceded(by: stop[0], stop[1])
        }
    }

    private func proxy(_ server: FixtureServer, _ instant: Instant = .insideBody) -> APIProxy {
        var service = APIService(baseURL: server.baseURL)
        let count = Counter()
        if instant == .inAdapter {
            service.adapters = Adapters(response: [
                Adapter { [arrived, gate] response, _ in
                    if count.next() == 1 {
                        arrived.open()
                        await gate.opened()
                    }
                }
            ])
        }
        let proxy = APIProxy(
            service: service,
            cookies: CookieJar(file: scene.folder.file),
            cache: APICache(folder: scene.cacheFolder)
        )
        proxy.onError = scene.errors.record
        return proxy
    }

    private func load(_ proxy: APIProxy, policy: CachePolicy) async throws -> APIResponse {
        try await APIRequest(
            "/me",
            responseSerializer: ResponseSerializer { response, _ in response },
            options: APIRequestOptions(cachePolicy: policy),
            proxy: proxy
        ).value()
    }

    @Test(.fault(106), arguments: Instant.allCases, End.allCases)
    func `A load in flight stores nothing that a later load finds`(_ instant: Instant, _ end: End) async throws {
        for policy in [CachePolicy.http, .elseLoad] {
            let scene = try CacheFaultLogoutTests()
            try await scene.expectNothing(instant, end, policy)
        }
    }

    private func expectNothing(_ instant: Instant, _ end: End, _ policy: CachePolicy) async throws {
        let server = try server(instant)
        let proxy = proxy(server, instant)
        let load = Task { try await self.load(proxy, policy: policy) }
        await arrived.opened()
        switch end {
        case .logout: proxy.logout()
        case .clear: proxy.cache?.removeAll()
        case .switchAccount: proxy.switchAccount(to: CookieJar(file: scene.folder.url.appending(path: "other")))
        case .logoutOfOtherCache:
            let other = self.proxy(server)
            other.logout()
            other.cache?.waitForEviction()
        }
        gate.open()
        let isCancelled = [.logout, .switchAccount].contains(end)
        let response = try? await load.value
        #expect((response == nil) == isCancelled)
        let count = server.totalRequests
        #expect(try await self.load(proxy, policy: policy).source == .network)
        #expect(server.totalRequests == count + 1)
        #expect(
            try await self.load(self.proxy(server), policy: policy).source
                == (end == .switchAccount ? .network : .cache)
        )
        #expect(scene.kinds == [])
    }

    @Test(.fault(106)) func `What is stored before a logout is found by no load after it, also in the next process`()
        async throws
    {
        let server = try server(.inAdapter)
        for policy in [CachePolicy.http, .elseLoad, .version(2)] {
            let proxy = proxy(server)
            _ = try await load(proxy, policy: policy)
            #expect(try await load(proxy, policy: policy).source == .cache)
            proxy.logout()
            let count = server.totalRequests
            #expect(try await load(policy == .http ? proxy : self.proxy(server), policy: policy).source == .network)
            #expect(server.totalRequests == count + 1)
            proxy.cache?.waitForEviction()
        }
        // The removed ones are not on the disk either.
        let names = try FileManager.default.contentsOfDirectory(atPath: scene.cacheFolder.path)
        #expect(names.filter { $0.hasPrefix(".") } == [])
    }

    /// A process is killed between the steps of its logout.
    @Test(.fault(106)) func `A logout in another process is one for the cache that is open here`() async throws {
        let server = try server(.inAdapter)
        let proxy = proxy(server)
        _ = try await load(proxy, policy: .http)
        #expect(try await load(proxy, policy: .http).source == .cache)
        let session = try scene.sessionFolder
        let removed = session.deletingLastPathComponent().appending(path: ".removed-1")
        try FileManager.default.moveItem(at: session, to: removed)
        #expect(try await load(proxy, policy: .http).source == .network)
    }

    @Test(.fault(106), .startsPrograms) func `A logout without a free descriptor removes what is stored`() async {
        #if os(Linux)
        await #expect(processExitsWith: .success) {
            let temporary = try TemporaryFolder()
            let cache = APICache(folder: temporary.url.appending(path: "cache"))
            let jar = CookieJar(file: temporary.file)
            let name = CacheSession.name(of: APIService(baseURL: URL("http://shop.test")), jar, sendsCookies: true)
            let sample = try CacheFolderSample(URL("http://shop.test/a"), body: Data("a".utf8))
            try sample.store(in: try #require(cache.session(name)))
            try CacheDescriptorLimit.withFree(0) { cache.endSessions(of: jar) }
            #expect(cache.session(name)?.bodies(sample.key) ?? [] == [])
        }
        #endif
    }

    @Test(.fault(106)) func `Accounts keep their responses apart, and find them again`() async throws {
        let jars = (0..<3).map { scene.folder.url.appending(path: "jar\($0)") }
        let client = scene.client(jar: CookieJar(file: jars[0]))
        for (index, jar) in jars.enumerated() {
            client.proxy.switchAccount(to: CookieJar(file: jar))
            scene.network.tag.withLock { $0 = "account\(index)" }
            for policy in [CachePolicy.http, .elseLoad] {
                let answer = try await client.load("me", policy: policy)
                #expect(answer.tag == "account\(index)" && answer.source == .network)
            }
        }
        scene.network.tag.withLock { $0 = "nobody" }
        for index in [1, 0, 2, 0] {
            client.proxy.switchAccount(to: CookieJar(file: jars[index]))
            for policy in [CachePolicy.http, .elseLoad] {
                let answer = try await client.load("me", policy: policy)
                #expect(answer.tag == "account\(index)" && answer.source == .cache)
            }
        }
        // The logout is that of one of them.
        client.proxy.logout()
        #expect(try await client.load("me").tag == "nobody")
        client.proxy.switchAccount(to: CookieJar(file: jars[1]))
        #expect(try await client.load("me").tag == "account1")
        #expect(scene.kinds == [])
    }

    /// `isOfEnvironment` is whether the changes of its environment give the service its jar.
    @Test(.fault(59), .fault(106), arguments: [false, true])
    func `A switch of the account removes what was stored with the jar of the default service`(
        _ isOfEnvironment: Bool
    ) async throws {
        let client = scene.client()
        let own = CookieJar(file: scene.folder.url.appending(path: "own"))
        if isOfEnvironment {
            client.proxy.defaultService?.environment.changes = { $0.cookies = own }
        } else {
            client.proxy.defaultService?.cookies = own
        }
        scene.network.tag.withLock { $0 = "A" }
        for policy in [CachePolicy.http, .elseLoad] {
            #expect(try await client.load("me", policy: policy).source == .network)
            #expect(try await client.load("me", policy: policy).source == .cache)
        }
        scene.network.tag.withLock { $0 = "B" }
        client.proxy.switchAccount(to: CookieJar())
        for policy in [CachePolicy.http, .elseLoad] {
            let answer = try await client.load("me", policy: policy)
            #expect(answer.tag == "B" && answer.source == .network)
        }
        #expect(scene.kinds == [])
    }

    @Test(.fault(106)) func `The responses of a jar in memory are found with that jar alone`() async throws {
        let (first, second) = (CookieJar(), CookieJar())
        for (tag, jar) in [("first", first), ("second", second), ("third", CookieJar(file: scene.folder.file))] {
            scene.network.tag.withLock { $0 = tag }
            #expect(try await scene.client(jar: jar).load("me").tag == tag)
        }
        scene.network.tag.withLock { $0 = "network" }
        #expect(try await scene.client(jar: first).load("me").tag == "first")
        #expect(try await scene.client(jar: second).load("me").tag == "second")
        #expect(try await scene.client(jar: CookieJar()).load("me").tag == "network")
        // Another cache of this process keeps them.
        _ = scene.client()
        let cache = APICache(folder: scene.cacheFolder)
        cache.waitForEviction()
        #expect(try await scene.client(jar: first, cache: cache).load("me").tag == "first")
    }

    @Test(.fault(106), .startsPrograms) func `Jars in memory of ended processes leave no files`() throws {
        let ended = try #require(pid_t(TestProgram.output(of: ["sh", "-c", "echo $$"]).prefix { $0 != "\n" }))
        for pid in [ended, getpid()] {
            let session = scene.cacheFolder.appending(path: "\(CookieFile.memoryMark)\(pid)-1-2")
            try FileManager.default.createDirectory(at: session, withIntermediateDirectories: true)
            try Data("1".utf8).write(to: session.appending(path: "1"))
        }
        let cache = APICache(folder: scene.cacheFolder)
        // For what is to be removed, and then until it is.
        for _ in 0..<2 { cache.waitForEviction() }
        let names = try FileManager.default.contentsOfDirectory(atPath: scene.cacheFolder.path)
        #expect(names == ["\(CookieFile.memoryMark)\(getpid())-1-2"])
    }

    /// The head of the response sets the cookie by which it varies.
    @Test(.fault(105))
    func `A response to a request without a cookie is not given to one with the cookie that it sets`() async throws {
        let server = try FixtureServer.start { request in
            let cookie = request.header("Cookie")
            return .text(
                cookie ?? "guest",
                headers: ["Cache-Control": "max-age=3600", "Vary": "Cookie", "Set-Cookie": "sid=1"]
            )
        }
        let proxy = proxy(server)
        #expect(try await load(proxy, policy: .http).body == Data("guest".utf8))
        for source in [APIResponse.Source.network, .cache] {
            let response = try await load(proxy, policy: .http)
            #expect(response.body == Data("sid=1".utf8) && response.source == source)
        }
    }

    @Test(.fault(106)) func `A load stores for the account whose cookies it has sent`() async throws {
        let other = CookieJar(file: scene.folder.url.appending(path: "other"))
        let client = scene.client()
        let (own, transport) = (client.proxy.cookies, try #require(client.proxy.transport as? ScriptedTransport))
        let validator = SwitchingValidator { client.proxy.switchCookies(to: other) }
        client.proxy.cookies.store(setCookie: "sid=old; Path=/", from: CacheFolderClient.url(""))
        let request = APIRequest(
            "/me",
            params: ["a": 1],
            responseSerializer: ResponseSerializer { response, _ in response },
            proxy: client.proxy
        )
        request.validator = validator
        #expect(try await request.value().source == .network)
        request.validator = nil
        #expect(client.proxy.cookies === other)
        #expect(try await request.value().source == .network)
        #expect(transport.requests.map { $0.headers["Cookie"] } == ["sid=old", nil])
        client.proxy.switchCookies(to: own)
        #expect(try await request.value().source == .cache)
    }
}

/// Changes the account while a load is made.
private final class SwitchingValidator: APIManagerValidator {
    private let action: @MainActor () -> Void

    init(_ action: @escaping @MainActor () -> Void) { self.action = action }

    func request(_ request: BaseAPIRequest, accepts params: APIParams?) throws(APIError) -> Bool {
        action()
        return true
    }
}
