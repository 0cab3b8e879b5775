import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Lists over sockets", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct PageLiveTests {
    struct Issue: Decodable, Sendable {
        let number: Int
        let title: String
    }

    final class Issues: PageAPIRequest<[Issue]>, APIManager {
        let path = "/repos/octokit-fixture-org/paginate-issues/issues"
        let method = HTTPMethod.get
        override var strategy: any PageStrategy { .link(sizeKey: "per_page", size: 3) }
        override var headers: HTTPHeaders { ["Authorization": "token 0000000000000000000000000000000000000001"] }
        override var itemID: ItemID<Issue>? { ItemID(\.number) }
    }

    /// The strategy of the long list.
    enum Way: CaseIterable {
        case number, offset, cursor, link

        var strategy: any PageStrategy {
            switch self {
            case .number: .pageNumber(size: 3)
            case .offset: .offset(limit: 3)
            case .cursor: .cursor("after", next: .header("X-Next-Cursor"))
            case .link: .link
            }
        }
    }

    final class LongList: PageAPIRequest<[Int]>, APIManager {
        let path = "/long"
        let method = HTTPMethod.get
        var customStrategy: any PageStrategy = .pageNumber()
        override var strategy: any PageStrategy { customStrategy }
        override var headers: HTTPHeaders { ["X-Secret": "31d4d96e"] }
    }

    private func list(_ kind: TransportKind, _ server: FixtureServer, _ strategy: any PageStrategy) throws -> LongList {
        let list = LongList(proxy: try proxy(kind, server))
        list.customStrategy = strategy
        return list
    }

    private func proxy(_ kind: TransportKind, _ server: FixtureServer) throws -> APIProxy {
        var service = APIService(baseURL: server.baseURL)
        service.envelope = nil
        return APIProxy(service: service, transport: try kind.make())
    }

    @Test(.enabled(if: SharedData.octokit.exists, "no shared data"), arguments: TransportKind.allCases)
    func `The recorded issues are loaded by links, in five pages`(_ kind: TransportKind) async throws {
        let recorded = try OctokitRecording()
        let server = try recorded.serve()
        let issues = Issues(proxy: try proxy(kind, server))
        var pages: [[Int]] = []
        for try await page in issues.pages() { pages.append(page.map(\.number)) }
        #expect(pages == [[13, 12, 11], [10, 9, 8], [7, 6, 5], [4, 3, 2], [1]])
        #expect(issues.items.allSatisfy { $0.title == "Test issue \($0.number)" })
        #expect(server.requests.map(\.target) == recorded.exchanges.map(\.path))
        #expect(server.requests.allSatisfy { $0.header("Authorization")?.hasPrefix("token 0") == true })
    }

    @Test(arguments: TransportKind.allCases, Way.allCases)
    func `24 pages are loaded to their end`(_ kind: TransportKind, _ way: Way) async throws {
        let server = try LongServer(count: 71).serve()
        let list = try list(kind, server, way.strategy)
        var pages = 0
        for try await page in list.pages() {
            pages += 1
            #expect(page.count == (pages < 24 ? 3 : 2))
        }
        #expect(pages == 24)
        #expect(list.items == Array(0..<71))
        #expect(server.totalRequests == 24)
        #expect(list.loadNextPage() == nil)
    }

    @Test(.fault(80), arguments: TransportKind.allCases)
    func `A link is sent with its percent-encoding unchanged`(_ kind: TransportKind) async throws {
        let links = [
            ("</items?filter[q]=a%20b&page=2>", "/items?filter%5Bq%5D=a%20b&page=2"),
            ("< ?q=a|b&c=x%3D%3D >", "/long?q=a%7Cb&c=x%3D%3D"), ("</x%20y z/../ü%2f>", "/%C3%BC%2f"),
            ("<//HOST/x/../y?z=/../%7e>", "/y?z=/../%7e"),
        ]
        for (link, target) in links {
            let server = try FixtureServer.start { request in
                guard request.target == "/long" else { return .json(bytes: "[2]".utf8) }
                let place = request.header("Host") ?? ""
                return .json(bytes: "[1]".utf8).adding("Link", link.replacing("HOST", with: place) + "; rel=next")
            }
            #expect(try await list(kind, server, LinkStrategy()).allItems() == [1, 2])
            #expect(server.requests.last?.target == target)
        }
    }

    @Test(.fault(50), arguments: TransportKind.allCases)
    func `A link to another origin is not requested`(_ kind: TransportKind) async throws {
        let other = try FixtureServer.start { _ in .json(bytes: "[9]".utf8) }
        let server = try FixtureServer.start { _ in
            .json(bytes: "[1]".utf8).adding("Link", "<\(other.url("/long?page=2").absoluteString)>; rel=next")
        }
        let list = try list(kind, server, LinkStrategy())
        let error = await #expect(throws: APIError.self) { try await list.allItems() }
        #expect(error?.type == .security)
        #expect(list.items == [1])
        #expect(list.appendState.error?.type == .security)
        #expect(server.totalRequests == 1)
        #expect(other.totalConnections == 0)
    }

    @Test(.fault(50), arguments: TransportKind.allCases)
    func `A link to the same page or an earlier page is not followed`(_ kind: TransportKind)
        async throws
    {
        for target in ["/long", "/long?page=2"] {
            let server = try FixtureServer.start { request in
                let page = request.queryValue("page")
                let next = page == nil ? target : page == "2" ? "?page=3" : target
                return .json(bytes: "[\(page ?? "1")]".utf8).adding("Link", "<\(next)>; rel=next")
            }
            let list = try list(kind, server, LinkStrategy())
            let error = await #expect(throws: APIError.self) { try await list.allItems() }
            #expect(error?.type == .decoding)
            #expect(error?.reason?.contains("named before") == true)
            #expect(server.totalRequests == (target == "/long" ? 2 : 3))
        }
    }

    @Test(.fault(50), arguments: TransportKind.allCases)
    func `A server that repeats its first page is detected`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .json(bytes: "[1,2,3]".utf8) }
        for strategy in [PageNumberStrategy(size: 3), OffsetStrategy(limit: 3)] as [any PageStrategy] {
            server.removeRecordedRequests()
            let list = try list(kind, server, strategy)
            let error = await #expect(throws: APIError.self) { try await list.allItems() }
            #expect(error?.type == .decoding)
            #expect(error?.reason?.contains("repeatedly") == true)
            #expect(server.requests.count == 4)
        }
    }

    @Test(.fault(51), arguments: TransportKind.allCases)
    func `A cursor is sent back byte by byte`(_ kind: TransportKind) async throws {
        let cursors = [
            "a&b=c", "#top", "line\nbreak\r\n", "100%25", "100%", "x%3D%3D", "a|b [%5b]", "ü 壶+/==", "../",
            "\u{0}\u{7F}",
            "{x}", "\"'<>",
        ]
        let server = try FixtureServer.start { request in
            let index = request.queryValue("cursor").map { cursors.firstIndex(of: $0) ?? 99 } ?? -1
            let next = cursors.indices.contains(index + 1) ? cursors[index + 1] : nil
            return .json(["next": next, "page": "\(index)"])
        }
        final class Cursors: PageAPIRequest<CursorPage>, APIManager {
            let path = "/cursors"
            let method = HTTPMethod.get
            override var strategy: any PageStrategy { .cursor() }
        }
        let list = Cursors(proxy: try proxy(kind, server))
        #expect(try await list.allItems() == (-1..<cursors.count).map(String.init))
    }
}

/// A page with one string and a cursor.
struct CursorPage: PageResponse, Sendable {
    let next: String?
    let page: String
    var items: [String] { [page] }
    var nextCursor: String? { next }
}

/// Recorded responses of GitHub, replayed by method and path.
struct OctokitRecording: Decodable {
    struct Exchange: Decodable, Sendable {
        let method: String
        let path: String
        let status: Int
        let headers: [String: JSONValue]
        let response: JSONValue
    }

    let exchanges: [Exchange]

    init() throws {
        exchanges = try SharedData.octokit.json("paginate-issues/normalized-fixture.json")
    }

    /// A server with its origin in the links.
    func serve() throws -> FixtureServer {
        let bodies = try exchanges.map { [UInt8](try JSONEncoder().encode($0.response)) }
        return try FixtureServer.start { [exchanges] request in
            let found = exchanges.firstIndex { $0.path == request.target && $0.method.uppercased() == request.method }
            guard let found else { return Response.json(bytes: "[]".utf8, status: 404) }
            let link = exchanges[found].headers["link"]?.string ?? ""
            let host = "http://\(request.header("Host") ?? "")"
            return Response.json(bytes: bodies[found], status: exchanges[found].status)
                .adding("Link", link.replacing("https://api.github.com", with: host))
        }
    }
}

/// Serves the numbers from 0, three a page, for each strategy.
struct LongServer {
    let count: Int

    func serve() throws -> FixtureServer {
        let count = count
        return try FixtureServer.start { request in
            let number = request.queryValue("page").flatMap(Int.init).map { ($0 - 1) * 3 }
            let start = number ?? (request.queryValue("offset") ?? request.queryValue("after")).flatMap(Int.init) ?? 0
            let page = Array((0..<count).dropFirst(start).prefix(3))
            let response = Response.json(bytes: "\(page)".utf8)
            guard start + 3 < count else { return response }
            return response.adding("X-Next-Cursor", "\(start + 3)")
                .adding("Link", "</long?page=1>; rel=first, <?page=\(start / 3 + 2)>; rel=\"next\"")
        }
    }
}
