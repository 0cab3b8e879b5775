import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
    func `Of 100,000 random requests, two have the same key and selection only if they are the same`() throws {
        var random = SplitMix(seed: 105)
        var known: [String: (key: [UInt8], of: [Int])] = [:]
        for _ in 0..<100_000 {
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
        #expect(known.count > 10_000)
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
        for number in 0..<3_000 {
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
        #expect(hits > 100)
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

    @Test(.fault(105)) func `A jar below the home folder is another one than that of the same path elsewhere`() {
        let path = "/errand-\(UUID().uuidString)/cookies.txt"
        let jars = [CookieJar(file: URL(filePath: NSHomeDirectory() + path)), CookieJar(file: URL(filePath: path))]
        #expect(jars[0].cacheName != jars[1].cacheName)
    }
}

@Suite("A cache for many tasks", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CacheFolderConcurrencyTests {
    private static let rounds = CookieProbe.runsSlowTests ? 2_000 : 150

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
                    let (folder, rounds) = (folders[task % 2], Self.rounds)
                    var hits = 0
                    for round in (0..<rounds).map({ $0 * (task * 2 + 1) + task }) {
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
                        do throws(SystemError) {
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
        #expect(hits > Self.rounds)
        #expect(errors.kinds == [])
    }

    @MainActor @Test(.fault(103))
    func `Loads, hits, evictions, clears and logouts of two caches of one folder are independent`() async throws {
        let scene = try CacheFolderScene()
        let clients = [scene.client(capacity: 400_000), scene.client(capacity: 400_000)]
        let tasks = (0..<6).map { task in
            Task { @MainActor in
                var sources: [APIResponse.Source] = []
                for round in (0..<Self.rounds).map({ $0 * (task * 2 + 1) + task }) {
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
