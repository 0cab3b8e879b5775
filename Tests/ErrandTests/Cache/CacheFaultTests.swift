import ErrandTesting
import FixtureServer
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("The clock of a cache", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CacheFaultClockTests {
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)
    private static let year: TimeInterval = 365 * 86_400
    private let scene: CacheFolderScene
    private let server: FixtureServer

    init() throws {
        scene = try CacheFolderScene()
        server = try FixtureServer.start { request in
            .representation(
                of: .counting(100),
                etag: request.path == "/plain" ? nil : "\"1\"",
                headers: ["Cache-Control": "max-age=3600"],
                to: request
            )
        }
    }

    /// A load in a process whose clock shows a date.
    private func load(_ path: String, at date: Date, policy: CachePolicy = .http) async throws -> APIResponse {
        let proxy = APIProxy(
            service: APIService(baseURL: server.baseURL),
            cookies: CookieJar(file: scene.folder.file),
            clock: ManualClock(date: date),
            cache: APICache(folder: scene.cacheFolder)
        )
        proxy.onError = { Issue.record("\($0)") }
        let response = try await APIRequest(
            path,
            responseSerializer: ResponseSerializer { response, _ in response },
            options: APIRequestOptions(cachePolicy: policy),
            proxy: proxy
        ).value()
        #expect(response.body == Data(0..<100))
        return response
    }

    @Test(.fault(104), arguments: ["/tagged", "/plain"])
    func `After a year back nothing is used blindly, and after a year forth nothing is fresh`(
        _ path: String
    ) async throws {
        for shift in [-Self.year, Self.year] {
            #expect(try await load(path, at: Self.now, policy: .reload).source != .cache)
            #expect(try await load(path, at: Self.now).source == .cache)
            let count = server.totalRequests
            let source = try await load(path, at: Self.now + shift).source
            #expect(source == (path == "/plain" ? .network : .validated))
            #expect(server.totalRequests == count + 1)
            #expect((server.requests.last?.header("If-None-Match") != nil) == (path != "/plain"))
            // It is as fresh as the server has said, by the clock of the moment.
            #expect(try await load(path, at: Self.now + shift).source == .cache)
            #expect(try await load(path, at: Self.now + shift + 3_700).source != .cache)
            // And so on, when the clock is right again.
            let again = try await load(path, at: Self.now).source
            #expect(again != .cache)
            #expect(try await load(path, at: Self.now).source == .cache)
        }
    }

    @Test(.fault(104)) func `A rule of time uses nothing of the future, and the others have no negative age`()
        async throws
    {
        let ever = CachePolicy.time(.seconds(100 * Self.year))
        _ = try await load("/tagged", at: Self.now, policy: ever)
        #expect(try await load("/tagged", at: Self.now, policy: ever).source == .cache)
        #expect(try await load("/tagged", at: Self.now - 1, policy: ever).source == .network)
        #expect(try await load("/tagged", at: Self.now - Self.year, policy: ever).source == .network)
        // That is stored now with its own date.
        #expect(try await load("/tagged", at: Self.now - Self.year, policy: ever).source == .cache)
        #expect(try await load("/tagged", at: Self.now, policy: ever).age == .seconds(Self.year))
        #expect(try await load("/tagged", at: Self.now, policy: .time(.seconds(86_400))).source == .network)
        for policy in [CachePolicy.elseLoad, .version(1)] {
            _ = try await load("/tagged", at: Self.now, policy: policy)
            for shift in [-Self.year, 0, Self.year] {
                let response = try await load("/tagged", at: Self.now + shift, policy: policy)
                #expect(response.source == .cache)
                #expect(response.age == .seconds(max(0, shift)))
            }
        }
    }

    @Test(.fault(104)) func `A folder with dates of the future and of the past is evicted like any other`() async throws
    {
        let client = scene.client(capacity: 1_000_000)
        let paths = (0..<9).map { "\($0)?size=99000" }
        for path in paths { _ = try await client.load(path) }
        for (index, path) in paths.enumerated() {
            try scene.setLastUse([0, 1, 1 << 31, 4_000_000_000][index % 4], of: path)
        }
        for number in 9..<14 {
            _ = try await client.load("\(number)?size=99000")
            // What is stored while the files are counted does not start another count.
            client.proxy.cache?.waitForEviction()
        }
        // A date in the future is of a clock that was set back.
        let kept = try paths.indices.filter { index in
            let name = CacheKey(CacheFolderClient.url(paths[index])).name
            return try scene.files.contains { $0.hasPrefix(name) }
        }
        #expect(kept.count < paths.count && Set(kept).isSuperset(of: [1, 5]))
        #expect(scene.kinds == [])
    }
}

@MainActor @Suite("The disk of a cache", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CacheFaultDiskTests {
    private let scene: CacheFolderScene

    init() throws { scene = try CacheFolderScene() }

    @Test(.fault(102), arguments: ["cache", "session"], [100, 300_000])
    func `A folder that is removed while it is used is a miss, and made again`(_ name: String, _ size: Int) async throws
    {
        let client = scene.client()
        for _ in 0..<3 {
            for path in ["a?size=\(size)", "b?vary&size=\(size)"] {
                #expect(try await client.load(path).source == .network)
                // The first one may have found only that the folder has gone.
                _ = try await client.load(path)
                #expect(try await client.load(path).source == .cache)
            }
            try FileManager.default.removeItem(at: name == "cache" ? scene.cacheFolder : try scene.sessionFolder)
        }
        #expect(scene.kinds == [])
    }

    @Test(.fault(102)) func `Files that are removed one by one, as a system empties a cache, are misses`() async throws
    {
        let client = scene.client()
        let paths = ["a", "b?size=300000", "c?vary", "d?vary&size=300000"]
        for path in paths { _ = try await client.load(path) }
        while let file = try scene.files.first {
            try FileManager.default.removeItem(at: try scene.sessionFolder.appending(path: file))
            for path in paths { #expect(try await client.load(path, policy: .http).isWhole) }
            // They have been stored again.
            for path in paths { #expect(try await client.load(path).source == .cache) }
            guard try scene.files.first != file else { break }
            let removed = try scene.files.filter { $0 <= file }
            for file in removed {
                try FileManager.default.removeItem(at: try scene.sessionFolder.appending(path: file))
            }
        }
        #expect(scene.kinds == [])
    }

    @Test(.fault(102)) func `A file at the path of the folder is reported once, and again when it is back`()
        async throws
    {
        let client = scene.client()
        for round in 1...2 {
            try Data("file".utf8).write(to: scene.cacheFolder)
            for path in ["a", "b", "a"] {
                #expect(try await client.load(path).source == .network)
            }
            #expect(scene.kinds == Array(repeating: .unusableFolder, count: round))
            #expect(FileManager.default.contents(atPath: scene.cacheFolder.path) == Data("file".utf8))
            try FileManager.default.removeItem(at: scene.cacheFolder)
            #expect(try await client.load("a").source == .network)
            #expect(try await client.load("a").source == .cache)
            try FileManager.default.removeItem(at: scene.cacheFolder)
        }
    }

    @Test(.fault(102)) func `A file at the path of the session's folder is reported once`() async throws {
        try await scene.store("old", "a")
        let session = try scene.sessionFolder
        try FileManager.default.removeItem(at: session)
        try Data("file".utf8).write(to: session)
        let client = scene.client()
        for path in ["a", "b", "a"] { #expect(try await client.load(path).source == .network) }
        #expect(scene.kinds == [.unusableFolder])
        client.proxy.logout()
        #expect(try await client.load("a").source == .network)
        #expect(try await client.load("a").source == .cache)
    }

    @Test(.fault(102)) func `A link at the path of the session's folder leads nowhere`() async throws {
        try await scene.store("old", "a")
        let (session, outside) = (try scene.sessionFolder, scene.folder.url.appending(path: "outside"))
        try FileManager.default.moveItem(at: session, to: outside)
        try #require(symlink(outside.path, session.path) == 0)
        let before = try FileManager.default.contentsOfDirectory(atPath: outside.path)
        let client = scene.client()
        #expect(try await client.load("a").tag == "network")
        client.proxy.logout()
        client.proxy.cache?.waitForEviction()
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path) == before)
    }

    @Test(.fault(102)) func `A folder that other users may write is not used`() async throws {
        try FileManager.default.createDirectory(at: scene.cacheFolder, withIntermediateDirectories: true)
        try #require(chmod(scene.cacheFolder.path, 0o777) == 0)
        let client = scene.client()
        for _ in 0..<2 { #expect(try await client.load("a").source == .network) }
        #expect(scene.kinds == [.unusableFolder])
        #expect(try FileManager.default.contentsOfDirectory(atPath: scene.cacheFolder.path) == [])
    }

    @Test(.fault(102)) func `Only the owner may read what is stored`() async throws {
        try await scene.store("old", "a", "b?size=300000", "c?vary")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: scene.cacheFolder.path)
        #expect(paths.count == 6)
        for path in [""] + paths {
            var status = stat()
            try #require(stat(scene.cacheFolder.appending(path: path).path, &status) == 0)
            #expect(status.st_mode & 0o077 == 0, "\(path)")
        }
    }
}

#if os(Linux)
@MainActor @Suite("A full or read-only disk and the cache", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CacheFaultFullDiskTests {
    private let scene: CacheFolderScene

    init() throws { scene = try CacheFolderScene() }

    private func run(_ script: String) async throws -> [String] {
        let probe = #"probe() { "$1" cache "$0/cache" "$0/cookies.txt" "$@"; }"#
            .replacing(#""$1" cache"#, with: #""\#(CookieProbe.path)" cache"#)
            .replacing("$0", with: scene.folder.url.path)
        let text = "cd \(scene.folder.url.path)\n\(probe)\n\(script)"
        return try await TestProgram.run(["unshare", "-m", "sh", "-e", "-c", text]).lines
    }

    @Test(.fault(102), .enabled(if: CookieProbe.canMount, "cannot mount"))
    func `Loads go on while the disk is full, which is reported once, and with room again they are stored`()
        async throws
    {
        let folder = scene.folder.url.path
        let lines = try await run(
            """
            mount -t tmpfs -o size=256k none \(folder)
            probe load,a,old load,b?size=70000,old
            head -c 400000 /dev/zero > \(folder)/ballast 2>/dev/null || true
            probe load,a,new load,b?size=70000,new load,c,new load,d?size=70000,new load,e?vary,new,red load,c,newer \
                load,a,newer,,reload load,a,newest remove,\(folder)/ballast load,c,last load,c,lost load,a,last,,reload load,a,lost
            find \(folder)/cache -name 'tmp-*'
            """
        )
        #expect(
            lines == [
                "a old network", "b?size=70000 old network",
                "a old cache", "b?size=70000 old cache", "c new network", "d?size=70000 new network",
                "e?vary new network", "c newer network",
                // What could not be replaced is not used instead of what was received later.
                "a newer network", "a newest network",
                "c last network", "c last cache", "a last network", "a last cache",
                "problem cannotWrite",
            ]
        )
    }

    @Test(.fault(102), .enabled(if: CookieProbe.canMount, "cannot mount"))
    func `What is stored on a read-only disk is used, and nothing else`() async throws {
        let folder = scene.folder.url.path
        let lines = try await run(
            """
            mount -t tmpfs none \(folder)
            probe load,a,old load,b?size=70000,old load,c?vary,old,red
            mount -o remount,ro \(folder)
            probe load,a,new load,b?size=70000,new load,c?vary,new,red load,c?vary,new,blue load,d,new load,d,newer
            """
        )
        #expect(
            lines == [
                "a old network", "b?size=70000 old network", "c?vary old network",
                "a old cache", "b?size=70000 old cache", "c?vary old cache", "c?vary new network", "d new network",
                "d newer network", "problem cannotWrite",
            ]
        )
    }

    @Test(.fault(102), .enabled(if: CookieProbe.canMount, "cannot mount"))
    func `A logout on a read-only disk leaves nothing that this process finds`() async throws {
        let folder = scene.folder.url.path
        let lines = try await run(
            """
            mount -t tmpfs none \(folder)
            probe load,a,old
            mount -o remount,ro \(folder)
            probe load,a,new clear load,a,newer load,a,newest
            """
        )
        #expect(
            lines == ["a old network", "a old cache", "a newer network", "a newest network", "problem cannotWrite"]
        )
    }

    @Test(.fault(102), .enabled(if: CookieProbe.canMount, "cannot mount"))
    func `A folder that cannot be made is reported once`() async throws {
        let folder = scene.folder.url.path
        let lines = try await run(
            """
            mount -t tmpfs -o ro none \(folder)
            probe load,a,1 load,a,2 load,b,3
            """
        )
        #expect(lines == ["a 1 network", "a 2 network", "b 3 network", "problem unusableFolder"])
    }

    @Test(
        .fault(102),
        .enabled(if: CookieProbe.canTrace, "strace is not here"),
        arguments: ["renameat", "mkdirat", "utimensat"],
        ["EIO", "ENOSPC", "EDQUOT"]
    )
    func `Each call that fails is a response that is not stored, and is reported once`(
        _ call: String,
        _ error: String
    ) async throws {
        let paths = ["a", "b?size=300000", "c?vary"]
        let commands = ["1", "2", "3"].flatMap { tag in paths.map { "load,\($0),\(tag),red" } }
        let lines = try await CookieProbe.run(
            ["cache", scene.cacheFolder.path, scene.folder.file.path] + commands,
            under: ["strace", "-f", "-o", "/dev/null", "-e", "inject=\(call):error=\(error)"]
        ).lines
        #expect(lines.count { $0 == "problem cannotWrite" } == (call == "utimensat" ? 0 : 1))
        let loads = lines.filter { !$0.hasPrefix("problem") }
        #expect(loads.count == 9)
        for (index, line) in loads.enumerated() {
            let isStored = call == "utimensat" || call == "mkdirat" && index % 3 != 2
            let answer = isStored && index > 2 ? "1 cache" : "\(index / 3 + 1) network"
            #expect(line == "\(paths[index % 3]) \(answer)")
        }
        #expect(try !scene.files.contains { $0.contains("tmp-") })
        if call == "renameat" { #expect(try scene.files == []) }
    }
}
#endif

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
        // It has found that the folder has gone.
        _ = try await load(proxy, policy: .http)
        #expect(try await load(proxy, policy: .http).source == .cache)
    }

    @Test(.fault(106), .startsPrograms) func `A logout without a free descriptor removes what is stored`() async {
        #if os(Linux)
        await #expect(processExitsWith: .success) {
            let temporary = try TemporaryFolder()
            let cache = APICache(folder: temporary.url.appending(path: "cache"))
            let jar = CookieJar(file: temporary.file)
            let names = ["http://shop.test", "http://other.test"].map {
                CacheSession.name(of: APIService(baseURL: URL($0)), jar, sendsCookies: true)
            }
            let sample = try CacheFolderSample(URL("http://shop.test/a"), body: Data("a".utf8))
            try sample.store(in: try #require(cache.session(names[0])))
            // The cache has not opened the other one.
            try sample.store(
                in: try #require(APICache(folder: temporary.url.appending(path: "cache")).session(names[1]))
            )
            try CacheDescriptorLimit.withFree(0) { cache.endSessions(of: jar) }
            for name in names {
                let session = try #require(cache.session(name), "the cache is used again when there are descriptors")
                #expect(session.bodies(sample.key) == [])
                try sample.store(in: session)
                #expect(cache.session(name)?.bodies(sample.key) == [sample.body])
            }
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
