import ErrandTesting
import FixtureServer
import Foundation
import Testing
import TestSupport

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

    @Test func `A folder is removed with the last object that has it open, unless something is stored`() throws {
        var folders = [try CacheFolder(in: temporary), try CacheFolder(in: temporary)]
        folders.removeFirst()
        #expect(folders[0].isCurrent)
        let sample = try sample("a")
        try sample.store(in: folders[0])
        folders = [try CacheFolder(in: temporary)]
        #expect(folders[0].bodies(sample.key) == [sample.body])
        folders[0].remove(sample.key)
        folders = []
        #expect(throws: (any Error).self) { try names() }
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

    @Test func `Of several variants the one with the newest date is first, whichever has arrived first`() throws {
        let folder = try CacheFolder(in: temporary)
        let dates = (0..<5).map { "Sat, 28 Nov 2026 12:00:5\(9 - $0) GMT" }
        let samples = try dates.map { date in
            try CacheFolderSample(
                URL("http://shop.test/goods"),
                headers: ["Vary": "X-Color", "Date": date],
                requestHeaders: ["X-Color": date],
                body: .counting(100, from: 0)
            )
        }
        for order in [samples, samples.reversed()] {
            for sample in order { try sample.store(in: folder) }
            #expect(folder.entries(samples[0].key).map { $0.stored.headers["Date"] } == dates)
            folder.remove(samples[0].key)
        }
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
            var (content, isRemoved) = (Data(), false)
            let isWhole = try entry.body.copy { (bytes) throws in
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
        let path = session.path
        // Each one would be damaged, and removed. They are links to one file, because new files take the kernel much longer.
        let descriptor = open("\(path)/0", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        close(descriptor)
        for number in 1..<10_000 { try #require(link("\(path)/0", "\(path)/\(number)") == 0) }
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

    @Test func `Sessions in which nothing is stored leave no folders`() throws {
        let folder = temporary.url.appending(path: "cache")
        let sample = try sample("a")
        let names = {
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { !$0.hasPrefix(".") }
        }
        do {
            let cache = APICache(folder: folder, capacity: 10_000)
            for number in 0..<200 {
                let session = try #require(cache.session("session-\(number)"))
                if number == 100 { cache.store(sample.stored, .data(sample.body), sample.key, in: session) }
            }
            cache.waitForEviction()
            #expect(try names().count < 64)
        }
        #expect(try names() == ["session-100"])
        let cache = APICache(folder: folder, capacity: 0)
        let session = try #require(cache.session("session-100"))
        #expect(session.bodies(sample.key) == [sample.body])
    }

    @Test func `A session that another cache has just made is not removed before something is stored in it`() throws {
        let folder = temporary.url.appending(path: "cache")
        let (cache, other, sample) = (APICache(folder: folder), APICache(folder: folder), try sample("a"))
        let session = try #require(cache.session("new"))
        let old = try #require(other.session("old"))
        // What is counted at the first time removes empty folders.
        other.store(sample.stored, .data(sample.body), sample.key, in: old)
        other.waitForEviction()
        cache.store(sample.stored, .data(sample.body), sample.key, in: session)
        #expect(session.bodies(sample.key) == [sample.body])
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

    @Test func `A response that is too long removes the older ones of its key, and no newer one`() throws {
        let temporary = try TemporaryFolder()
        let cache = APICache(folder: temporary.url.appending(path: "cache"), capacity: 100_000)
        let session = try #require(cache.session("session"))
        let sample = try CacheFolderSample(URL("http://shop.test/a"), body: Data("short".utf8))
        for isNewer in [true, false] {
            session.remove(sample.key)
            var (stored, long) = (sample.stored, sample.stored)
            stored.requestDate += isNewer ? 1 : -1
            (long.responseDate, long.bodyLength) = (long.responseDate + 2, 50_000)
            cache.store(stored, .data(sample.body), sample.key, in: session)
            cache.store(long, .data(Data(count: 50_000)), sample.key, in: session)
            #expect(session.entries(sample.key).count == (isNewer ? 1 : 0))
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

    /// One in the future is of a clock that was set back.
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
            let order = [0, 3, 1, 2]
            for count in (0..<3).reversed() {
                CacheFileGroup.removeLeastRecentlyUsed(in: [folder.url.path], beyond: 1_000 * Int64(count) + 500)
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
                #expect(Set(names) == Set(order.suffix(count).map(String.init)))
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

@Suite("No response of another request", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CacheFolderPropertyTests {
    /// A random request from a small world, in which many are nearly the same.
    private struct Sample {
        private static let urls = ["http://shop.test", "https://shop.test", "http://shop.test:81"].flatMap { host in
            [
                "/", "/a", "/a/", "/A", "/%61", "/a?", "/a?q=1", "/a?q=1&r=2", "/a?r=2&q=1", "/a?q=1%20", "/aq=1",
            ].map { URL(host + $0) }
        }
        private static let methods: [HTTPMethod] = [.get, .post, .put, HTTPMethod(rawValue: "get")]
        private static let bodies = ["", "1", "\n", "GET", "{\"a\":1}", "{\"a\":1} "]
        private static let policies: [CachePolicy] = [.elseLoad, .version(1), .version(2), .version(11)]
        private static let values = [nil, "", "a", "b", "a,b", "1"]

        /// The numbers of the choices, which tell one request from each other one; the last two are those of its lines.
        let identity: [Int]
        let key: CacheKey
        let request: HTTPRequest
        var session: Int { identity[0] }
        var varied: ArraySlice<Int> { identity.suffix(2) }

        init(using random: inout SplitMix) throws {
            var choices: [Int] = []
            func pick<Element>(_ elements: [Element]) -> Element {
                choices.append(Int(random.next() % UInt64(elements.count)))
                return elements[choices[choices.count - 1]]
            }
            _ = pick([0, 1])
            let (url, isRule) = (pick(Self.urls), pick([false, true]))
            let method = isRule ? pick(Self.methods) : .get
            let body = isRule ? pick(Self.bodies) : ""
            let policy = isRule ? pick(Self.policies) : .http
            let (accept, color) = (pick(Self.values), pick(Self.values))
            request = HTTPRequest(
                method,
                url,
                headers: ["Accept": accept, "X-Color": color],
                body: body.isEmpty ? .empty : .data(Data(body.utf8))
            )
            key = isRule ? try #require(CacheKey(request, by: policy)) : CacheKey(url)
            identity = choices
        }

        var selection: CacheSelection {
            get throws { try #require(CacheSelection(request, by: ["Vary": "Accept, X-Color"])) }
        }
    }

    @Test(.fault(105))
    func `Of many random requests, two have the same key and selection only if they are the same`() throws {
        var random = SplitMix(seed: 105)
        var known: [String: (key: [UInt8], of: [Int])] = [:]
        for _ in 0..<rounds(100_000) {
            let sample = try Sample(using: &random)
            // Of one session, whose folder is its own.
            let lines = try sample.selection.lines.map { $0.value ?? "\u{1}" }.joined(separator: "\u{0}")
            let name = "\(sample.session) \(sample.key.name) \(lines)"
            if let (key, identity) = known[name] {
                #expect(key == sample.key.bytes)
                #expect(identity == sample.identity)
            }
            known[name] = (sample.key.bytes, sample.identity)
        }
        #expect(known.count > rounds(10_000))
    }

    @Test(.fault(105)) func `A selection matches the requests with the same lines alone`() throws {
        var random = SplitMix(seed: 106)
        let samples = try (0..<150).map { _ in try Sample(using: &random) }
        var matches = 0
        for stored in samples {
            let selection = try stored.selection
            for sample in samples {
                let isMatch = selection.matches(sample.request, language: nil)
                #expect(isMatch == (stored.varied == sample.varied))
                if isMatch { matches += 1 }
            }
        }
        #expect(matches > 300)
    }

    @Test(.fault(105)) func `The names of 10,000 keys are different`() {
        var names: Set<String> = []
        for number in 0..<10_000 {
            names.insert(CacheKey(URL(filePath: "/goods/\(number)")).name)
        }
        #expect(names.count == 10_000)
    }

    @Test(.fault(105)) func `What a folder has under a key is what was stored there last`() throws {
        let temporary = try TemporaryFolder()
        let folders = try (0..<2).map { number in
            try CacheFolder(temporary.url.appending(path: "\(number)").path, name: "\(number)") {
                Issue.record("\($0)")
            }
        }
        var random = SplitMix(seed: 107)
        var last: [[Int]: Data] = [:]
        var hits = 0
        for number in 0..<rounds(3_000) {
            let sample = try Sample(using: &random)
            let folder = folders[sample.session]
            let entries = folder.entries(sample.key).filter {
                $0.stored.selection.matches(sample.request, language: nil)
            }
            #expect(entries.map { $0.body.data() } == (last[sample.identity].map { [$0] } ?? []))
            hits += entries.count
            guard number % 3 != 2 else { continue }
            let size = number % 50 == 0 ? 70_000 : number % 40
            let body = Data("\(number)".utf8) + Data(repeating: UInt8(truncatingIfNeeded: number), count: size)
            let stored = try CacheFolderSample(
                sample.key,
                sample.request,
                headers: ["Vary": "Accept, X-Color"],
                body: body
            )
            try stored.store(in: folder)
            last[sample.identity] = body
        }
        #expect(hits > rounds(100) / 2)
    }

    @Test(.fault(105)) func `Sessions of other origins, environments and jars have other names`() throws {
        let temporary = try TemporaryFolder()
        var services: [APIService] = []
        for base in ["http://shop.test/", "https://shop.test/", "http://shop.test:81/", "http://shop.test.example/"] {
            for environment in ["", "test", "Test"] {
                var service = APIService(baseURL: URL(base))
                if !environment.isEmpty {
                    service.environment = APIEnvironment(environment, baseURL: URL(base))
                }
                services.append(service)
            }
        }
        let jars = [
            CookieJar(), CookieJar(), CookieJar(file: temporary.file),
            CookieJar(file: temporary.url.appending(path: "other")),
        ]
        let names = services.flatMap { service in
            jars.flatMap { jar in
                [true, false].map { CacheSession.name(of: service, jar, sendsCookies: $0) }
            }
        }
        #expect(Set(names).count == names.count)
        let again = services.map { CacheSession.name(of: $0, CookieJar(file: temporary.file), sendsCookies: true) }
        #expect(again.allSatisfy(names.contains))
        for name in names {
            #expect(jars.count { name.hasPrefix($0.cacheName + "-") } == 1)
        }
    }

    @Test(.fault(105)) func `After a logout the sessions of a jar are others, for all jars with its file`() throws {
        let temporary = try TemporaryFolder()
        let service = APIService(baseURL: URL("http://shop.test/"))
        func name(_ jar: CookieJar) -> String { CacheSession.name(of: service, jar, sendsCookies: true) }
        let jar = CookieJar(file: temporary.file)
        var names = [name(jar)]
        for _ in 0..<3 {
            jar.removeAll()
            names.append(name(jar))
            #expect(name(CookieJar(file: temporary.file)) == names.last)
        }
        #expect(Set(names).count == names.count)
    }

    @Test(.fault(105)) func `A jar below the home folder is another one than that of the same path elsewhere`() {
        let path = "/errand-\(UUID().uuidString)/cookies.txt"
        let jars = [CookieJar(file: URL(filePath: NSHomeDirectory() + path)), CookieJar(file: URL(filePath: path))]
        #expect(jars[0].cacheName != jars[1].cacheName)
    }
}

@Suite("A cache for many tasks", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CacheFolderConcurrencyTests {
    private static let turns = rounds(200, slow: 2_000)

    /// One of 12 keys, of which each third varies by a line.
    private static func sample(_ round: Int) throws -> CacheFolderSample {
        let (key, color) = (round % 12, "\(round % 5)")
        let text = "\(key) \(key % 3 == 0 ? color : "-") "
        return try CacheFolderSample(
            URL("http://shop.test/\(key)"),
            headers: key % 3 == 0 ? ["Vary": "X-Color"] : [:],
            requestHeaders: ["X-Color": color],
            body: Data(String(repeating: text, count: 1 + round * 7_919 % (round % 4 == 0 ? 30_000 : 40)).utf8)
        )
    }

    private static func isOf(_ sample: CacheFolderSample, _ entry: CacheEntry) -> Bool {
        // It may be replaced or removed, but what is read is whole.
        guard let data = entry.body.data() else { return false }
        let text = String(decoding: sample.body.prefix(6), as: UTF8.self).prefix { $0 != " " }
        return String(decoding: data.prefix(6), as: UTF8.self).hasPrefix(text + " ")
            && (entry.stored.selection.lines.isEmpty
                || entry.stored.selection.lines[0].value
                    == Checksum.name(of: Array(data.dropFirst(text.utf8.count + 1).prefix(1))))
    }

    @Test(.fault(103)) func `What many tasks store, read, update and remove is never a response of another key`()
        async throws
    {
        let (temporary, errors) = (try TemporaryFolder(), CacheErrorRecorder())
        let folders = try (0..<2).map { _ in
            try CacheFolder(in: temporary, report: errors.record)
        }
        let hits = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask {
                    let (folder, turns) = (folders[task % 2], Self.turns)
                    var hits = 0
                    for round in (0..<turns).map({ $0 * (task * 2 + 1) + task }) {
                        let sample = try Self.sample(round)
                        for entry in folder.entries(sample.key) {
                            #expect(Self.isOf(sample, entry))
                            hits += 1
                            folder.didUse(entry)
                            if round % 31 == 0 { try folder.update(entry, to: entry.stored) }
                            if round % 37 == 0 { folder.remove(entry) }
                        }
                        if round % 41 == 0 { folder.remove(sample.key) }
                        // Where another task removes the folder of the variants at this moment, nothing is stored.
                        do throws(Errand.SystemError) {
                            _ = try folder.store(sample.stored, .data(sample.body), sample.key)
                        } catch {
                            #expect(error.number == ENOENT)
                        }
                        if round % 43 == 0 {
                            let path = temporary.url.appending(path: "session").path
                            for group in CacheFileGroup.all(in: path).prefix(3) { group.remove() }
                        }
                    }
                    return hits
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(hits > Self.turns)
        #expect(errors.kinds == [])
    }

    @MainActor @Test(.fault(103))
    func `Loads, hits, evictions, clears and logouts of two caches of one folder are independent`() async throws {
        let scene = try CacheFolderScene()
        let clients = [scene.client(capacity: 400_000), scene.client(capacity: 400_000)]
        let tasks = (0..<6).map { task in
            Task { @MainActor in
                var sources: [APIResponse.Source] = []
                for round in (0..<Self.turns).map({ $0 * (task * 2 + 1) + task }) {
                    let client = clients[(round + task) % 2]
                    if round % 67 == 3 { client.proxy.cache?.removeAll() }
                    let path = "\(round % 7)?size=\([100, 3_000, 39_000][round % 3])" + (round % 7 < 3 ? "&vary" : "")
                    let policy = round % 9 == 0 ? CachePolicy.reload : .http
                    let answer = try await client.load(path, color: "\(round % 4)", policy: policy)
                    #expect(answer.isWhole && answer.tag == "network", "\(path)")
                    sources.append(answer.source)
                }
                return sources
            }
        }
        var sources: [APIResponse.Source] = []
        for task in tasks { sources += try await task.value }
        #expect(sources.contains(.cache))
        #expect(sources.contains(.network))
        #expect(scene.kinds == [])
    }
}
