import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

#if os(Linux)
import Foundation
import TestSupport
import Testing
@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite(
    "A process that is killed while it changes a cache",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: CookieProbe.canTrace, "strace cannot trace here")
)
struct CacheProcessCrashTests {
    /// What a process does, with the responses that are there before.
    struct Operation: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var before: [Load] = []
        let commands: [String]
        var stores: Bool { commands.contains { $0.hasPrefix("load") } }

        struct Load: Sendable {
            let path: String
            var color: String?
        }

        var loads: [Load] {
            let new = commands.filter { $0.hasPrefix("load") }.map { command in
                let parts = command.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
                return Load(path: parts[1], color: parts.count > 3 && !parts[3].isEmpty ? parts[3] : nil)
            }
            return before
                + new.filter { load in
                    !before.contains { $0.path == load.path && $0.color == load.color }
                }
        }
    }

    nonisolated static let operations = [
        Operation(testDescription: "store", commands: ["load,a,new"]),
        Operation(testDescription: "store a long one", commands: ["load,a?size=300000,new"]),
        Operation(testDescription: "store a varying one", commands: ["load,a?vary&size=300000,new,red"]),
        Operation(
            testDescription: "replace",
            before: [.init(path: "a")],
            commands: ["load,a,new,,reload"]
        ),
        Operation(
            testDescription: "replace a long one",
            before: [.init(path: "a?size=300000")],
            commands: ["load,a?size=300000,new,,reload"]
        ),
        Operation(
            testDescription: "replace one of several",
            before: [.init(path: "a?vary&size=70000", color: "red"), .init(path: "a?vary&size=70000", color: "blue")],
            commands: ["load,a?vary&size=70000,new,red,reload"]
        ),
        Operation(
            testDescription: "evict",
            before: (0..<8).map { .init(path: "\($0)?size=90000") },
            commands: ["capacity,950000", "load,new?size=90000,new", "load,newer?size=90000,new", "evict"]
        ),
        Operation(
            testDescription: "clear",
            before: [.init(path: "a"), .init(path: "b?size=300000"), .init(path: "c?vary", color: "red")],
            commands: ["clear", "evict"]
        ),
        Operation(
            testDescription: "log out",
            before: [.init(path: "a"), .init(path: "b?size=300000"), .init(path: "c?vary", color: "red")],
            commands: ["logout", "evict"]
        ),
    ]

    /// The other calls have the same effect as the next one of these.
    private static let changing: Set = [
        "openat", "mkdir", "mkdirat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "utimensat",
    ]

    private let scene: CacheFolderScene

    init() throws { scene = try CacheFolderScene() }

    /// A call at which strace kills the process.
    private struct Point: CustomStringConvertible {
        let call: String
        let ordinal: Int
        var paths: [String] = []
        var description: String { "\(call) \(ordinal)\(paths.isEmpty ? "" : " in the folder")" }

        var options: [String] {
            ["-e", "inject=\(call):signal=SIGKILL:when=\(ordinal)"] + paths.flatMap { ["-P", $0] }
        }
    }

    @Test(.fault(101), arguments: operations)
    func `leaves nothing or exactly one of its responses, and a folder that works`(_ operation: Operation) async throws
    {
        let saved = scene.folder.url.appending(path: "saved")
        if operation.before.isEmpty {
            try FileManager.default.createDirectory(at: scene.cacheFolder, withIntermediateDirectories: false)
        }
        for (index, load) in operation.before.enumerated() {
            try await scene.store("old", load.path, color: load.color)
            try scene.setLastUse(1_000_000 + index, of: load.path)
        }
        try FileManager.default.copyItem(at: scene.cacheFolder, to: saved)
        let cookies = try? Data(contentsOf: scene.folder.file)
        var kills = 0
        let points = try await points(of: operation)
        // Some of them, and other ones for each operation.
        let (step, first) = (4 / rounds(2, slow: 4), operation.testDescription.utf8.count)
        for (index, point) in points.enumerated() where (index + first) % step == 0 {
            try restore(saved, cookies)
            let ending = try await probe(operation, under: ["strace", "-f", "-o", "/dev/null"] + point.options)
            if ending.status != 0 { kills += 1 }
            try await check(operation, "\(point)")
        }
        #expect(kills > (operation.stores ? rounds(4) / 2 : 0))
    }

    /// With the cookies, whose file names the session.
    private func restore(_ saved: URL, _ cookies: Data?) throws {
        // Moved, because a cache of the last check may still remove files in it.
        let former = scene.folder.url.appending(path: UUID().uuidString)
        try FileManager.default.moveItem(at: scene.cacheFolder, to: former)
        try FileManager.default.copyItem(at: saved, to: scene.cacheFolder)
        try? FileManager.default.removeItem(at: scene.folder.file)
        try cookies?.write(to: scene.folder.file)
    }

    /// On one thread for all tasks, whose calls are counted.
    private func probe(_ operation: Operation, under wrapper: [String]) async throws -> TestProgram.Ending {
        try await TestProgram(
            wrapper + [CookieProbe.path, "cache", scene.cacheFolder.path, scene.folder.file.path] + operation.commands,
            environment: ["LIBDISPATCH_COOPERATIVE_POOL_STRICT": "1"]
        ).ending()
    }

    /// The calls on the folder of the session, by its descriptor and by the paths of its files, and those whose paths are not known
    /// before.
    private func points(of operation: Operation) async throws -> [Point] {
        let jar = CookieJar(file: scene.folder.file)
        let name = CacheSession.name(of: scene.client(jar: jar).service, jar, sendsCookies: true)
        let session = scene.cacheFolder.appending(path: name)
        let files = operation.before.isEmpty ? [] : try scene.files.map { session.appending(path: $0).path }
        let paths = [scene.cacheFolder.path, session.path] + files
        let log = scene.folder.url.appending(path: "trace")
        let trace = ["strace", "-f", "-o", log.path] + paths.flatMap { ["-P", $0] }
        let ending = try await probe(operation, under: trace)
        try #require(ending.status == 0, "\(ending)")
        var counts: [String: Int] = [:]
        for line in try String(contentsOf: log, encoding: .utf8).split(separator: "\n") {
            let (thread, call) = (line.prefix { $0 != " " }, line.drop { $0 != " " }.drop { $0 == " " })
            let name = call.prefix { $0 != "(" }
            guard Self.changing.contains(String(name)) else { continue }
            counts["\(thread) \(name)", default: 0] += 1
        }
        var greatest: [String: Int] = [:]
        for (key, count) in counts {
            let name = String(key.split(separator: " ")[1])
            greatest[name] = max(greatest[name] ?? 0, count)
        }
        let known = greatest.sorted { $0.key < $1.key }.flatMap { name, count in
            (1...count).map { Point(call: name, ordinal: $0, paths: paths) }
        }
        let others = operation.stores ? ["write"] : ["unlink", "unlinkat", "rmdir"]
        return known + others.flatMap { call in (1...6).map { Point(call: call, ordinal: $0) } }
    }

    private func check(_ operation: Operation, _ comment: Comment) async throws {
        let client = scene.client()
        for load in operation.loads {
            let isOld = operation.before.contains { $0.path == load.path && $0.color == load.color }
            let answer = try await client.load(load.path, color: load.color)
            #expect(answer.isWhole, comment)
            #expect(answer.tag == "new" || answer.tag == "network" || answer.tag == "old" && isOld, comment)
        }
        for load in operation.loads {
            let answer = try await client.load(load.path, color: load.color)
            #expect(answer.isWhole && answer.source == .cache, comment)
        }
        #expect(scene.kinds == [], comment)
        // What was in its way to be removed is removed now.
        client.proxy.cache?.waitForEviction()
        let names = try FileManager.default.contentsOfDirectory(atPath: scene.cacheFolder.path)
        #expect(names.count == 1, comment)
    }
}
#endif

@MainActor @Suite("Processes that share a cache", .limitedConcurrency, .timeLimit(.minutes(10)), .startsPrograms)
struct CacheProcessSharingTests {
    private let scene: CacheFolderScene

    init() throws { scene = try CacheFolderScene() }

    private func probe(_ commands: String...) throws -> TestProgram {
        try TestProgram([CookieProbe.path, "cache", scene.cacheFolder.path, scene.folder.file.path] + commands)
    }

    @Test(.fault(103)) func `Each process finds what the others have stored, and nothing that they have removed`()
        async throws
    {
        let paths = ["a", "b?size=300000", "c?vary&size=300000"]
        let loads = { (tag: String) in paths.map { "load,\($0),\(tag),red" } }
        let client = scene.client()
        for tag in ["1", "2"] {
            let program = try TestProgram(
                [CookieProbe.path, "cache", scene.cacheFolder.path, scene.folder.file.path] + loads(tag)
            )
            #expect(try await program.ending().lines == paths.map { "\($0) 1 \(tag == "1" ? "network" : "cache")" })
            for path in paths {
                let answer = try await client.load(path, color: "red")
                #expect(answer.tag == "1" && answer.source == .cache && answer.isWhole)
            }
        }
        #expect(try await probe("clear", "evict").ending().lines == [])
        for path in paths { #expect(try await client.load(path, color: "red").tag == "network") }
        #expect(try await probe("load,a,3,red").ending().lines == ["a network cache"])
        #expect(try await probe("logout", "evict").ending().lines == [])
        for path in paths { #expect(try await client.load(path, color: "red").source == .network) }
        #expect(scene.kinds == [])
    }

    @Test(.fault(103)) func `What several processes load, evict and clear at the same time is what was stored`()
        async throws
    {
        let count = rounds(250, slow: 10_000)
        let programs = try (1...3).map { seed in
            try probe("capacity,900000", "churn,\(seed),\(count)", "evict")
        }
        let client = scene.client(capacity: 900_000)
        var (hits, round) = (0, 0)
        // The others may have ended before this process has loaded anything twice.
        while programs.contains(where: \.isRunning) || hits == 0 && round < 200 {
            let size = [100, 5_000, 70_000][round % 3]
            let path = "\(round % 9)?size=\(size)\(round % 9 < 3 ? "&vary" : "")"
            let answer = try await client.load(path, color: "\(round / 9 % 3)")
            #expect(answer.isWhole)
            if answer.source == .cache { hits += 1 }
            round += 1
        }
        for program in programs {
            let ending = try await program.ending()
            #expect(ending.status == 0)
            #expect(ending.lines == ["churned with hits"])
        }
        #expect(hits > 0)
        #expect(scene.kinds == [])
        // Nothing that is removed or half written is left.
        client.proxy.cache?.waitForEviction()
        let paths = try FileManager.default.subpathsOfDirectory(atPath: scene.cacheFolder.path)
        #expect(paths.filter { $0.contains("tmp-") || $0.hasPrefix(".") } == [])
    }

    @Test(.fault(103), .enabled(if: CookieProbe.runsSlowTests, "ERRAND_SLOW_TESTS is not 1"))
    func `Processes that are killed at any moment leave the others a folder that works`() async throws {
        let client = scene.client(capacity: 900_000)
        var random = SplitMix(seed: 101)
        for seed in 1...60 {
            let program = try probe("capacity,900000", "churn,\(seed),100000")
            let turns = Int.random(in: 1...60, using: &random)
            await suspend(while: scene.hasNoSession && program.isRunning)
            for round in 0..<turns {
                let path = "\(round % 9)?size=\([100, 5_000, 70_000][round % 3])\(round % 9 < 3 ? "&vary" : "")"
                #expect(try await client.load(path, color: "1").isWhole)
            }
            program.stop()
            _ = try await program.ending()
        }
        #expect(scene.kinds == [])
    }
}

extension CacheFolderScene {
    fileprivate var hasNoSession: Bool {
        let names = try? FileManager.default.contentsOfDirectory(atPath: cacheFolder.path)
        return names?.contains { !$0.hasPrefix(".") } != true
    }
}
