import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("A damaged file of a cache", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CacheFaultDamageTests {
    private let temporary: TemporaryFolder
    private let errors = CacheErrorRecorder()
    private let folder: CacheFolder

    init() throws {
        temporary = try TemporaryFolder()
        folder = try CacheFolder(in: temporary, report: errors.record)
    }

    /// In memory or in a file of its own, plain or one of several variants.
    enum Shape: CaseIterable {
        case short, long, variant
    }

    private func sample(_ shape: Shape) throws -> CacheFolderSample {
        try CacheFolderSample(
            URL("http://shop.test/a"),
            headers: ["ETag": "\"1\"", "Vary": shape == .variant ? "Accept" : nil],
            requestHeaders: ["Accept": "b"],
            body: Data((0..<(shape == .long ? 70_000 : 50)).map { UInt8(truncatingIfNeeded: $0 / 3) })
        )
    }

    /// That of the head, or of a body of its own.
    private func file(of sample: CacheFolderSample, isBody: Bool = false) throws -> URL {
        let session = temporary.url.appending(path: "session")
        let names = try FileManager.default.subpathsOfDirectory(atPath: session.path).filter { name in
            let values = try session.appending(path: name).resourceValues(forKeys: [.isDirectoryKey])
            return values.isDirectory == false
        }
        let name = try #require(names.first { $0.contains("~") == isBody })
        return session.appending(path: name)
    }

    /// Expects that a file is a miss, removed and reported.
    private func expectMiss(_ sample: CacheFolderSample, _ file: URL, _ comment: Comment) {
        #expect(folder.bodies(sample.key).isEmpty, comment)
        #expect(errors.take() == [.unreadable], comment)
        var status = stat()
        #expect(lstat(file.path, &status) != 0, comment)
        // There is nothing to report any more.
        #expect(folder.bodies(sample.key).isEmpty, comment)
        #expect(errors.take() == [], comment)
    }

    @Test(.fault(100), arguments: Shape.allCases)
    func `A flipped bit anywhere, and each shorter length, is a miss`(_ shape: Shape) throws {
        let sample = try sample(shape)
        try sample.store(in: folder)
        let file = try file(of: sample)
        let bytes = try Data(contentsOf: file)
        for index in bytes.indices {
            var flipped = bytes
            flipped[index] ^= 1 << (index % 8)
            try flipped.write(to: file)
            expectMiss(sample, file, "bit \(index % 8) of byte \(index)")
            try bytes[..<index].write(to: file)
            expectMiss(sample, file, "\(index) bytes")
        }
        try bytes.write(to: file)
        #expect(folder.bodies(sample.key) == [sample.body])
    }

    @Test(.fault(100)) func `Foreign bytes, and those of a newer version, are a miss`() throws {
        let sample = try sample(.short)
        try sample.store(in: folder)
        let file = try file(of: sample)
        let bytes = try Data(contentsOf: file)
        var random = SplitMix(seed: 100)
        let noise = Data((0..<100_000).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        let greatest = Data(repeating: 255, count: 8)
        // Lengths beyond the end, too.
        let lengths = [16, 24].map { Data(bytes[..<$0]) + greatest + Data(bytes[($0 + 8)...]) }
        let longer = bytes + Data([0])
        let other: [Data] = [
            Data(), Data("HTTP/1.1 200 OK\r\n\r\n".utf8), Data(repeating: 0, count: 4_096), noise,
            Data("errand 2".utf8) + bytes.dropFirst(8), Data("errand 1".utf8) + noise,
        ]
        for foreign in other + lengths + [longer] {
            try foreign.write(to: file)
            expectMiss(sample, file, "\(Array(foreign.prefix(20)))")
        }
        // Of another key, whose name is the same by accident.
        let second = try CacheFolderSample(URL("http://shop.test/b"), body: Data("b".utf8))
        let name = file.deletingLastPathComponent().appending(path: second.key.name)
        try bytes.write(to: name)
        #expect(folder.bodies(second.key).isEmpty)
    }

    enum Thing: CaseIterable {
        case link, brokenLink, ownLink, pipe, socket, folder, device, unreadable

        static let ofAnyUser = allCases.filter { $0 != .unreadable }
    }

    private func put(_ thing: Thing, at file: URL, beside other: URL) throws {
        let path = file.path
        try FileManager.default.removeItem(at: file)
        switch thing {
        case .link: #expect(symlink(other.path, path) == 0)
        case .brokenLink: #expect(symlink("nothing", path) == 0)
        case .ownLink: #expect(symlink(file.lastPathComponent, path) == 0)
        case .pipe: #expect(mkfifo(path, 0o600) == 0)
        case .socket: #expect(mknod(path, S_IFSOCK | 0o600, 0) == 0)
        case .folder: #expect(mkdir(path, 0o700) == 0)
        case .device: #expect(symlink("/dev/zero", path) == 0)
        case .unreadable:
            try Data(contentsOf: other).write(to: file)
            #expect(chmod(path, 0) == 0)
        }
    }

    @Test(.fault(100), arguments: Shape.allCases, Thing.ofAnyUser)
    func `What is no file at its place is a miss and removed`(_ shape: Shape, _ thing: Thing) throws {
        try expectMiss(shape, with: thing)
    }

    @Test(.fault(100), .enabled(if: !CookieProbe.isRoot, "root reads each file"), arguments: Shape.allCases)
    func `A file that cannot be read is a miss and removed`(_ shape: Shape) throws {
        try expectMiss(shape, with: .unreadable)
    }

    private func expectMiss(_ shape: Shape, with thing: Thing) throws {
        let sample = try sample(shape)
        try sample.store(in: folder)
        let (file, outside) = (try file(of: sample), temporary.url.appending(path: "outside"))
        let bytes = try Data(contentsOf: file)
        try bytes.write(to: outside)
        try put(thing, at: file, beside: outside)
        if thing == .folder {
            // As that of variants of which there are none.
            #expect(folder.bodies(sample.key).isEmpty)
            #expect(errors.take() == [])
        } else {
            expectMiss(sample, file, "\(thing)")
        }
        #expect(try Data(contentsOf: outside) == bytes)
        try sample.store(in: folder)
        #expect(folder.bodies(sample.key) == [sample.body])
        // The same at the time of a store.
        try put(thing, at: try self.file(of: sample), beside: outside)
        try sample.store(in: folder)
        #expect(folder.bodies(sample.key) == [sample.body])
    }

    @Test(.fault(107), .fault(100), arguments: Thing.ofAnyUser.filter { $0 != .pipe })
    func `What is no file at the place of a body is no hit`(_ thing: Thing) throws {
        try expectNoHit(with: thing)
    }

    @Test(.fault(107), .fault(100), .enabled(if: !CookieProbe.isRoot, "root reads each file"))
    func `A body that cannot be read is no hit`() throws {
        try expectNoHit(with: .unreadable)
    }

    private func expectNoHit(with thing: Thing) throws {
        let sample = try sample(.long)
        try sample.store(in: folder)
        let (file, outside) = (try file(of: sample, isBody: true), temporary.url.appending(path: "outside"))
        try Data("outside".utf8).write(to: outside)
        try put(thing, at: file, beside: outside)
        for entry in folder.entries(sample.key) {
            #expect(entry.body.data() == nil)
            folder.removeDamaged(entry)
        }
        #expect(folder.entries(sample.key).isEmpty)
        try sample.store(in: folder)
        #expect(folder.bodies(sample.key) == [sample.body])
        #expect(try Data(contentsOf: outside) == Data("outside".utf8))
    }

    @Test(.fault(107), .startsPrograms) func `Nothing waits for a pipe at the place of a body`() async {
        #if os(macOS) || os(Linux)
        await #expect(processExitsWith: .success) {
            let temporary = try TemporaryFolder()
            let folder = try CacheFolder(in: temporary) { _ in }
            let sample = try CacheFolderSample(URL("http://shop.test/a"), body: Data(repeating: 1, count: 70_000))
            try sample.store(in: folder)
            let session = temporary.url.appending(path: "session")
            let names = try FileManager.default.contentsOfDirectory(atPath: session.path)
            let body = session.appending(path: try #require(names.first { $0.contains("~") }))
            try FileManager.default.removeItem(at: body)
            try #require(mkfifo(body.path, 0o600) == 0)
            // The process ends if it waits.
            alarm(10)
            #expect(folder.bodies(sample.key).allSatisfy { $0 == nil })
        }
        #endif
    }

    @Test(.fault(107)) func `A body of its own that is cut, longer or flipped is not read as whole`() throws {
        let sample = try sample(.long)
        try sample.store(in: folder)
        let file = try file(of: sample, isBody: true)
        let bytes = try Data(contentsOf: file)
        let flips = stride(from: 0, to: bytes.count, by: 997).map { index in
            var flipped = bytes
            flipped[index] ^= 1 << (index % 8)
            return flipped
        }
        let cuts = [0, 1, 7, 8, 4_096, 65_536, bytes.count - 8, bytes.count - 1].map { bytes.prefix($0) }
        for damaged in flips + cuts + [bytes + [0], bytes + bytes] {
            try damaged.write(to: file)
            #expect(folder.bodies(sample.key) == [nil])
        }
        try bytes.write(to: file)
        #expect(folder.bodies(sample.key) == [sample.body])
        try FileManager.default.removeItem(at: file)
        #expect(folder.bodies(sample.key).isEmpty)
    }

    @Test(.fault(100)) func `A link in the place of the folder of variants leads nowhere`() throws {
        let sample = try sample(.variant)
        try sample.store(in: folder)
        let variants = try file(of: sample).deletingLastPathComponent()
        let outside = temporary.url.appending(path: "outside")
        try FileManager.default.createDirectory(at: outside, withIntermediateDirectories: true)
        try Data("mine".utf8).write(to: outside.appending(path: "file"))
        try FileManager.default.removeItem(at: variants)
        try #require(symlink(outside.path, variants.path) == 0)
        #expect(folder.bodies(sample.key).isEmpty)
        folder.remove(sample.key)
        #expect(FileManager.default.contents(atPath: outside.appending(path: "file").path) == Data("mine".utf8))
        try sample.store(in: folder)
        #expect(folder.bodies(sample.key) == [sample.body])
    }

    @Test(.fault(100), arguments: [true, false])
    func `A file in the place of the folder of variants is removed`(_ isRead: Bool) throws {
        let sample = try sample(.variant)
        try sample.store(in: folder)
        let variants = try file(of: sample).deletingLastPathComponent()
        try FileManager.default.removeItem(at: variants)
        try Data("file".utf8).write(to: variants)
        if isRead { #expect(folder.bodies(sample.key).isEmpty) }
        try sample.store(in: folder)
        #expect(folder.bodies(sample.key) == [sample.body])
    }

    /// Other parts of the app have all descriptors for a moment.
    @Test(.fault(95), .startsPrograms) func `Without a free descriptor nothing that is whole is removed`() async {
        #if os(Linux)
        await #expect(processExitsWith: .success) {
            let temporary = try TemporaryFolder()
            let errors = CacheErrorRecorder()
            let folder = try CacheFolder(in: temporary, report: errors.record)
            let samples = try [nil, "Accept"].map { name in
                let url = URL("http://shop.test/\(name ?? "a")")
                return try CacheFolderSample(url, headers: ["Vary": name], body: Data(repeating: 1, count: 70_000))
            }
            for sample in samples {
                try sample.store(in: folder)
                for free: CInt in 0...2 {
                    try CacheDescriptorLimit.withFree(free) { _ = folder.entries(sample.key) }
                }
                #expect(folder.bodies(sample.key) == [sample.body])
            }
            #expect(errors.kinds == [])
        }
        #endif
    }
}

@MainActor @Suite("Loads with a damaged cache", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CacheFaultLoadTests {
    private static let longBody = Data.counting(300_000)
    private let scene: CacheFolderScene
    private let clock = ManualClock()
    private let server: FixtureServer

    init() throws {
        scene = try CacheFolderScene()
        server = try FixtureServer.start { request in
            let long = request.path == "/long"
            return .representation(
                of: .counting(long ? 300_000 : 100),
                etag: "\"1\"",
                headers: ["Cache-Control": "max-age=60"],
                to: request
            )
        }
    }

    private func proxy() -> APIProxy {
        let service = APIService(baseURL: server.baseURL)
        let proxy = APIProxy(
            service: service,
            cookies: CookieJar(file: scene.folder.file),
            clock: clock,
            cache: APICache(folder: scene.cacheFolder)
        )
        proxy.onError = scene.errors.record
        return proxy
    }

    private func load(_ path: String, _ proxy: APIProxy, policy: CachePolicy = .http) async throws -> APIResponse {
        let response = try await APIRequest(
            path,
            responseSerializer: ResponseSerializer { response, _ in response },
            options: APIRequestOptions(cachePolicy: policy),
            proxy: proxy
        ).value()
        #expect(response.body == Self.longBody.prefix(path == "/long" ? 300_000 : 100))
        return response
    }

    private func files(areBodies: Bool) throws -> [URL] {
        try scene.files.filter { $0.contains("~") == areBodies }.map { try scene.sessionFolder.appending(path: $0) }
    }

    enum Damage: CaseIterable {
        case removed, empty, cut, flipped, pipe

        static let ofBodies = [removed, empty, cut, flipped]
    }

    private func damage(_ file: URL, _ damage: Damage) throws {
        var bytes = try Data(contentsOf: file)
        bytes[bytes.count / 2] ^= 4
        try FileManager.default.removeItem(at: file)
        switch damage {
        case .removed: break
        case .empty: try Data().write(to: file)
        case .cut: try bytes.dropLast(3).write(to: file)
        case .flipped: try bytes.write(to: file)
        case .pipe: #expect(mkfifo(file.path, 0o600) == 0)
        }
    }

    @Test(.fault(100), arguments: ["/short", "/long"], Damage.allCases)
    func `A damaged response is a miss, which is reported, and replaced`(_ path: String, _ damage: Damage) async throws
    {
        let proxy = proxy()
        #expect(try await load(path, proxy).source == .network)
        #expect(try await load(path, proxy).source == .cache)
        try self.damage(try #require(files(areBodies: false).first), damage)
        #expect(try await load(path, proxy).source == .network)
        #expect(scene.kinds == (damage == .removed ? [] : [.unreadable]))
        #expect(server.requests.allSatisfy { $0.header("If-None-Match") == nil })
        #expect(try await load(path, proxy).source == .cache)
        #expect(server.totalRequests == 2)
    }

    @Test(.fault(107), arguments: [false, true], Damage.ofBodies)
    func `A response whose body is gone is requested again without conditions`(
        _ isStale: Bool,
        _ damage: Damage
    ) async throws {
        let proxy = proxy()
        #expect(try await load("/long", proxy).source == .network)
        if isStale { clock.advance(by: .seconds(3_600)) }
        try self.damage(try #require(files(areBodies: true).first), damage)
        #expect(try await load("/long", proxy).source == .network)
        #expect(server.requests.last?.header("If-None-Match") == nil)
        // A validated response has to be read to be found damaged.
        #expect(server.totalRequests == (isStale && [.empty, .cut, .flipped].contains(damage) ? 3 : 2))
        #expect(scene.kinds.allSatisfy { $0 == .unreadable } && scene.kinds.count <= 1)
        #expect(try await load("/long", proxy).source == .cache)
        #expect(try files(areBodies: true).count == 1)
    }

    /// The 304 is on its way while the body goes.
    @Test(.fault(107), arguments: Damage.ofBodies)
    func `A body that goes while it is validated is no part of a wrong response`(_ damage: Damage) async throws {
        let (arrived, gate) = (Gate(), Gate())
        let server = try FixtureServer.start { request in
            let response = Response.representation(
                of: .counting(300_000),
                etag: "\"1\"",
                headers: ["Cache-Control": "max-age=60"],
                to: request
            )
            guard request.header("If-None-Match") != nil else { return response }
            return response.preceded(by: .open(arrived), .pass(gate))
        }
        let proxy = proxy()
        proxy.defaultService?.baseURL = server.baseURL
        #expect(try await load("/long", proxy).source == .network)
        clock.advance(by: .seconds(3_600))
        async let response = load("/long", proxy)
        await arrived.opened()
        try self.damage(try #require(files(areBodies: true).first), damage)
        gate.open()
        // What is open stays whole, whatever happens to its name.
        #expect(try await response.source == .validated)
        _ = try await load("/long", proxy)
        _ = try await load("/long", proxy)
        #expect(scene.kinds.allSatisfy { $0 == .unreadable })
    }

    @Test(.fault(107), arguments: Damage.ofBodies)
    func `A download of a response whose body is gone gets its file from the network`(_ damage: Damage) async throws {
        let proxy = proxy()
        _ = try await load("/long", proxy)
        try self.damage(try #require(files(areBodies: true).first), damage)
        let target = scene.folder.url.appending(path: "target")
        for _ in 0..<2 {
            _ = try await APIRequest<DownloadedFile>("/long", destination: .file(target), proxy: proxy).value()
            #expect(try Data(contentsOf: target) == Self.longBody)
        }
        #expect(server.totalRequests == 2)
        #expect(try scene.folder.names.filter { $0.contains("target") } == ["target"])
    }

    @Test(.fault(100), arguments: [CachePolicy.elseLoad, .fallback, .first, .version(3), .time(.seconds(60))])
    func `With the rules of an app too, a damaged response is a miss`(_ policy: CachePolicy) async throws {
        let proxy = proxy()
        for (path, areBodies) in [("/short", false), ("/long", false), ("/long", true)] {
            _ = try await load(path, proxy, policy: policy)
            for file in try files(areBodies: areBodies) { try damage(file, .flipped) }
            _ = scene.errors.take()
            #expect(try await load(path, proxy, policy: policy).source == .network)
            // A body is read only when it is used.
            #expect(scene.kinds.contains(.unreadable) || policy == .fallback && areBodies)
            for file in try files(areBodies: false) { try FileManager.default.removeItem(at: file) }
        }
    }
}
