import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("The folder of a cache", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CacheFolderTests {
    private static let long = 300_000
    private let temporary: TemporaryFolder

    init() throws { temporary = try TemporaryFolder() }

    private func sample(_ tag: String, size: Int = 100, color: String? = nil) throws -> CacheFolderSample {
        try CacheFolderSample(
            URL("http://shop.test/goods"),
            headers: color == nil ? [:] : ["Vary": "X-Color"],
            requestHeaders: ["X-Color": color],
            body: .counting(size, from: tag.utf8.first ?? 0)
        )
    }

    private func names() throws -> [String] {
        let session = temporary.url.appending(path: "session")
        return try FileManager.default.subpathsOfDirectory(atPath: session.path).sorted()
    }

    @Test(arguments: [0, 1, 65_536, 65_537, long])
    func `A body of any length is read as it was stored, and replaced without a rest`(_ size: Int) throws {
        let folder = try CacheFolder(in: temporary)
        for tag in ["a", "b", "c"] {
            let sample = try sample(tag, size: size)
            try sample.store(in: folder)
            #expect(folder.bodies(sample.key) == [sample.body])
            #expect(try names().count == (size > CacheFile.longestInlineBody ? 2 : 1))
        }
    }

    @Test(arguments: [100, long]) func `What varies and what does not replace each other without a rest`(
        _ size: Int
    ) throws {
        let folder = try CacheFolder(in: temporary)
        let plain = try sample("a", size: size)
        let variants = try ["red", "blue"].map { try sample($0, size: size, color: $0) }
        let filesOfOne = size > CacheFile.longestInlineBody ? 2 : 1
        for _ in 0..<2 {
            try plain.store(in: folder)
            #expect(folder.bodies(plain.key) == [plain.body])
            #expect(try names().count == filesOfOne)
            for variant in variants { try variant.store(in: folder) }
            #expect(Set(folder.bodies(plain.key)) == Set(variants.map(\.body)))
            // With the folder of the variants.
            #expect(try names().count == 1 + 2 * filesOfOne)
        }
        folder.remove(plain.key)
        #expect(folder.bodies(plain.key).isEmpty)
        #expect(try names().isEmpty)
    }

    @Test func `Of the lines by which a response varies, only what says nothing of the user is written`() throws {
        let folder = try CacheFolder(in: temporary)
        let lines: HeaderLines = ["Cookie": "sid=secret", "Authorization": "Bearer secret", "Accept-Language": "de-AT"]
        let varying = lines.map(\.name).joined(separator: ", ")
        func sample(_ cookie: String) throws -> CacheFolderSample {
            try CacheFolderSample(
                URL("http://shop.test/goods"),
                headers: ["Vary": varying],
                requestHeaders: ["Cookie": cookie, "Authorization": "Bearer secret", "Accept-Language": "de-AT"],
                body: Data(cookie.utf8)
            )
        }
        for cookie in ["sid=secret", "sid=other-secret"] { try sample(cookie).store(in: folder) }
        let session = temporary.url.appending(path: "session")
        let files = try names().map { session.appending(path: $0) }.filter { !$0.hasDirectoryPath }
        let contents = try files.compactMap { file -> String? in
            guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { return nil }
            return String(decoding: try Data(contentsOf: file), as: UTF8.self)
        }
        #expect(contents.count == 2 && contents.allSatisfy { $0.contains("de-at") })
        // The bodies have the cookies.
        #expect(contents.filter { $0.contains("Bearer") || $0.components(separatedBy: "secret").count > 2 } == [])
        #expect(Set(folder.bodies(try sample("").key)).count == 2)
    }

    @Test func `A cache of any capacity stores`() async throws {
        let scene = try await CacheFolderScene()
        let client = await scene.client(capacity: .max)
        for isStored in [false, true] {
            let response = try await client.load("1?size=100")
            #expect((response.source == .cache) == isStored)
        }
    }

    #if os(Linux)
    @Test func `A cache keeps no folder open for each of many accounts`() throws {
        let folder = temporary.url.appending(path: "cache")
        let cache = APICache(folder: folder)
        let kept = try #require(cache.session("kept"))
        for number in 0..<200 { #expect(cache.session("session-\(number)") != nil) }
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter { name in
            let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
            return path?.hasPrefix(folder.path) == true
        }
        #expect(open.count <= 33)
        #expect(cache.session("kept") === kept)
    }
    #endif

    @Test(arguments: [0o700, 0o777]) func `What others may have put into the folder is not removed`(_ mode: Int) throws
    {
        let rest = temporary.url.appending(path: ".removed-1/d")
        try FileManager.default.createDirectory(at: rest, withIntermediateDirectories: true)
        chmod(temporary.url.path, mode_t(mode))
        APICache(folder: temporary.url).waitForEviction()
        #expect(FileManager.default.fileExists(atPath: rest.path) == (mode == 0o777))
    }

    @Test(arguments: [100, long]) func `Of one key, the 32 variants are kept that were used last`(_ size: Int) throws {
        let folder = try CacheFolder(in: temporary)
        let session = temporary.url.appending(path: "session")
        let samples = try (0..<40).map { try sample("\($0)", size: size, color: "\($0)") }
        var known: Set<String> = []
        for (number, sample) in samples.enumerated() {
            try sample.store(in: folder)
            for name in try names() where known.insert(name).inserted {
                try session.appending(path: name).setModificationTime(1_000_000 + number)
            }
            if number == 20 {
                let first = folder.entries(sample.key).first { $0.stored.selection == samples[0].stored.selection }
                folder.didUse(try #require(first))
            }
        }
        let kept = Set(folder.entries(samples[0].key).compactMap { $0.stored.selection.lines.first?.value })
        let colors = (9..<40).map(String.init) + ["0"]
        #expect(kept == Set(colors.map { Checksum.name(of: Array($0.utf8)) }))
        #expect(try names().count == 1 + 32 * (size > CacheFile.longestInlineBody ? 2 : 1))
    }

    @MainActor @Test(arguments: [100, 70_000])
    func `A lookup reads no body of a variant that another request has`(_ size: Int) async throws {
        let scene = try CacheFolderScene()
        let path = "0?size=\(size)&vary"
        try await scene.store("old", path, color: "blue")
        for name in try scene.files {
            let file = try scene.sessionFolder.appending(path: name)
            // A lookup that reads its body reports it, and removes it.
            if name.contains("~") {
                try FileManager.default.removeItem(at: file)
            } else if size < CacheFile.longestInlineBody {
                let bytes = try Data(contentsOf: file)
                try (bytes.dropLast() + [bytes[bytes.endIndex - 1] ^ 1]).write(to: file)
            }
        }
        let rest = try scene.files
        #expect(try await scene.client().load(path, color: "red").source == .network)
        #expect(try await scene.client().load(path, color: "red").source == .cache)
        #expect(try scene.files.filter(rest.contains) == rest)
        #expect(scene.kinds == [])
        #expect(try await scene.client().load(path, color: "blue").source == .network)
        #expect(try await scene.client().load(path, color: "blue").source == .cache)
    }

    @Test(.fault(108)) func `A body that is being read while it is evicted or replaced is whole`() throws {
        let folder = try CacheFolder(in: temporary)
        let (old, new) = (try sample("a", size: 1 << 20), try sample("b", size: 1 << 20))
        for remove in [
            { folder.remove(old.key) }, { try new.store(in: folder) },
            { [temporary] in
                for group in CacheFileGroup.all(in: temporary.url.appending(path: "session").path) { group.remove() }
            },
        ] {
            try old.store(in: folder)
            let entry = try #require(folder.entries(old.key).first)
            guard case .file(let file) = entry.body else { throw POSIXError(.EINVAL) }
            var (content, isRemoved) = (Data(), false)
            let isWhole = try file.copy { (bytes) throws in
                content.append(contentsOf: bytes)
                if !isRemoved { try remove() }
                isRemoved = true
            }
            #expect(isWhole)
            #expect(content == old.body)
            #expect(folder.bodies(old.key) != [old.body])
        }
    }

    /// Another process replaces the response between the two calls that open its files.
    @Test(.fault(103)) func `A lookup that comes between the files of a replacement removes nothing new`() async throws
    {
        let folder = try CacheFolder(in: temporary)
        let samples = try (0..<4).map { try sample("\($0)", size: 70_000) }
        let (key, end) = (samples[0].key, Gate())
        async let reader: Void = onSeparateThread {
            while !end.isOpen { _ = folder.entries(key) }
        }
        var lost = 0
        for round in 0..<300 {
            try samples[round % 4].store(in: folder)
            if folder.bodies(key) != [samples[round % 4].body] { lost += 1 }
        }
        end.open()
        try await reader
        #expect(lost == 0)
    }

    @Test(.fault(103)) func `Responses that are stored at the same time leave one of them, and no other files`()
        async throws
    {
        let folder = try CacheFolder(in: temporary)
        let samples = try (0..<8).map { try sample("\($0)", size: 70_000) }
        for _ in 0..<10 {
            try await withThrowingTaskGroup { group in
                for sample in samples {
                    group.addTask { try sample.store(in: folder) }
                }
                try await group.waitForAll()
            }
            let bodies = folder.bodies(samples[0].key)
            #expect(bodies.count == 1 && samples.contains { $0.body == bodies[0] })
        }
        #expect(try names().count == 2)
    }

    @Test(.fault(108)) func `Opening a cache reads none of ten thousand responses`() throws {
        let session = temporary.url.appending(path: "cache/session")
        let folder = temporary.url.appending(path: "cache")
        try FileManager.default.createDirectory(at: session, withIntermediateDirectories: true)
        // Each one would be damaged, and removed.
        for number in 0..<10_000 {
            let descriptor = open(session.appending(path: "\(number)").path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            try #require(descriptor >= 0)
            close(descriptor)
        }
        let before = try accessTime(of: session)
        let cache = APICache(folder: folder)
        let opened = try #require(cache.session("session"))
        cache.waitForEviction()
        #expect(try accessTime(of: session) == before)
        let sample = try sample("a")
        cache.store(sample.stored, .data(sample.body), sample.key, in: opened)
        #expect(opened.bodies(sample.key) == [sample.body])
        #expect(try FileManager.default.contentsOfDirectory(atPath: session.path).count == 10_001)
    }

    @Test(.startsPrograms) func `The default folder is below XDG_CACHE_HOME, or else below the home folder`() async {
        #if os(Linux)
        await #expect(processExitsWith: .success) {
            let name = ProcessInfo.processInfo.processName
            setenv("XDG_CACHE_HOME", "/xdg/caches", 1)
            #expect(APICache.defaultFolder.path == "/xdg/caches/\(name)/errand")
            // The XDG Base Directory Specification ignores a relative one.
            setenv("XDG_CACHE_HOME", "caches", 1)
            #expect(APICache.defaultFolder.path == URL.homeDirectory.appending(path: ".cache/\(name)/errand").path)
        }
        #endif
    }

    /// Of a folder, which changes when its names are read.
    private func accessTime(of folder: URL) throws -> [Int] {
        var status = stat()
        try #require(stat(folder.path, &status) == 0)
        #if os(Linux)
        return [status.st_atim.tv_sec, status.st_atim.tv_nsec]
        #else
        return [status.st_atimespec.tv_sec, status.st_atimespec.tv_nsec]
        #endif
    }
}

@MainActor @Suite("The capacity of a cache", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CacheFolderCapacityTests {
    private static let capacity = 2_000_000
    private let scene: CacheFolderScene

    init() throws { scene = try CacheFolderScene() }

    private func bytesOnDisk() throws -> Int {
        let session = try scene.sessionFolder
        return try scene.files.reduce(0) { total, name in
            let values = try session.appending(path: name).resourceValues(forKeys: [.fileSizeKey])
            return total + (values.fileSize ?? 0)
        }
    }

    @Test(.fault(108)) func `The least recently used responses are removed first`() async throws {
        let paths = (0..<20).map { "\($0)?size=100000" }
        for (index, path) in paths.enumerated() {
            try await scene.store("old", path)
            // In an order of its own.
            try scene.setLastUse(1_000_000 + 7 * index % 20, of: path)
        }
        let client = scene.client(capacity: Self.capacity)
        // A hit is a use.
        #expect(try await client.load(paths[0]).source == .cache)
        for number in 20..<23 { _ = try await client.load("\(number)?size=100000") }
        client.proxy.cache?.waitForEviction()
        #expect(try bytesOnDisk() <= Self.capacity)
        let kept = try paths.filter { path in
            let name = CacheKey(CacheFolderClient.url(path)).name
            return try scene.files.contains { $0.hasPrefix(name) }
        }
        let byUse = paths.dropFirst().enumerated().sorted { 7 * ($0.offset + 1) % 20 < 7 * ($1.offset + 1) % 20 }
        #expect(kept.count > 10 && kept.count < 19)
        #expect(Set(kept) == Set(byUse.map(\.element).suffix(kept.count - 1) + [paths[0]]))
        for path in kept { #expect(try await client.load(path).isWhole) }
        #expect(scene.kinds == [])
    }

    @Test(.fault(108)) func `All responses together are no longer than the capacity, with heads and variants`()
        async throws
    {
        let client = scene.client(capacity: Self.capacity)
        for number in 0..<150 {
            let size = [100, 10_000, 70_000, 200_000, 200_001][number % 5]
            let color = number % 3 == 0 ? "\(number)" : nil
            let path = "\(color == nil ? number : number % 4)?size=\(size)\(color == nil ? "" : "&vary")"
            #expect(try await client.load(path, color: color).isWhole)
            guard number % 20 == 19 else { continue }
            client.proxy.cache?.waitForEviction()
            // What is stored before the next count is a tenth at most, and one response.
            #expect(try bytesOnDisk() <= Self.capacity * 13 / 10)
        }
        // An eviction removes files while they are listed.
        client.proxy.cache?.waitForEviction()
        #expect(try bytesOnDisk() > Self.capacity / 2)
        // More than a tenth is not stored: the last one would be kept by an eviction, as the one before is.
        let names = ["148?size=200000", "149?size=200001"].map { CacheKey(CacheFolderClient.url($0)).name }
        let files = try scene.files
        #expect(names.map { name in files.contains { $0.hasPrefix(name) } } == [true, false])
    }

    @Test(.startsPrograms) func `A file with a date far from the present is evicted like any other`() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            for (number, time) in [Int.min, 1, 1_700_000_000, .max].enumerated() {
                for name in ["\(number)", "\(CacheFolder.temporary)\(number)"] {
                    let file = folder.url.appending(path: name)
                    try Data(count: 1_000).write(to: file)
                    try file.setModificationTime(time)
                }
            }
            for count in (0..<4).reversed() {
                CacheFileGroup.removeLeastRecentlyUsed(in: [folder.url.path], beyond: 1_000 * Int64(count) + 500)
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
                #expect(names.sorted() == (4 - count..<4).map(String.init))
            }
        }
    }

    /// An app that stores little in each of its processes.
    @Test(.fault(108)) func `Many short lives of a cache keep its capacity`() async throws {
        for number in 0..<40 {
            let client = scene.client(capacity: Self.capacity)
            _ = try await client.load("\(number)?size=150000")
            client.proxy.cache?.waitForEviction()
        }
        #expect(try bytesOnDisk() <= Self.capacity * 11 / 10)
    }
}
