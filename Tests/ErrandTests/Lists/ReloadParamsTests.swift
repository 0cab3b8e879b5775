import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A list keeps the parameters of its reload", .hangLimit, .timeLimit(.minutes(10)))
struct ReloadParamsTests {
    final class Numbers: PageAPIRequest<[Int]>, APIManager {
        let path = "/numbers"
        let method = HTTPMethod.get
        override var strategy: any PageStrategy { .offset(limit: 10) }
    }

    let server = NumberServer(count: 25)
    let screen = Screen(params: ["shop": 7])

    private func numbers() -> Numbers {
        Numbers(delegate: screen, paramSource: screen, proxy: APIProxy(fake: server.transport))
    }

    @Test func `The following pages have the parameters of the reload`() async {
        let list = numbers()
        screen.onParams = { _ in Issue.record("asked") }
        list.reload(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        while list.loadNextPage() != nil { #expect(await screen.ending() == .success) }
        #expect(list.items == Array(0..<25))
        list.refreshAll()
        _ = await screen.endings(3)
        #expect(server.queries.count >= 6)
        for query in server.queries { #expect(query.hasSuffix("text=pen")) }
    }

    @Test func `A reload without parameters asks the param source again, and so do the following pages`() async {
        let list = numbers()
        list.loadData(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        list.reload()
        #expect(await screen.ending() == .success)
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(server.queries.map { $0.hasSuffix("text=pen") } == [true, false, false])
        #expect(server.queries.suffix(2).allSatisfy { $0.hasSuffix("shop=7") })
    }

    @Test func `After a load that was needed, the param source is asked again for each page and for another load`()
        async
    {
        let list = numbers()
        var questions = 0
        screen.onParams = { _ in questions += 1 }
        list.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(questions == 1)
        screen.params = ["shop": 8]
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        screen.params = ["shop": 9]
        list.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(questions == 3 && list.items.count == 10)
        #expect(server.queries.map { $0.suffix(6) } == ["shop=7", "shop=8", "shop=9"])
    }

    @Test func `A load that was needed, and has failed, is tried again with the parameters of that moment`() async {
        let list = numbers()
        server.failNextRequest()
        list.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .failure(.http))
        screen.params = ["shop": 8]
        #expect(list.retry() != nil)
        #expect(await screen.ending() == .success)
        #expect(list.items.count == 10)
        #expect(server.queries.map { $0.suffix(6) } == ["shop=7", "shop=8"])
    }

    @Test
    func `After a failed reload the pages of the list keep their parameters, and a retry has those of the reload`()
        async
    {
        let list = numbers()
        list.reload(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        server.failNextRequest("ink")
        list.reload(params: ["text": "ink"])
        #expect(await screen.ending() == .failure(.http))
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<20))
        list.retry()
        #expect(await screen.ending() == .success)
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(
            server.queries.map { $0.hasSuffix("text=ink") ? "ink" : "pen" } == ["pen", "ink", "pen", "ink", "ink"]
        )
    }

    @Test func `After a cancelled reload the pages of the list keep their parameters`() async {
        let list = numbers()
        list.reload(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        list.reload(params: ["text": "ink"])
        list.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(list.items.count == 20)
        #expect(server.queries.last?.hasSuffix("text=pen") == true)
        list.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(server.queries.last?.hasSuffix("text=ink") == true, "the newest reload")
    }

    @Test func `Without a list, the first page has the parameters of the reload that failed`() async {
        let list = numbers()
        server.failNextRequest()
        list.reload(params: ["text": "pen"])
        #expect(await screen.ending() == .failure(.http))
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(server.queries.allSatisfy { $0.hasSuffix("text=pen") })
    }

    @Test func `A list that is loaded again loads the page that has failed`() async {
        let list = numbers()
        list.reload(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        server.failNextRequest()
        list.loadNextPage()
        #expect(await screen.ending() == .failure(.http))
        #expect((list as BaseAPIRequest).loadAgain() != nil)
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<20))
        #expect(server.queries[1] == server.queries[2])
        list.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<10), "nothing has failed: a reload")
        #expect(server.queries.allSatisfy { $0.hasSuffix("text=pen") })
    }

    @Test func `A closure and an async call receive the first page of a list`() async throws {
        let list = numbers()
        #expect(try await list.value(params: ["text": "pen"]) == Array(0..<10))
        let page = await withCheckedContinuation { page in
            list.loadData(params: ["text": "ink"]) { page.resume(returning: $0) }
        }
        #expect(try page.get() == Array(0..<10))
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(server.queries.last?.hasSuffix("text=ink") == true)
    }

    @Test func `A page that the list has not taken is no reason not to load it`() async {
        let list = numbers()
        list.loadData()
        #expect(await screen.ending() == .success)
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        // The second of its two pages.
        screen.onEvent = { request, _ in request.cancelAllRequests() }
        list.refreshAll()
        #expect(await screen.endings(2) == [.success, .cancelled])
        screen.onEvent = nil
        let sent = server.queries.count
        list.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(server.queries.count == sent + 1)
        list.loadIfNeeded(maxAge: .seconds(60))
        #expect(await screen.ending() == .success)
        #expect(server.queries.count == sent + 1)
    }
}
