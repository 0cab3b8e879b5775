import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

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
        let first = CacheKey(CacheFolderClient.url(paths[0])).name
        #expect(try scene.files.allSatisfy { !$0.hasPrefix(first) })
        let last = CacheKey(CacheFolderClient.url(paths[3])).name
        #expect(try scene.files.contains { $0.hasPrefix(last) })
        #expect(scene.kinds == [])
    }
}
