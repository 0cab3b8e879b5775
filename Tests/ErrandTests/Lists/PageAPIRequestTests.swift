import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A list neither skips nor repeats a page", .hangLimit, .timeLimit(.minutes(10)))
struct PageAPIRequestTests {
    struct ItemPage: PageResponse, Sendable {
        enum CodingKeys: String, CodingKey {
            case items = "list"
            case totalItems = "totalRow"
        }

        var items: [Int]
        var totalItems: Int?
    }

    final class Numbers: PageAPIRequest<ItemPage>, APIManager {
        let path = "/numbers"
        let method = HTTPMethod.get
        override var strategy: any PageStrategy { .pageNumber(size: 10) }
    }

    let server = NumberServer(count: 35)
    let screen = Screen(params: ["shop": 7])

    private func numbers() -> Numbers {
        Numbers(delegate: screen, paramSource: screen, proxy: APIProxy(fake: server.transport))
    }

    @Test func `A list is loaded from its first page to its end`() async {
        let list = numbers()
        #expect(!list.hasMore)
        list.reload()
        #expect(list.refreshState.isLoading)
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<10))
        #expect(list.totalCount == 35)
        while list.loadNextPage() != nil { #expect(await screen.ending() == .success) }
        #expect(list.items == Array(0..<35))
        #expect(list.appendState.isEnd)
        #expect(!list.hasMore)
        #expect(list.loadNextPage() == nil)
        #expect(server.queries == (1...4).map { "page=\($0)&pageSize=10&shop=7" })
    }

    @Test func `A list of arrays by offset shows no item twice`() async {
        let list = OffsetNumbers(delegate: screen, proxy: APIProxy(fake: server.transport))
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        server.insertAtStart()
        while list.loadNextPage() != nil { #expect(await screen.ending() == .success) }
        #expect(list.items == Array(0..<35))
    }

    @Test func `loadData on a list is a reload`() async {
        let list = numbers()
        list.loadData()
        #expect(await screen.ending() == .success)
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        list.loadData()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<10))
        #expect(list.hasMore)
    }

    @Test(.fault(49)) func `A hundred calls while a page is loading send one request`() async {
        let list = numbers()
        list.reload()
        let reloading = list.loadNextPage()
        #expect(reloading == list.loads.first)
        #expect(await screen.ending() == .success)
        let ids = Set((0..<100).map { _ in list.loadNextPage() })
        #expect(ids.count == 1)
        #expect(await screen.ending() == .success)
        #expect(server.queries.count == 2)
        #expect(list.items.count == 20)
    }

    @Test(.fault(48)) func `After a failure of page 3 a retry loads only page 3`() async {
        let list = numbers()
        for _ in 0..<2 {
            list.loadNextPage()
            #expect(await screen.ending() == .success)
        }
        server.failNextRequest()
        list.loadNextPage()
        #expect(await screen.ending() == .failure(.http))
        #expect(list.appendState.error?.type == .http)
        #expect(list.items.count == 20)
        #expect(list.hasMore)
        #expect(list.retry() != nil)
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<30))
        #expect(server.queries.suffix(2) == ["page=3&pageSize=10&shop=7", "page=3&pageSize=10&shop=7"])
        #expect(list.retry() == nil)
    }

    @Test func `A failed refresh keeps the items and the position`() async {
        let list = numbers()
        for _ in 0..<2 {
            list.loadNextPage()
            #expect(await screen.ending() == .success)
        }
        server.failNextRequest()
        list.reload()
        #expect(await screen.ending() == .failure(.http))
        #expect(list.refreshState.error?.type == .http)
        #expect(list.items == Array(0..<20))
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<30))
        #expect(list.retry() != nil)
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<10))
    }

    @Test(.fault(49)) func `A refresh supersedes the next page, which is ignored`() async {
        let list = numbers()
        list.reload()
        #expect(await screen.ending() == .success)
        let append = list.loadNextPage()
        let refresh = list.reload()
        #expect(append != refresh)
        #expect(list.refreshState.isLoading && !list.appendState.isLoading)
        #expect(await screen.endings(2) == [.cancelled, .success])
        #expect(list.items == Array(0..<10))
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<20))
    }

    @Test func `A cancelled page can be loaded again`() async {
        let list = numbers()
        list.reload()
        #expect(await screen.ending() == .success)
        list.loadNextPage()
        list.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        #expect(!list.appendState.isLoading)
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<20))
    }

    @Test(.fault(47), .fault(81)) func `A total that is too small loses no item`() async {
        let list = numbers()
        server.announce(total: 5)
        while list.loadNextPage() != nil { #expect(await screen.ending() == .success) }
        #expect(list.appendState.isEnd)
        #expect(list.items == Array(0..<35))
    }

    @Test(.fault(47)) func `A total that is too large ends the list with its empty page`() async {
        let list = numbers()
        server.announce(total: 1000)
        while list.loadNextPage() != nil { #expect(await screen.ending() == .success) }
        #expect(list.items == Array(0..<35))
        #expect(list.loadNextPage() == nil)
    }

    @Test func `An invalid strategy fails the load before it is sent`() async {
        final class Nothing: PageAPIRequest<[Int]>, APIManager {
            let path = "/numbers"
            let method = HTTPMethod.get
            override var strategy: any PageStrategy { .pageNumber(size: 0) }
        }
        let list = Nothing(delegate: screen, proxy: APIProxy(fake: server.transport))
        list.reload()
        #expect(await screen.ending() == .failure(.invalidRequest))
        #expect(list.refreshState.error?.type == .invalidRequest)
        #expect(server.queries.isEmpty)
    }
}
