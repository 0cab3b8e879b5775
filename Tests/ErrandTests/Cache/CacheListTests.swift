import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Lists with a cache", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CacheListTests {
    /// A list of texts, such as `1b` in the second version of the first page.
    final class TextList: PageAPIRequest<[String]>, APIManager {
        let path = "/list"
        let method = HTTPMethod.get
        var ownService: APIService?
        var policy = CachePolicy.http
        override var service: APIService? { ownService }
        override var options: APIRequestOptions { APIRequestOptions(cachePolicy: policy) }
        override var strategy: any PageStrategy { .pageNumber(size: 1) }
        var usesIDs = false
        override var itemID: ItemID<String>? { usesIDs ? ItemID { $0 } : nil }
    }

    /// Three pages, whose version a test changes.
    private final class Backend: Sendable {
        let version = Lock("a")
        let fails = Lock(false)
        /// The first page that fails.
        let failsFrom = Lock(Int.max)

        func response(to request: RecordedRequest) -> Response {
            guard !fails.withLock({ $0 }) else { return .status(500) }
            let page = request.queryValue("page").flatMap(Int.init) ?? 1
            guard page < failsFrom.withLock({ $0 }) else { return .status(500) }
            let items = page > 3 ? [] : ["\(page)\(version.withLock { $0 })"]
            return .json(items, headers: ["Cache-Control": "max-age=600"])
        }
    }

    private let backend: Backend
    private let scene: CacheRuleScene
    private let screen = Screen()

    init() throws {
        let backend = Backend()
        self.backend = backend
        scene = try CacheRuleScene { request, _ in backend.response(to: request) }
    }

    private nonisolated static let policies: [CachePolicy] = [.http, .elseLoad, .time(.seconds(600)), .version(1)]

    private func list(_ policy: CachePolicy) -> TextList {
        let list = TextList(delegate: screen, proxy: scene.proxy)
        (list.ownService, list.policy) = (scene.service, policy)
        return list
    }

    /// Loads the first page, and then as many further pages as make this many.
    private func load(_ count: Int, of list: TextList) async {
        list.loadData()
        #expect(await screen.ending() == .success)
        await loadNextPages(count - 1, of: list)
    }

    private func loadNextPages(_ count: Int, of list: TextList) async {
        for _ in 0..<count {
            #expect(list.loadNextPage() != nil)
            #expect(await screen.ending() == .success)
        }
    }

    private func change(to version: String) { backend.version.withLock { $0 = version } }

    @Test(arguments: policies) func `Each page is an entry of its own`(_ policy: CachePolicy) async {
        let first = list(policy)
        await load(3, of: first)
        #expect(first.items == ["1a", "2a", "3a"])
        #expect(scene.sent == 3)
        change(to: "b")
        let second = list(policy)
        await load(3, of: second)
        #expect(second.items == ["1a", "2a", "3a"])
        #expect(second.rawResponse?.source == .cache)
        #expect(scene.sent == 3)
        #expect(scene.violations == [])
    }

    @Test(arguments: policies) func `A reload and the pages after it come from the network`(_ policy: CachePolicy) async
    {
        let list = list(policy)
        await load(2, of: list)
        change(to: "b")
        list.reload()
        #expect(await screen.ending() == .success)
        await loadNextPages(2, of: list)
        #expect(list.items == ["1b", "2b", "3b"])
        #expect(list.rawResponse?.source == .network)
        #expect(scene.sent == 5)
        list.loadData()
        #expect(await screen.ending() == .success)
        await loadNextPages(1, of: list)
        #expect(list.items == ["1b", "2b"], "what a reload has received is stored")
        #expect(scene.sent == 5)
        #expect(scene.violations == [])
    }

    @Test(arguments: policies) func `After a reload that has failed, the next pages are those of the list`(
        _ policy: CachePolicy
    ) async {
        await load(3, of: list(policy))
        let list = list(policy)
        await load(1, of: list)
        backend.fails.withLock { $0 = true }
        list.reload()
        #expect(await screen.ending() == .failure(.http))
        await loadNextPages(1, of: list)
        #expect(list.items == ["1a", "2a"])
        #expect(list.rawResponse?.source == .cache)
        // The failed part is the reload no more.
        backend.fails.withLock { $0 = false }
        change(to: "b")
        list.reload()
        #expect(await screen.ending() == .success)
        await loadNextPages(1, of: list)
        #expect(list.items == ["1b", "2b"])
        backend.fails.withLock { $0 = true }
        list.reload()
        #expect(await screen.ending() == .failure(.http))
        #expect(list.loadNextPage() != nil)
        #expect(await screen.ending() == .failure(.http), "the third page is older than the list")
        #expect(scene.violations == [])
    }

    @Test(arguments: policies) func `After a refresh that fails in its second page, the next page is that of the list`(
        _ policy: CachePolicy
    ) async {
        await load(3, of: list(policy))
        let list = list(policy)
        await load(2, of: list)
        change(to: "b")
        backend.failsFrom.withLock { $0 = 2 }
        list.refreshAll()
        #expect(await screen.ending() == .success, "its first page")
        #expect(await screen.ending() == .failure(.http))
        #expect(list.items == ["1a", "2a"])
        await loadNextPages(1, of: list)
        #expect(list.items == ["1a", "2a", "3a"])
    }

    @Test func `After a reload that had no network, the next pages are those that were stored with it`() async {
        await load(3, of: list(.fallback))
        scene.server.stop()
        let list = list(.fallback)
        list.reload()
        #expect(await screen.ending() == .success)
        #expect(list.rawResponse?.source == .cache)
        await loadNextPages(2, of: list)
        #expect(list.items == ["1a", "2a", "3a"])
        #expect(scene.violations == [])
    }

    @Test func `A list that is reset begins with what is stored`() async {
        let list = list(.elseLoad)
        await load(1, of: list)
        list.reload()
        #expect(await screen.ending() == .success)
        change(to: "b")
        list.reset()
        await loadNextPages(1, of: list)
        #expect(list.items == ["1a"])
    }

    @Test(arguments: policies)
    func `After an edit of an item that is not in the list, the next page is not a stored one`(
        _ policy: CachePolicy
    ) async throws {
        await load(3, of: list(policy))
        let list = list(policy)
        await load(1, of: list)
        change(to: "b")
        list.usesIDs = true
        #expect(try !list.remove(id: "2a"))
        await loadNextPages(2, of: list)
        #expect(list.items == ["1a", "2b", "3b"])
    }

    @Test(arguments: policies) func `After an edit, the next page comes from the network`(_ policy: CachePolicy)
        async throws
    {
        let list = list(policy)
        await load(3, of: list)
        list.loadData()
        #expect(await screen.ending() == .success)
        change(to: "b")
        await loadNextPages(1, of: list)
        #expect(list.items == ["1a", "2a"])
        try list.replace(at: 0, with: "1b", onServer: false)
        await loadNextPages(1, of: list)
        #expect(list.items == ["1b", "2a", "3a"])
        list.loadData()
        #expect(await screen.ending() == .success)
        try list.replace(at: 0, with: "1b")
        await loadNextPages(2, of: list)
        #expect(list.items == ["1b", "2b", "3b"])
        // During the load of a page that is stored, and that the edit does not move.
        list.loadData()
        #expect(await screen.ending() == .success)
        change(to: "c")
        list.loadNextPage()
        try list.replace(at: 0, with: "1c")
        #expect(await screen.ending() == .success)
        await loadNextPages(1, of: list)
        #expect(list.items.last == "3c")
    }

    @Test(arguments: policies) func `A page that is requested again because of an edit is not one that was just stored`(
        _ policy: CachePolicy
    ) async throws {
        let list = EditedList(delegate: screen, proxy: scene.proxy)
        (list.ownService, list.policy) = (scene.service, policy)
        list.onResponse = { [backend] list in
            // The first response arrives with the old version, and is stored.
            guard backend.version.withLock({ exchange(&$0, with: "b") }) == "a" else { return }
            _ = try? list.insert("0b", at: 0)
        }
        list.loadData()
        #expect(await screen.ending() == .success)
        #expect(list.items == ["1b"])
    }

    /// A list that is edited in the hook that receives its response.
    final class EditedList: PageAPIRequest<[String]>, APIManager {
        let path = "/list"
        let method = HTTPMethod.get
        var ownService: APIService?
        var policy = CachePolicy.http
        var onResponse: (EditedList) -> Void = { _ in }
        override var service: APIService? { ownService }
        override var options: APIRequestOptions { APIRequestOptions(cachePolicy: policy) }
        override var strategy: any PageStrategy { .pageNumber(size: 1) }

        func reformData(_ response: [String]) -> [String] {
            onResponse(self)
            return response
        }
    }

    @Test(arguments: policies) func `The first reload of a list comes from the network too`(_ policy: CachePolicy) async
    {
        let first = list(policy)
        await load(1, of: first)
        change(to: "b")
        let second = list(policy)
        second.reload()
        #expect(await screen.ending() == .success)
        #expect(second.items == ["1b"])
        withExtendedLifetime(first) {}
    }

    @Test(arguments: policies) func `All pages that are loaded again come from the network`(_ policy: CachePolicy) async
    {
        let list = list(policy)
        await load(3, of: list)
        change(to: "b")
        list.refreshAll()
        #expect(await screen.endings(3) == [.success, .success, .success])
        #expect(list.items == ["1b", "2b", "3b"])
        #expect(scene.sent == 6)
        #expect(scene.violations == [])
    }

    @Test(arguments: policies) func `A reload that cannot be sent keeps the items`(_ policy: CachePolicy) async {
        let list = list(policy)
        await load(2, of: list)
        scene.server.stop()
        list.reload()
        #expect(await screen.ending() == .failure(.transport))
        #expect(list.items == ["1a", "2a"])
        #expect(list.refreshState.error?.type == .transport)
        list.refreshAll()
        #expect(await screen.ending() == .failure(.transport))
        #expect(list.items == ["1a", "2a"])
        #expect(scene.violations == [])
    }

    @Test(arguments: policies) func `A reload that fails keeps the items`(_ policy: CachePolicy) async {
        let list = list(policy)
        await load(2, of: list)
        backend.fails.withLock { $0 = true }
        list.reload()
        #expect(await screen.ending() == .failure(.http))
        #expect(list.items == ["1a", "2a"])
        backend.fails.withLock { $0 = false }
        change(to: "b")
        #expect(list.retry() != nil)
        #expect(await screen.ending() == .success)
        #expect(list.items == ["1b"], "what is tried again is a reload")
    }

    @Test(arguments: policies) func `A list without items shows what is stored if there is no network`(
        _ policy: CachePolicy
    ) async {
        let first = list(policy)
        await load(2, of: first)
        scene.server.stop()
        let second = list(policy)
        second.reload()
        #expect(await screen.ending() == .success)
        #expect(second.items == ["1a"])
        #expect(second.rawResponse?.source == .cache)
        withExtendedLifetime(first) {}
    }

    @Test func `Lists with other parameters have other entries`() async {
        let list = list(.elseLoad)
        list.loadData(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        change(to: "b")
        list.loadData(params: ["text": "ink"])
        #expect(await screen.ending() == .success)
        #expect(list.items == ["1b"])
        await loadNextPages(1, of: list)
        list.loadData(params: ["text": "pen"])
        #expect(await screen.ending() == .success)
        #expect(list.items == ["1a"])
        #expect(scene.sent == 3)
        await loadNextPages(1, of: list)
        #expect(list.items == ["1a", "2b"], "the second page of the pens was not stored")
        #expect(scene.server.requests.last?.queryValue("text") == "pen")
    }
}
