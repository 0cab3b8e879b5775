import ErrandTesting
import Foundation
import Observation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Windows of pages, and refreshes of all pages", .hangLimit, .timeLimit(.minutes(10)))
struct PageWindowTests {
    final class Numbers: PageAPIRequest<[Int]>, APIManager {
        let path = "/numbers"
        let method = HTTPMethod.get
        var customStrategy: any PageStrategy = .offset(limit: 10)
        var identifies = true
        var reform: ([Int]) -> [Int] = { $0 }
        func reformData(_ page: [Int]) -> [Int] { reform(page) }
        override var strategy: any PageStrategy { customStrategy }
        override var itemID: ItemID<Int>? { identifies ? ItemID(\.self) : nil }
    }

    final class CountedNumbers: PageAPIRequest<PageModel<Int>>, APIManager {
        let path = "/numbers"
        let method = HTTPMethod.get
        override var strategy: any PageStrategy { .pageNumber(size: 10) }
    }

    /// Applies the changes of a list to rows.
    final class Table: PageListObserver {
        private(set) var rows: [Int] = []
        private(set) var failures: [APIErrorType] = []
        private(set) var reloads = 0
        private(set) var changes = 0

        func pageListDidReload(_ request: BaseAPIRequest) {
            reloads += 1
            rows = (request as? Numbers)?.items ?? []
        }

        func pageList(_ request: BaseAPIRequest, didInsert inserted: Range<Int>, removing removed: Range<Int>) {
            changes += 1
            rows.removeSubrange(removed)
            rows.insert(contentsOf: ((request as? Numbers)?.items ?? [])[inserted], at: inserted.lowerBound)
        }

        func pageList(_ request: BaseAPIRequest, didFailWith error: APIError) { failures.append(error.type) }
    }

    let server = NumberServer(count: 45)
    let screen = Screen()
    let table = Table()
    let list: Numbers

    init() {
        list = Numbers(delegate: screen, proxy: APIProxy(fake: server.transport))
        list.prefetchDistance = 2
        list.pageObserver = table
    }

    private func load(_ pages: Int) async {
        for _ in 0..<pages {
            list.loadNextPage()
            #expect(await screen.ending() == .success)
        }
    }

    @Test func `A window moves down and up, and a table is updated row by row`() async {
        list.maxPages = 2
        await load(5)
        #expect(list.items == Array(30..<45))
        #expect(list.pageCount == 2)
        #expect(list.appendState.isEnd && !list.hasMore && list.hasPrevious)
        for first in [20, 10, 0] {
            list.loadPreviousPage()
            #expect(list.prependState.isLoading)
            #expect(await screen.ending() == .success)
            #expect(list.items == Array(first..<first + 20))
            #expect(table.rows == list.items)
        }
        #expect(list.loadPreviousPage() == nil)
        #expect(list.prependState.isEnd && !list.hasPrevious && list.hasMore)
        while list.loadNextPage() != nil { #expect(await screen.ending() == .success) }
        #expect(list.items == Array(30..<45))
        #expect(table.rows == list.items)
        #expect(table.reloads == 1)
        #expect(table.changes == 10)
    }

    @Test func `A list that starts at an offset is loaded in both directions`() async {
        list.customStrategy = .offset(limit: 10, startOffset: 25)
        list.identifies = false
        await load(1)
        while list.loadPreviousPage() != nil { #expect(await screen.ending() == .success) }
        while list.loadNextPage() != nil { #expect(await screen.ending() == .success) }
        #expect(list.items == Array(0..<45))
        #expect(table.rows == list.items)
        #expect(
            server.queries.map { $0.replacing("offset=", with: "").replacing("limit=", with: "") }
                == ["10&25", "10&15", "10&5", "10&0", "10&35", "10&45"]
        )
    }

    @Test func `A row that appears loads the previous page, and those before it while they add no row`() async {
        list.customStrategy = .offset(limit: 10, startOffset: 20)
        list.reform = { $0.filter { $0 < 5 || $0 >= 20 } }
        await load(1)
        list.itemAppeared(at: 0)
        await list.waitUntilIdle()
        #expect(server.queries.suffix(2) == ["limit=10&offset=10", "limit=10&offset=0"])
        #expect(list.items == Array(0..<5) + Array(20..<30))
        #expect(!list.hasPrevious && list.hasMore)
    }

    @Test func `At most three previous pages in a row are loaded without a row`() async {
        list.customStrategy = .offset(limit: 5, startOffset: 40)
        list.reform = { $0.filter { $0 < 5 || $0 >= 40 } }
        await load(1)
        list.itemAppeared(at: 0)
        await list.waitUntilIdle()
        #expect(server.queries.count == 4 && list.items == Array(40..<45))
        #expect(list.hasPrevious && list.prependState.isIdle)
    }

    @Test func `A window that loses its rows to a page before them loads the page after that`() async {
        let numbers = Lock(Array(0..<15))
        let transport = ScriptedTransport { request in
            let after = URLComponents(url: request.url, resolvingAgainstBaseURL: true)?.queryItems?.first?.value
            let rest = numbers.withLock(\.self).filter { $0 > after.flatMap { Int($0) } ?? -1 }
            let page = Array(rest.prefix(3))
            let more: HTTPHeaders = rest.count > 3 ? ["X-Next": "\(page[2])"] : [:]
            return HTTPResponse(status: 200, headers: more, body: Data("\(page)".utf8))
        }
        let service = APIService.sample { $0.envelope = nil }
        let list = Numbers(delegate: screen, proxy: APIProxy(fake: transport, service: service))
        list.customStrategy = CursorStrategy(cursorKey: "c", next: .header("X-Next"), startCursor: "-1")
        (list.maxPages, list.prefetchDistance) = (2, 0)
        list.reform = { $0.filter { ![0, 1, 3].contains($0) } }
        for _ in 0..<3 {
            list.loadNextPage()
            #expect(await screen.ending() == .success)
        }
        #expect(list.items == Array(4..<9))
        numbers.withLock { $0.removeAll { $0 == 2 } }
        list.itemAppeared(at: 0)
        await list.waitUntilIdle()
        #expect(list.items == [4, 5, 6])
    }

    @Test(arguments: [200, 404])
    func `A window of a list that has become shorter than its pages is loaded from the beginning`(_ status: Int) async {
        let isShort = Lock(false)
        let transport = ScriptedTransport { [server] request in
            let response = server.response(request)
            guard isShort.withLock(\.self), status == 404, response.body.count < 25 else { return response }
            return .status(404)
        }
        let list = Numbers(delegate: screen, proxy: APIProxy(fake: transport))
        list.maxPages = 2
        for _ in 0..<4 {
            list.loadNextPage()
            #expect(await screen.ending() == .success)
        }
        #expect(list.items == Array(20..<40))
        server.shorten(to: 6)
        isShort.withLock { $0 = true }
        list.refreshAll()
        await list.waitUntilIdle()
        #expect(list.items == Array(0..<6))
        #expect(list.refreshState.isIdle && !list.hasPrevious)
    }

    @Test(arguments: [true, false], [true, false])
    func `Rows that the app adds to each page hide no item`(_ identifies: Bool, _ isFirst: Bool) async {
        list.customStrategy = .offset(limit: 3, startOffset: 4)
        list.identifies = identifies
        let heading = Lock(0)
        list.reform = { page in
            let row = heading.withLock { number in
                number -= 1
                return number
            }
            return isFirst ? [row] + page : page + [row]
        }
        await load(1)
        while list.loadPreviousPage() != nil { #expect(await screen.ending() == .success) }
        #expect(Set(list.items).isSuperset(of: 0..<7))
        if identifies { #expect(list.items.filter { $0 >= 0 } == Array(0..<7)) }
    }

    @Test func `Previous pages without a row are counted anew after a reload`() async {
        list.customStrategy = .offset(limit: 5, startOffset: 40)
        list.reform = { $0.filter { $0 < 5 || $0 >= 40 } }
        for count in [4, 8] {
            list.reload()
            await list.waitUntilIdle()
            list.itemAppeared(at: 0)
            await list.waitUntilIdle()
            #expect(server.queries.count == count)
        }
    }

    @Test func `A refresh that begins again keeps its parameters, not those of a reload that has failed`() async {
        list.maxPages = 2
        list.loadData(params: ["q": "a"])
        #expect(await screen.ending() == .success)
        await load(3)
        server.failNextRequest("q=b")
        list.reload(params: ["q": "b"])
        await list.waitUntilIdle()
        #expect(list.refreshState.error?.type == .http)
        server.shorten(to: 6)
        list.refreshAll()
        await list.waitUntilIdle()
        #expect(list.items == Array(0..<6))
        #expect(server.queries.last?.contains("q=a") == true)
    }

    @Test func `A window adds no item again that it has dropped`() async {
        list.customStrategy = .offset(limit: 3, startOffset: 2)
        list.maxPages = 1
        server.shorten(to: 3)
        await load(1)
        for items in [[1], [0]] {
            list.loadPreviousPage()
            #expect(await screen.ending() == .success)
            #expect(list.items.first == items.first && list.items == list.items.sorted(), "\(list.items)")
        }
    }

    @Test func `A page to which the app adds a row, and of which it leaves out one, hides no other item`() async {
        list.customStrategy = .offset(limit: 4, startOffset: 2)
        list.maxPages = 3
        list.reform = { [-1 - $0[0]] + $0.filter { $0 != 3 } }
        await load(1)
        list.loadPreviousPage()
        #expect(await screen.ending() == .success)
        #expect(list.items == [-1, 0, 1, -3, 2, 4, 5])
    }

    @Test func `What another client inserts before a window pushes no item out of the page before it`() async {
        let numbers = Lock(Array(0..<10))
        let transport = ScriptedTransport { request in
            let offset = request.query["offset"]?.first.flatMap { Int($0) } ?? 0
            return .json("\(Array(numbers.withLock(\.self).dropFirst(offset).prefix(4)))")
        }
        let service = APIService.sample { $0.envelope = nil }
        let list = Numbers(delegate: screen, proxy: APIProxy(fake: transport, service: service))
        list.customStrategy = .offset(limit: 4, startOffset: 3)
        list.maxPages = 2
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        numbers.withLock { $0.insert(-1, at: 0) }
        list.loadPreviousPage()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(-1..<7))
    }

    @Test func `A page whose items the app sorts hides none, with an identity`() async {
        list.customStrategy = .offset(limit: 3, startOffset: 4)
        list.reform = { $0.reversed() }
        await load(1)
        while list.loadPreviousPage() != nil { #expect(await screen.ending() == .success) }
        #expect(list.items.sorted() == Array(0..<7))
    }

    @Test func `A negative total is that of a server that has not counted`() async {
        let list = CountedNumbers(proxy: list.proxy)
        server.announce(total: -1)
        list.loadData()
        await list.waitUntilIdle()
        #expect(list.totalCount == nil && list.items.count == 10 && list.hasMore)
    }

    @Test func `A previous page that fails can be loaded again`() async {
        list.customStrategy = .offset(limit: 10, startOffset: 10)
        await load(1)
        server.failNextRequest()
        list.loadPreviousPage()
        #expect(await screen.ending() == .failure(.http))
        #expect(list.prependState.error?.type == .http)
        #expect(table.failures == [.http])
        list.retry()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<20))
        #expect(list.retry() == nil)
    }

    @Test func `A window of no pages is refused`() async {
        list.maxPages = 0
        list.reload()
        #expect(await screen.ending() == .failure(.invalidRequest))
        #expect(server.queries.isEmpty)
    }

    @Test func `A window that is set to no pages while one loads keeps that page`() async {
        let gate = Latch()
        let transport = ScriptedTransport { [server] request in
            if request.url.query?.contains("offset=20") == true { await gate.waitIgnoringCancellation() }
            return server.response(request)
        }
        let list = Numbers(delegate: screen, proxy: APIProxy(fake: transport))
        for _ in 0..<2 {
            list.loadNextPage()
            #expect(await screen.ending() == .success)
        }
        list.loadNextPage()
        await suspend(while: transport.requests.count < 3)
        list.maxPages = 0
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(20..<30))
    }

    @Test func `A refresh of all pages replaces the list at once, without gaps and repetitions`() async {
        list.identifies = false
        await load(3)
        for _ in 0..<5 { server.insertAtStart() }
        let first = list.refreshAll()
        #expect(list.refreshState.isLoading)
        #expect(list.loadNextPage() == first)
        var counts: [Int] = []
        screen.onEvent = { [list] _, _ in
            counts.append(list.items.count { $0 == 0 })
            #expect(list.isLoading == (counts.count < 3))
        }
        #expect(await screen.endings(3) == [.success, .success, .success])
        screen.onEvent = nil
        #expect(counts == [1, 1, 6], "the list changes only with the last page")
        #expect(list.items == [0, 0, 0, 0, 0] + Array(0..<25))
        #expect(list.pageCount == 3)
        #expect(table.rows == list.items)
        #expect(table.reloads == 2)
        await load(2)
        #expect(list.items == [0, 0, 0, 0, 0] + Array(0..<45))
    }

    @Test func `A refresh with a failed page does not change the list, and a retry starts again`() async {
        await load(3)
        server.insertAtStart()
        server.failNextRequest("offset=10")
        list.refreshAll()
        #expect(await screen.endings(2) == [.success, .failure(.http)])
        #expect(list.refreshState.error?.type == .http)
        #expect(list.items == Array(0..<30))
        #expect(!list.isLoading)
        list.retry()
        #expect(await screen.endings(3) == [.success, .success, .success])
        #expect(list.items == Array(0..<29), "the inserted item is a second 0")
        #expect(server.queries.suffix(3).first == "limit=10&offset=0")
    }

    @Test func `A refresh of all pages can be cancelled, and superseded by a reload`() async {
        await load(3)
        screen.onEvent = { request, event in
            if event == .success { request.cancelAllRequests() }
        }
        list.refreshAll()
        #expect(await screen.endings(2) == [.success, .cancelled])
        #expect(list.items == Array(0..<30))
        #expect(!list.refreshState.isLoading)
        screen.onEvent = { [list, screen] _, _ in
            screen.onEvent = nil
            list.reload()
        }
        list.refreshAll()
        #expect(await screen.endings(3) == [.success, .cancelled, .success])
        #expect(list.items == Array(0..<10))
        list.refreshAll()
        #expect(await screen.ending() == .success)
        #expect(list.pageCount == 1)
    }

    @Test func `A refresh of a window starts at its first page`() async {
        list.maxPages = 2
        await load(4)
        list.refreshAll()
        #expect(await screen.endings(2) == [.success, .success])
        #expect(list.items == Array(20..<40))
        #expect(list.hasPrevious)
        list.loadPreviousPage()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(10..<30))
    }

    @Test func `A row near the end loads the next page, one in the middle does not`() async {
        await load(1)
        for row in [-1, 0, 5, 6, 10, 99] { list.itemAppeared(at: row) }
        #expect(!list.isLoading)
        for row in 7...9 { list.itemAppeared(at: row) }
        #expect(await screen.ending() == .success)
        #expect(server.queries.count == 2)
        server.failNextRequest()
        list.itemAppeared(at: 19)
        #expect(await screen.ending() == .failure(.http))
        list.itemAppeared(at: 19)
        #expect(!list.isLoading, "a failed page is loaded by a retry")
    }

    @Test func `A row near the beginning loads the dropped page`() async {
        list.maxPages = 2
        await load(3)
        list.itemAppeared(at: 3)
        #expect(!list.isLoading)
        list.itemAppeared(at: 2)
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<20))
    }

    @Test func `After a page without new items the next one is loaded for the same row`() async {
        await load(1)
        for number in (-10..<0).reversed() { server.insertAtStart(number) }
        list.itemAppeared(at: 9)
        #expect(await screen.endings(2) == [.success, .success])
        #expect(list.items == Array(0..<20))
        #expect(!list.isLoading)
    }

    /// Calls `act` at the next change of what `read` reads, before that change.
    private func onceChanged(_ read: () -> Void, _ act: @escaping @MainActor @Sendable () -> Void) {
        withObservationTracking(read) { MainActor.assumeIsolated(act) }
    }

    @Test func `A page requested between two loads of a refresh continues the refresh`() async {
        await load(3)
        list.refreshAll()
        onceChanged({ _ = list.refreshState }) { [list] in list.loadNextPage() }
        await list.waitUntilIdle()
        #expect(!list.refreshState.isLoading)
        #expect(list.pageCount == 3 && list.items == Array(0..<30))
    }

    @Test func `A page requested between two loads of a previous page continues those`() async {
        list.customStrategy = .offset(limit: 10, startOffset: 25)
        await load(1)
        list.customStrategy = .offset(limit: 4, startOffset: 25)
        list.loadPreviousPage()
        onceChanged({ _ = list.prependState }) { [list] in list.loadNextPage() }
        await list.waitUntilIdle()
        #expect(!list.prependState.isLoading && !list.appendState.isLoading)
    }

    @Test func `All items are those of all pages, also of pages that the window has dropped`() async throws {
        list.maxPages = 2
        #expect(try await list.allItems() == Array(0..<45))
    }

    @Test func `A list that is reset has no pages, and begins at its start`() async {
        list.maxPages = 2
        await load(3)
        list.loadNextPage()
        list.reset()
        #expect(list.items.isEmpty && list.pageCount == 0 && list.response == nil)
        #expect(!list.hasMore && !list.hasPrevious && !list.appendState.isLoading)
        #expect(table.rows.isEmpty && table.reloads == 2)
        #expect(await screen.ending() == .cancelled)
        #expect(list.items.isEmpty)
        await load(1)
        #expect(list.items == Array(0..<10) && table.rows == list.items)
    }

    @Test func `Any method may be called inside an observer`() async {
        final class Restless: PageListObserver {
            var rounds = 0
            func pageListDidReload(_ request: BaseAPIRequest) {
                rounds += 1
                if rounds < 3 { (request as? Numbers)?.reload() }
            }
            func pageList(_ request: BaseAPIRequest, didInsert: Range<Int>, removing: Range<Int>) {}
        }
        let restless = Restless()
        list.pageObserver = restless
        list.reload()
        #expect(await screen.endings(3) == [.success, .success, .success])
        #expect(restless.rounds == 3)
        #expect(list.items == Array(0..<10))
    }
}
