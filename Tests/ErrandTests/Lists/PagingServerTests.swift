import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Every item once, whatever page size and total the server has", .hangLimit, .timeLimit(.minutes(10)))
struct PagingServerTests {
    typealias Rules = PagingServer.Rules

    final class Numbers: PageAPIRequest<PageModel<Int>>, APIManager {
        let path = "/numbers"
        let method = HTTPMethod.get
        var customStrategy: any PageStrategy = .pageNumber()
        override var strategy: any PageStrategy { customStrategy }
    }

    private func list(_ server: PagingServer, opening: Int? = nil) -> Numbers {
        let list = Numbers(proxy: APIProxy(fake: server.transport, service: .sample { $0.envelope = nil }))
        list.customStrategy = server.rules.strategy(opening: opening)
        return list
    }

    /// Loads pages until there are no more, at most a hundred.
    private func loadAll(_ list: Numbers, _ place: Comment, _ load: () -> RequestID?) async throws {
        for _ in 0..<100 {
            guard let id = load() else { return }
            let error = await list.ending(of: id).error
            await list.waitUntilIdle()
            try #require(error == nil, place)
        }
    }

    @Test(
        .fault(81),
        arguments: [
            Rules(size: .capped, customSize: 100, asked: 200, total: .both),
            Rules(customSize: 20, asked: 10, total: .both),
            Rules(size: .ignored, customSize: 20, asked: 50, total: .both),
            Rules(size: .ignored, customSize: 20, asked: 10, total: .both, pastEnd: .notFound),
            Rules(size: .ignored, customSize: 20, asked: 10, total: .pagesOfAskedSize, pastEnd: .notFound),
            Rules(size: .capped, customSize: 100, asked: 200, pastEnd: .notFound),
        ]
    )
    func `137 items are 137 items`(_ rules: Rules) async throws {
        let list = list(PagingServer(rules, count: 137))
        #expect(try await list.allItems() == Array(0..<137))
        #expect(list.appendState.isEnd)
        #expect(list.loadNextPage() == nil)
    }

    @Test(.fault(81), .fault(47)) func `For generated servers`() async throws {
        for seed in UInt64(1)...(CookieProbe.runsSlowTests ? 4_000 : 400) {
            var random = SplitMix(seed: seed)
            let server = PagingServer(Rules(using: &random), count: Int.random(in: 0...30, using: &random))
            let list = list(server)
            let items = try? await list.allItems()
            let count = server.rules.change == .none ? server.count : server.served
            try #require(items == Array(0..<count), "seed \(seed), \(server.rules): \(list.items)")
            try #require(server.remaining == 0, "seed \(seed), \(server.rules)")
            try #require(list.appendState.isEnd, "seed \(seed), \(server.rules)")
            #expect(server.requests <= max(1, list.pageCount) + 1, "seed \(seed), \(server.rules)")
            guard server.rules.change == .none else { continue }
            list.refreshAll()
            await list.waitUntilIdle()
            try #require(list.items == items && list.refreshState.isIdle, "seed \(seed), \(server.rules): all anew")
        }
    }

    @Test(.fault(81)) func `In both directions from the middle`() async throws {
        for seed in UInt64(1)...(CookieProbe.runsSlowTests ? 2_000 : 200) {
            var random = SplitMix(seed: seed)
            var rules = Rules(using: &random)
            (rules.way, rules.change) = (Bool.random(using: &random) ? .number : .offset, .none)
            if rules.pastEnd == .lastPage { rules.pastEnd = .notFound }
            let server = PagingServer(rules, count: Int.random(in: 1...30, using: &random))
            let size = rules.size.effective(requested: rules.asked, own: rules.customSize)
            let start = Int.random(in: 0..<server.count, using: &random)
            let list = list(server, opening: rules.way == .number ? start / size + 1 : start)
            _ = try await list.ending(of: list.reload()).get()
            let place: Comment = "seed \(seed), from \(start), \(rules)"
            try await loadAll(list, place) { list.loadPreviousPage() }
            try await loadAll(list, place) { list.loadNextPage() }
            try #require(list.items == Array(0..<server.count), "seed \(seed), from \(start), \(rules): \(list.items)")
            try #require(list.appendState.isEnd && list.prependState.isEnd, "seed \(seed), \(rules)")
        }
    }

    @Test(.fault(81)) func `Through a window that moves down, up and down again`() async throws {
        for seed in UInt64(1)...(CookieProbe.runsSlowTests ? 1_000 : 100) {
            var random = SplitMix(seed: seed)
            var rules = Rules(using: &random)
            rules.change = .none
            let server = PagingServer(rules, count: Int.random(in: 0...30, using: &random))
            let list = list(server)
            list.maxPages = Int.random(in: 1...3, using: &random)
            for way in ["down", "up", "refresh", "down", "refresh"] {
                switch way {
                case "down": try await loadAll(list, "seed \(seed), \(rules)") { list.loadNextPage() }
                case "up": try await loadAll(list, "seed \(seed), \(rules)") { list.loadPreviousPage() }
                default: list.refreshAll()
                }
                await list.waitUntilIdle()
                let expected = Array(0..<server.count)
                let items = list.hasPrevious ? expected.suffix(list.items.count) : expected.prefix(list.items.count)
                try #require(list.items == Array(items), "seed \(seed), \(way), \(rules): \(list.items)")
                if way == "down" { try #require(list.items.last == expected.last, "seed \(seed), \(rules)") }
            }
        }
    }

    @Test(.fault(81)) func `With an exact total nothing is asked for past the end`() async throws {
        for (count, size) in [(7, 20), (20, 20), (40, 20), (41, 20), (0, 20)] {
            let server = PagingServer(
                Rules(customSize: size, asked: size, total: .items, pastEnd: .notFound),
                count: count
            )
            for strategy in [
                PageNumberStrategy(sizeKey: "size", size: size, totalIsExact: true),
                OffsetStrategy(offsetKey: "start", limitKey: "size", limit: size, totalIsExact: true),
            ] as [any PageStrategy] {
                let (list, before) = (list(server), server.requests)
                list.customStrategy = strategy
                #expect(try await list.allItems() == Array(0..<count))
                #expect(server.requests - before == max(1, (count + size - 1) / size))
            }
        }
    }

    @Test(.fault(81)) func `A 404 where more is promised is a failure, and its page can be asked for again`()
        async throws
    {
        let screen = Screen()
        let server = PagingServer(Rules(total: .items, error: 2, pastEnd: .notFound), count: 10)
        let list = list(server)
        let error = await #expect(throws: APIError.self) { try await list.allItems() }
        #expect(error?.status == 404)
        #expect(list.items == Array(0..<10) && list.hasMore)
        list.delegate = screen
        list.retry()
        #expect(await screen.ending() == .failure(.http))
    }

    @Test(.fault(81)) func `A 404 that is the end is a success without rows`() async throws {
        let (screen, interceptor) = (Screen(), InterceptorSpy())
        let list = list(PagingServer(Rules(pastEnd: .notFound), count: 10))
        (list.delegate, list.interceptor) = (screen, interceptor)
        for _ in 1...3 {
            list.loadNextPage()
            #expect(await screen.ending() == .success)
        }
        #expect(list.items == Array(0..<10) && list.insertedRows.isEmpty && list.appendState.isEnd)
        #expect(list.pageCount == 2 && list.error == nil && list.rawResponse?.status == 404)
        #expect(list.response?.items == Array(5..<10), "the newest page that came")
        #expect(interceptor.calls.suffix(3) == [.didReceive(404), .willEnd("success"), .didEnd("success")])
    }

    @Test(.fault(81)) func `A page without items behind the last one is none`() async throws {
        let list = list(PagingServer(Rules(), count: 10))
        var pages: [[Int]] = []
        for try await page in list.pages() { pages.append(page) }
        #expect(pages == [Array(0..<5), Array(5..<10)])
        #expect(list.pageCount == 2)
    }
}
