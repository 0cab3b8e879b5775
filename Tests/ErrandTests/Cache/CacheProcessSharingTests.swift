import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
        let count = CookieProbe.runsSlowTests ? 10_000 : 250
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
