import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("The pages of a list as a sequence", .hangLimit, .timeLimit(.minutes(10)))
struct PageSequenceTests {
    let server = NumberServer(count: 35)
    let screen = Screen()
    let list: OffsetNumbers

    init() {
        list = OffsetNumbers(delegate: screen, proxy: APIProxy(fake: server.transport))
    }

    @Test func `All items of all pages are loaded`() async throws {
        #expect(try await list.allItems() == Array(0..<35))
        #expect(try await list.allItems() == Array(0..<35), "each iteration starts with the first page")
        #expect(server.queries.count == 8)
        #expect(screen.events.isEmpty)
    }

    @Test func `The parameters of an iteration are those of all its pages`() async throws {
        for try await page in list.pages(params: ["text": "pen"]) where page.contains(15) { break }
        #expect(server.queries == ["limit=10&offset=0&text=pen", "limit=10&offset=10&text=pen"])
        #expect(try await list.allItems(params: ["text": "ink"]).count == 35)
        #expect(server.queries.dropFirst(2).allSatisfy { $0.hasSuffix("text=ink") } && server.queries.count == 6)
        _ = try await list.allItems()
        #expect(server.queries[6] == "limit=10&offset=0")
    }

    @Test func `A page is requested when the iteration reaches it`() async throws {
        var pages: [[Int]] = []
        for try await page in list.pages() {
            pages.append(page)
            #expect(server.queries.count == pages.count)
            if pages.count == 2 { break }
        }
        #expect(pages == [Array(0..<10), Array(10..<20)])
        #expect(server.queries.count == 2)
        #expect(!list.isLoading)
    }

    @Test func `After a failure the iterator requests the same page`() async throws {
        var pages = list.pages().makeAsyncIterator()
        server.failNextRequest()
        await #expect { try await pages.next(isolation: #isolation) } throws: { ($0 as? APIError)?.type == .http }
        #expect(try await pages.next() == Array(0..<10))
        server.failNextRequest()
        await #expect { try await pages.next(isolation: #isolation) } throws: { ($0 as? APIError)?.type == .http }
        #expect(list.items == Array(0..<10))
        #expect(try await pages.next() == Array(10..<20))
        #expect(try await pages.next() == Array(20..<30))
        #expect(try await pages.next() == Array(30..<35))
        #expect(try await pages.next() == nil)
        #expect(try await pages.next() == nil)
    }

    @Test func `An element contains only new items`() async throws {
        var pages = list.pages().makeAsyncIterator()
        #expect(try await pages.next() == Array(0..<10))
        server.insertAtStart()
        #expect(try await pages.next() == Array(10..<19))
    }

    @Test(arguments: ["reload", "refreshAll"])
    func `Another load of the list ends the iteration`(_ what: String) async throws {
        var pages = list.pages().makeAsyncIterator()
        #expect(try await pages.next() == Array(0..<10))
        _ = what == "reload" ? list.reload() : list.refreshAll()
        for _ in 1...2 {
            let error = await #expect(throws: APIError.self) { try await pages.next(isolation: #isolation) }
            #expect(error?.type == .cancelled && error?.reason?.contains("another load") == true)
            await suspend(while: list.isLoading)
        }
        #expect(screen.events == [.success])
        #expect(server.queries.count == 2)
    }

    @Test(arguments: [1, 2])
    func `A load that replaces that of a page ends the iteration`(_ page: Int) async throws {
        let latch = Latch()
        let (sent, news) = AsyncStream.makeStream(of: Void.self)
        let transport = ScriptedTransport { [server] request async throws(TransportError) in
            if server.queries.count == page - 1 {
                news.yield()
                try await latch.wait()
            }
            return server.response(request)
        }
        let list = OffsetNumbers(delegate: screen, proxy: APIProxy(fake: transport))
        let task = Task { try await list.allItems() }
        for await _ in sent { break }
        list.reload()
        latch.open()
        await #expect { try await task.value } throws: { ($0 as? APIError)?.type == .cancelled }
        #expect(await screen.ending() == .success)
        #expect(list.items == Array(0..<10))
    }

    @Test func `A reload that is cancelled at once does not interrupt the iteration`() async throws {
        var pages = list.pages().makeAsyncIterator()
        #expect(try await pages.next() == Array(0..<10))
        list.reload()
        list.cancelAllRequests()
        #expect(try await pages.next() == Array(10..<20))
    }

    @Test func `A page that another load has added ends the iteration`() async throws {
        var pages = list.pages().makeAsyncIterator()
        #expect(try await pages.next() == Array(0..<10))
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        await #expect { try await pages.next(isolation: #isolation) } throws: { ($0 as? APIError)?.type == .cancelled }
        #expect(try await list.allItems() == Array(0..<35))
    }

    @Test func `A previous page that is loading ends the iteration`() async throws {
        let list = PageWindowTests.Numbers(delegate: screen, proxy: APIProxy(fake: server.transport))
        list.customStrategy = .offset(limit: 10, startOffset: 10)
        var pages = list.pages().makeAsyncIterator()
        #expect(try await pages.next() == Array(10..<20))
        list.loadPreviousPage()
        await #expect { try await pages.next(isolation: #isolation) } throws: { ($0 as? APIError)?.type == .cancelled }
        #expect(await screen.ending() == .success)
    }

    @Test func `A previous page does not interrupt the iteration`() async throws {
        let list = PageWindowTests.Numbers(delegate: screen, proxy: APIProxy(fake: server.transport))
        list.customStrategy = .offset(limit: 10, startOffset: 10)
        var pages = list.pages().makeAsyncIterator()
        #expect(try await pages.next() == Array(10..<20))
        list.loadPreviousPage()
        #expect(await screen.ending() == .success)
        #expect(try await pages.next() == Array(20..<30))
        #expect(list.items == Array(0..<30))
    }

    @Test func `The iteration waits for the page after one without new items that a row has requested`() async throws {
        let list = PageWindowTests.Numbers(delegate: screen, proxy: APIProxy(fake: server.transport))
        var pages = list.pages().makeAsyncIterator()
        #expect(try await pages.next() == Array(0..<10))
        for number in (-10..<0).reversed() { server.insertAtStart(number) }
        list.itemAppeared(at: 9)
        let page = try await pages.next(isolation: #isolation)
        #expect(page == Array(10..<20))
        #expect(server.queries.count == 3)
    }

    @Test(.blocksThread) func `A load that follows up may end before the iteration continues`() async throws {
        let list = PageWindowTests.Numbers(delegate: screen, proxy: APIProxy(fake: server.transport))
        list.identifies = false
        let interceptor = InterceptorSpy()
        list.interceptor = interceptor
        var (endings, followUps) = (0, 0)
        interceptor.onCall = { [server] _, call in
            switch call {
            case .willEnd:
                endings += 1
                guard endings == 2 else { return }
                // The page that is received begins elsewhere now, and is requested again.
                _ = try? list.insert(-1, at: 0)
                server.insertAtStart(-1)
            case .didEnd where endings == 2:
                followUps = list.loads.count
                // The main actor is busy until the next load has been served.
                spin(while: list.proxy.delivery.count == 0)
            default: break
            }
        }
        var pages = list.pages().makeAsyncIterator()
        #expect(try await pages.next() == Array(0..<10))
        #expect(try await pages.next() == Array(10..<20))
        #expect(followUps == 1)
        #expect(server.queries == ["limit=10&offset=0", "limit=10&offset=10", "limit=10&offset=11"])
        #expect(try await pages.next() == Array(20..<30))
        #expect(screen.events.isEmpty)
    }

    @Test func `Cancelling the task cancels a load that follows up`() async throws {
        let latch = Latch()
        let (sent, news) = AsyncStream.makeStream(of: Void.self)
        let transport = ScriptedTransport { [server] request async throws(TransportError) in
            if server.queries.count == 2 {
                news.yield()
                try await latch.wait()
            }
            return server.response(request)
        }
        let list = PageWindowTests.Numbers(proxy: APIProxy(fake: transport))
        list.identifies = false
        let interceptor = InterceptorSpy()
        list.interceptor = interceptor
        interceptor.onCall = { [server] _, call in
            guard server.queries.count == 2, case .willEnd("success") = call else { return }
            _ = try? list.insert(-1, at: 0)
        }
        let task = Task { try await list.allItems() }
        for await _ in sent { break }
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? APIError)?.type == .cancelled }
        #expect(list.proxy.activeRequests.isEmpty && !list.isLoading)
    }

    @Test func `A delegate that joins the load of an iteration is notified`() async throws {
        var pages = list.pages().makeAsyncIterator()
        #expect(try await pages.next() == Array(0..<10))
        let id = list.load(.next, receiver: .caller())
        #expect(list.loadNextPage() == id)
        #expect(await screen.ending() == .success)
        #expect(server.queries.count == 2)
    }

    @Test func `An iteration does not continue with a list that has been reset, but a new one begins`() async throws {
        var pages = list.pages().makeAsyncIterator()
        #expect(try await pages.next() == Array(0..<10))
        list.reset()
        await #expect { try await pages.next(isolation: #isolation) } throws: { ($0 as? APIError)?.type == .cancelled }
        #expect(try await list.allItems() == Array(0..<35))
    }

    @Test func `A row that appears during an async call does not pass its ending to the delegate`() async throws {
        let presenter = PresenterSpy()
        list.errorPresenter = presenter
        _ = try await list.value()
        server.failNextRequest()
        let id = list.begin(receiver: .caller())
        list.itemAppeared(at: 9)
        #expect(await list.ending(of: id).error?.type == .http)
        await sentinel(list.proxy)
        #expect(screen.events.isEmpty)
        #expect(presenter.calls.isEmpty)
    }

    @Test func `Cancelling the task cancels the load`() async {
        let latch = Latch()
        let (sent, news) = AsyncStream.makeStream(of: Void.self)
        let transport = ScriptedTransport { _ throws(TransportError) in
            news.yield()
            try await latch.wait()
            return .json("[]")
        }
        let list = OffsetNumbers(proxy: APIProxy(fake: transport))
        let task = Task { try await list.allItems() }
        for await _ in sent { break }
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? APIError)?.type == .cancelled }
        #expect(list.proxy.activeRequests.isEmpty)
    }

    @Test func `Thousands of pages need no stack`() async throws {
        let pages = rounds(4_000)
        let server = NumberServer(count: pages * 10)
        let list = OffsetNumbers(proxy: APIProxy(fake: server.transport))
        #expect(try await list.allItems().count == pages * 10)
        #expect(list.pageCount == pages)
        #expect(server.queries.count == pages + 1, "the last response is empty")
    }
}
