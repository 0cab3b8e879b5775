import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
