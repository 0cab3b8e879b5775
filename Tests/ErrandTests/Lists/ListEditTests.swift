import ErrandTesting
import Foundation
import Observation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

/// A page with one of the totals.
private struct CountedPage<Item: Decodable & Sendable>: PageResponse, Decodable, Sendable {
    var items: [Item]
    var totalItems: Int?
    var totalPages: Int?
}

@MainActor @Suite("Edits of a list in place", .hangLimit, .timeLimit(.minutes(10)))
struct ListEditTests {
    let server = EditingServer()
    let screen = Screen()
    let table = EntryTable()
    let list: Entries

    init() {
        server.reset(10)
        list = Entries(delegate: screen, proxy: APIProxy(service: server.service, transport: server.transport))
        list.pageObserver = table
        list.customStrategy = server.strategy()
    }

    private func load(_ pages: Int) async {
        for _ in 0..<pages {
            list.loadNextPage()
            #expect(await screen.ending() == .success)
        }
    }

    private func loadRest() async {
        while list.loadNextPage() != nil { #expect(await screen.ending() == .success) }
    }

    private func use(_ way: EditingServer.Way) {
        server.way = way
        list.customStrategy = server.strategy()
    }

    private var ids: [Int] { list.items.map(\.id) }

    @Test func `Items are replaced, inserted and removed, and the observer is notified of each row`() async throws {
        server.sendsTotal = true
        await load(1)
        #expect(try list.replace(Entry(id: 2, order: 0, version: 5), onServer: false))
        try list.replace(at: 0, with: Entry(id: 1, order: 0, version: 6))
        #expect(try list.insert(Entry(id: 50, order: 0), at: 0))
        #expect(try list.insert(Entry(id: 51, order: 0), at: list.items.count, onServer: false))
        #expect(try list.remove(id: 3))
        #expect(try list.remove(at: 1).version == 6)
        #expect(ids == [50, 2, 51])
        #expect(list.items[1].version == 5)
        #expect(table.changes == ["=1", "=1", "+1-0", "+1-0", "+0-1", "+0-1"])
        #expect(table.rows == list.items)
        #expect(list.totalCount == 9)
        #expect(list.insertedRows == 1..<2)
        #expect(try !list.remove(id: 99) && !list.replace(Entry(id: 99, order: 0)))
        #expect(screen.events == [.success], "the delegate is not notified of edits")
    }

    @Test func `A view that shows the items is notified of an edit`() async throws {
        await load(1)
        let counter = Counter()
        withObservationTracking {
            _ = list.items
        } onChange: {
            _ = counter.next()
        }
        try list.remove(at: 0)
        #expect(counter.count == 1)
    }

    @Test(arguments: EditingServer.Way.allCases)
    func `After a removal the next page skips no item, after an insertion it repeats none`(
        _ way: EditingServer.Way
    ) async throws {
        use(way)
        for identifies in [true, false] {
            list.identifies = identifies
            server.reset(10)
            list.reload()
            #expect(await screen.ending() == .success)
            await load(1)
            server.entries.remove(at: 1)
            try list.remove(at: 1)
            await load(1)
            try list.insert(server.insert(at: 0), at: 0)
            try list.insert(server.insert(at: 2), at: 2)
            await loadRest()
            #expect(list.items == server.entries)
        }
    }

    @Test func `After a removal a list by number requests its last page again, one by offset the offset before`()
        async throws
    {
        for (way, query) in [(EditingServer.Way.number, "page=2&size=3"), (.offset, "limit=3&offset=5")] {
            use(way)
            server.reset(10)
            list.reload()
            #expect(await screen.ending() == .success)
            await load(1)
            server.entries.remove(at: 1)
            try list.remove(at: 1)
            await load(1)
            #expect(server.queries.last == query)
            #expect(list.items == Array(server.entries.prefix(list.items.count)))
        }
    }

    @Test(arguments: EditingServer.Way.allCases)
    func `An edit that the server does not have moves no position`(_ way: EditingServer.Way) async throws {
        use(way)
        list.identifies = false
        await load(1)
        try list.remove(at: 1, onServer: false)
        try list.insert(Entry(id: -1, order: 0), at: 0, onServer: false)
        try list.insert(Entry(id: -2, order: 0), at: 0, onServer: false)
        await loadRest()
        #expect(ids == [-2, -1, 1, 3, 4, 5, 6, 7, 8, 9, 10])
        list.reload()
        #expect(await screen.ending() == .success)
        #expect(ids == [1, 2, 3], "a reload shows what the server has")
    }

    @Test func `An edited item that a later page contains remains as it is, and a removed one is not added`()
        async throws
    {
        use(.offset)
        await load(1)
        try list.replace(Entry(id: 3, order: 0, version: 7), onServer: false)
        try list.remove(id: 2, onServer: false)
        try list.insert(Entry(id: 5, order: 0, version: 8), at: 0, onServer: false)
        server.insert(at: 0)
        server.insert(at: 0)
        await loadRest()
        #expect(ids == [5, 1, 3, 4, 6, 7, 8, 9, 10], "the inserted items move 2 and 3 to the second page")
        #expect(list.items[0].version == 8 && list.items[2].version == 7)
        try list.insert(Entry(id: 2, order: 0), at: 0, onServer: false)
        #expect(ids.first == 2)
        #expect(try !list.insert(Entry(id: 2, order: 0, version: 9), at: 3), "it is replaced where it is")
        #expect(list.items[0].version == 9)
    }

    @Test func `Invalid edits are errors, and the list does not change`() async throws {
        await load(1)
        let item = Entry(id: 9, order: 0)
        func reason(_ edit: () throws -> Void) -> String {
            do { try edit() } catch { return (error as? ListEditError)?.description ?? "\(error)" }
            return ""
        }
        for row in [-1, 3, Int.max] {
            #expect(reason { try list.remove(at: row) }.contains("no row \(row) in a list of 3"))
            #expect(reason { try list.replace(at: row, with: item) }.contains("no row"))
        }
        #expect(reason { try list.insert(item, at: 4) }.contains("no row 4"))
        #expect(reason { try list.remove(id: "2") }.hasSuffix("are of type Int, not String"))
        let twin = list.items[2]
        #expect(reason { try list.replace(at: 0, with: twin) }.contains("row 2"))
        list.identifies = false
        #expect(reason { try list.remove(id: 2) }.contains("override itemID"))
        #expect(reason { try list.replace(item) }.contains("Entry Identifiable"))
        #expect(ids == [1, 2, 3] && table.changes.isEmpty)
    }

    @Test func `Items that are Identifiable are found by their id, and a literal fits any integer`() async throws {
        struct Post: Decodable, Identifiable, Sendable {
            let id: Int64
        }
        final class Posts: PageAPIRequest<[Post]>, APIManager {
            let path = "/posts"
            let method = HTTPMethod.get
        }
        let transport = ScriptedTransport { _ in .json(#"[{"id":1},{"id":2},{"id":1}]"#) }
        let posts = Posts(proxy: APIProxy(service: server.service, transport: transport))
        _ = try await posts.value()
        #expect(try posts.remove(id: 1), "without an itemID every row with the ID")
        #expect(posts.items.map(\.id) == [2])
        #expect(try posts.replace(Post(id: 2)))
        #expect(throws: ListEditError.self) { try posts.remove(id: "2") }
    }

    @Test func `An item in several rows is replaced in all of them, with one notification`() async throws {
        struct Post: Decodable, Identifiable, Equatable, Sendable {
            let id: Int
            var text: String?
        }
        final class Posts: PageAPIRequest<[Post]>, APIManager {
            let path = "/posts"
            let method = HTTPMethod.get
        }
        final class Table: PageListObserver {
            var rows: [Post] = []
            var replaced: [Range<Int>] = []
            func pageListDidReload(_ request: BaseAPIRequest) { rows = (request as? Posts)?.items ?? [] }
            func pageList(_ request: BaseAPIRequest, didInsert inserted: Range<Int>, removing removed: Range<Int>) {}
            func pageList(_ request: BaseAPIRequest, didReplace range: Range<Int>) {
                replaced.append(range)
                let items = (request as? Posts)?.items ?? []
                rows.replaceSubrange(range, with: items[range])
                #expect(rows == items, "each notification describes the whole change")
            }
        }
        for (ids, id, range) in [([1, 2, 1, 3], 1, 0..<3), ([1, 2, 2, 2], 2, 1..<4), ([1, 2, 3, 4], 3, 2..<3)] {
            let json = ids.map { (id: Int) in #"{"id":\#(id)}"# }.joined(separator: ",")
            let transport = ScriptedTransport { _ in .json("[\(json)]") }
            let posts = Posts(proxy: APIProxy(service: server.service, transport: transport))
            let observer = Table()
            posts.pageObserver = observer
            _ = try await posts.value()
            #expect(try posts.replace(Post(id: id, text: "new")))
            #expect(posts.items.filter { $0.text == "new" }.map(\.id) == ids.filter { $0 == id })
            #expect(observer.replaced == [range])
        }
    }

    @Test(.blocksThread, arguments: [false, true])
    func `A page repeated because of an edit has the priority of its load, and no place if others wait for it`(
        _ isJoined: Bool
    ) async throws {
        struct Post: Codable, Identifiable, Sendable {
            let id: Int
        }
        final class Posts: PageAPIRequest<[Post]>, APIManager {
            let path = "/posts"
            let method = HTTPMethod.get
            /// Holds the decoding.
            var isHeld: @Sendable () -> Bool = { false }
            override var restartPolicy: RestartPolicy { .ignoreNew }
            override var options: APIRequestOptions { .init(priority: .background) }
            override var itemID: ItemID<Post>? { ItemID(\.id) }
            var responseSerializer: ResponseSerializer<[Post]> {
                ResponseSerializer { [isHeld] response, service in
                    spin(while: isHeld())
                    return try ResponseSerializer.json.value(of: response, from: service)
                }
            }
        }
        let (busy, page, other) = (Latch(), Latch(), Latch())
        let transport = ScriptedTransport { request in
            switch request.url.lastPathComponent {
            case "busy": try await busy.wait()
            case "posts": try await page.wait()
            default: try await other.wait()
            }
            return .json(#"[{"id":1}]"#)
        }
        let limits = QueueLimits(perHost: 1)
        let proxy = APIProxy(service: server.service, transport: transport, queueLimits: limits)
        let first = APIRequest<JSONValue>("/busy", proxy: proxy)
        first.loadData()
        let posts = Posts(proxy: proxy)
        if isJoined {
            // Until the load is joined. The hook is read when it begins.
            posts.isHeld = { [loads = proxy.loads] in
                loads.activeRequests.contains { $0.path == "/posts" && !loads.needsNoPlace($0.id) }
            }
        }
        let id = posts.reload()
        var service = server.service
        if isJoined {
            service.commonHeaders = { @MainActor in
                _ = try await posts.value()
                return [:]
            }
        }
        let others = (1...3).map { APIRequest<JSONValue>("/\($0)", service: $0 == 1 ? service : nil, proxy: proxy) }
        for request in others { request.loadData() }
        #expect(proxy.setPriority(.userInitiated, of: id))
        busy.open()
        await transport.waitForRequests(2)
        #expect(throws: Never.self) { _ = try posts.remove(id: 99) }
        page.open()
        if !isJoined { await suspend(while: transport.requests.count < 3 || proxy.queuedCount < 3) }
        other.open()
        for request in others + [first] { await request.waitUntilIdle() }
        let paths = transport.requests.map { $0.url.lastPathComponent }
        #expect(paths == ["busy", "posts"] + (isJoined ? ["posts", "1", "2", "3"] : ["1", "posts", "2", "3"]))
    }

    @Test(arguments: [true, false])
    func `An item in two pages that is removed moves the next offset by one`(_ isOnServer: Bool) async throws {
        struct Post: Codable, Identifiable, Sendable {
            let id: Int
        }
        final class Posts: PageAPIRequest<[Post]>, APIManager {
            let path = "/posts"
            let method = HTTPMethod.get
            override var strategy: any PageStrategy { .offset(limit: 3) }
        }
        // An item has been added to the server's list between the two pages, so that 3 is in both.
        let transport = ScriptedTransport { request in
            let query = request.url.query ?? ""
            if query.contains("offset=0") { return .json(#"[{"id":1},{"id":2},{"id":3}]"#) }
            return .json(query.contains("offset=3") ? #"[{"id":3},{"id":4},{"id":5}]"# : "[]")
        }
        let posts = Posts(delegate: screen, proxy: APIProxy(service: server.service, transport: transport))
        posts.loadData()
        #expect(await screen.ending() == .success)
        posts.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(posts.items.map(\.id) == [1, 2, 3, 3, 4, 5])
        #expect(try posts.remove(id: 3, onServer: isOnServer))
        #expect(posts.items.map(\.id) == [1, 2, 4, 5])
        posts.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.last?.url.query?.contains("offset=\(isOnServer ? 5 : 6)") == true)
    }

    @Test(arguments: [true, false])
    func `A page that is loading during an edit is requested again within its load`(_ respondsEarly: Bool) async throws
    {
        for way in [EditingServer.Way.number, .offset] {
            use(way)
            server.reset(10)
            list.identifies = false
            list.reload()
            #expect(await screen.ending() == .success)
            let (gate, indicator, requests) = (Latch(), IndicatorSpy(), server.queries.count)
            (server.gate, server.respondsEarly) = (gate, respondsEarly)
            let recorder = EventRecorder()
            list.proxy.monitors = [recorder]
            let id = list.loadNextPage(indicator: indicator)
            await suspend(while: server.queries.count == requests)
            server.entries.remove(at: 0)
            try list.remove(at: 0)
            #expect(list.loadNextPage() == id)
            server.gate = nil
            gate.open()
            #expect(await screen.ending() == .success)
            #expect(server.queries.count == requests + 2)
            #expect(indicator.shown.count == 1 && indicator.hides == 1)
            #expect(list.history.newestEndedID == id && !list.isLoading)
            let sends = ["made", "responded 200", "again", "made", "responded 200"]
            #expect(recorder.steps(of: id) == ["began", "started"] + sends + ["success"])
            list.proxy.monitors = []
            await loadRest()
            #expect(list.items == server.entries)
        }
    }

    @Test func `A page that is requested again after an edit has another idempotency key`() async throws {
        final class Searches: PageAPIRequest<[Int]>, APIManager {
            let path = "/searches"
            let method = HTTPMethod.post
            let keys = Counter()
            override var strategy: any PageStrategy { .offset(limit: 3) }
            override var options: APIRequestOptions {
                APIRequestOptions(idempotencyKey: { [keys] in "key \(keys.next())" })
            }
        }
        let gate = Latch()
        let transport = ScriptedTransport { [gate] request in
            if request.headers["Idempotency-Key"] == "key 2" { await gate.waitIgnoringCancellation() }
            return request.headers["Idempotency-Key"] == "key 3" ? .status(503) : .json("[1, 2, 3]")
        }
        let list = Searches(delegate: screen, proxy: APIProxy(service: server.service, transport: transport))
        list.loadData()
        #expect(await screen.ending() == .success)
        list.loadNextPage()
        await suspend(while: transport.requests.count < 2)
        try list.remove(at: 0)
        gate.open()
        #expect(await screen.ending() == .failure(.http))
        list.loadAgain()
        #expect(await screen.ending() == .success)
        let keys = transport.requests.map { $0.headers["Idempotency-Key"] }
        #expect(keys == ["key 1", "key 2", "key 3", "key 4"])
    }

    @Test func `The pages before a window remain within reach when edits move the next page onto it`() async throws {
        list.maxPages = 1
        await load(2)
        for id in [6, 7] {
            server.entries.removeAll { $0.id == id }
            try list.remove(id: id)
            await load(1)
        }
        #expect(ids == [4, 5, 8])
        #expect(list.hasPrevious && list.prependState.isIdle)
        list.loadPreviousPage()
        #expect(await screen.ending() == .success)
        #expect(ids.first == 1)
    }

    @Test func `A page of which the app leaves out what is new is not the last one`() async throws {
        final class Lines: PageAPIRequest<CountedPage<Entry>>, APIManager {
            let path = "/lines"
            let method = HTTPMethod.get
            override var strategy: any PageStrategy { .pageNumber(sizeKey: "size", size: 3) }
            override var itemID: ItemID<Entry>? { ItemID(\.id) }
            func reformData(_ page: CountedPage<Entry>) -> CountedPage<Entry> {
                CountedPage(items: page.items.filter { $0.id != 7 }, totalPages: page.totalPages)
            }
        }
        let entries = Lock((1...9).map { Entry(id: $0, order: 0) })
        let transport = ScriptedTransport { request in
            let number = Int(request.url.query?.split(separator: "page=").last?.prefix { $0.isNumber } ?? "") ?? 1
            let page = entries.withLock { Array($0.dropFirst((number - 1) * 3).prefix(3)) }
            let json = String(decoding: try JSONEncoder().encode(page), as: UTF8.self)
            return .json(#"{"items":\#(json),"totalPages":3}"#)
        }
        let list = Lines(delegate: screen, proxy: APIProxy(service: server.service, transport: transport))
        for _ in 0..<2 {
            list.loadNextPage()
            #expect(await screen.ending() == .success)
        }
        entries.withLock { entries in entries.removeAll { $0.id == 4 } }
        try list.remove(id: 4)
        while list.loadNextPage() != nil { #expect(await screen.ending() == .success) }
        #expect(list.items.map(\.id) == [1, 2, 3, 5, 6, 8, 9])
    }

    @Test func `A repetition of the last page ends the list after an insertion as well`() async throws {
        struct Post: Codable, Identifiable, Sendable {
            let id: Int
        }
        final class Posts: PageAPIRequest<CountedPage<Post>>, APIManager {
            let path = "/posts"
            let method = HTTPMethod.get
            override var strategy: any PageStrategy { .pageNumber(sizeKey: "size", size: 4) }
        }
        let ids = Lock([1, 2])
        let transport = ScriptedTransport { _ in
            let posts = ids.withLock { $0.map { #"{"id":\#($0)}"# }.joined(separator: ",") }
            return .json(#"{"items":[\#(posts)],"totalItems":\#(ids.withLock(\.count))}"#)
        }
        let list = Posts(delegate: screen, proxy: APIProxy(service: server.service, transport: transport))
        list.loadData()
        #expect(await screen.ending() == .success)
        ids.withLock { $0.insert(3, at: 1) }
        try list.insert(Post(id: 3), at: 1)
        while list.loadNextPage() != nil { #expect(await screen.ending() == .success) }
        #expect(list.items.map(\.id) == [1, 3, 2])
    }

    @Test func `Pages of items that the app has inserted are no repetition by the server`() async throws {
        use(.cursor)
        await load(1)
        for row in 3..<15 { try list.insert(server.insert(at: row), at: row) }
        await loadRest()
        #expect(list.items == server.entries)
    }

    @Test func `A page requested by cursor is not requested again after an edit, and its total is the one before`()
        async throws
    {
        use(.cursor)
        server.sendsTotal = true
        await load(1)
        let gate = Latch()
        (server.gate, server.respondsEarly) = (gate, true)
        list.loadNextPage()
        await suspend(while: server.queries.count == 1)
        server.entries.removeFirst()
        try list.remove(at: 0, onServer: true)
        server.gate = nil
        gate.open()
        #expect(await screen.ending() == .success)
        #expect(server.queries.count == 2)
        #expect(list.totalCount == server.entries.count)
        server.insert(at: server.entries.count)
        await load(1)
        #expect(list.totalCount == server.entries.count)
    }

    @Test func `A reload that is running during an edit shows the newest state of the server`() async throws {
        await load(2)
        for load in [{ _ = $0.reload() }, { _ = $0.refreshAll() }] as [(Entries) -> Void] {
            let (gate, requests) = (Latch(), server.queries.count)
            (server.gate, server.respondsEarly) = (gate, true)
            load(list)
            await suspend(while: server.queries.count == requests)
            let removed = server.entries.removeFirst()
            #expect(try list.remove(id: removed.id))
            server.entries[0].version += 1
            try list.replace(server.entries[0])
            server.gate = nil
            gate.open()
            await list.waitUntilLoaded()
            #expect(list.items == Array(server.entries.prefix(list.items.count)))
        }
    }

    @Test func `A previous page that replaces those below it has an edit of them`() async throws {
        use(.cursor)
        server.reset(9)
        list.maxPages = 2
        await load(3)
        let (gate, requests) = (Latch(), server.queries.count)
        (server.gate, server.respondsEarly) = (gate, true)
        // By another user: the first page has items of the second one then, and leads to another cursor.
        server.entries.removeFirst(2)
        list.loadPreviousPage()
        await suspend(while: server.queries.count == requests)
        server.entries[1].version += 1
        #expect(try list.replace(server.entries[1]))
        server.gate = nil
        gate.open()
        await list.waitUntilLoaded()
        #expect(list.items == Array(server.entries.prefix(list.items.count)))
    }

    @Test func `The next page of a list that is edited more often than it is served fails in the end`() async throws {
        use(.offset)
        list.identifies = false
        await load(1)
        server.onResponse = { [server, list] in
            guard server.queries.count < 40 else { return }
            try list.insert(server.insert(at: 0), at: 0)
        }
        list.loadNextPage()
        await list.waitUntilLoaded()
        #expect(server.queries.count == 12, "the first page, the second one, and its repeats")
        #expect(list.appendState.error?.type == .invalidResponse)
        #expect(screen.events.last == .failure(.invalidResponse))
        server.onResponse = {}
        list.retry()
        await list.waitUntilLoaded()
        #expect(list.items == Array(server.entries.prefix(list.items.count)))
        #expect(list.appendState.error == nil)
    }

    @Test func `An edit in the validator of each page does not load it for ever`() async {
        use(.offset)
        list.identifies = false
        await load(1)
        let validator = ValidatorSpy()
        validator.acceptsContent = { [server, list] _ in
            guard server.queries.count < 40 else { return true }
            return (try? list.insert(server.insert(at: 0), at: 0)) != nil
        }
        list.validator = validator
        list.loadNextPage()
        await list.waitUntilLoaded()
        #expect(server.queries.count == 12)
        #expect(list.appendState.error?.type == .invalidResponse)
        #expect(screen.events.last == .failure(.invalidResponse))
        withExtendedLifetime(validator) {}
    }

    @Test func `An edit at the ending of each page does not load it for ever`() async {
        use(.offset)
        list.identifies = false
        await load(1)
        let interceptor = InterceptorSpy()
        interceptor.onCall = { [server, list] _, call in
            guard case .willEnd = call, server.queries.count < 40 else { return }
            _ = try? list.insert(server.insert(at: 0), at: 0)
        }
        list.interceptor = interceptor
        list.loadNextPage()
        #expect(await screen.endings(12).last == .failure(.invalidResponse))
        #expect(server.queries.count == 12)
        let error = list.appendState.error
        #expect(error?.type == .invalidResponse && error?.path == "/entries" && list.error?.type == .invalidResponse)
        await #expect { try await list.allItems() } throws: { ($0 as? APIError)?.type == .invalidResponse }
        #expect(server.queries.count < 40)
        withExtendedLifetime(interceptor) {}
    }

    @Test func `An edit in a hook that is read for each page does not load it for ever`() async {
        use(.offset)
        list.identifies = false
        await load(1)
        var isEditing = false
        list.onIdentity = { [server, unowned list] in
            guard !isEditing, list.isLoading || server.queries.count > 1, server.queries.count < 40 else { return }
            isEditing = true
            _ = try? list.insert(server.insert(at: 0), at: 0)
            isEditing = false
        }
        list.loadNextPage()
        await list.waitUntilLoaded()
        #expect(server.queries.count == 12)
        #expect(list.appendState.error?.type == .invalidResponse)
    }

    @Test func `A closure retains its request until a page that follows up its load has been received`() async {
        let interceptor = InterceptorSpy()
        var lists = [Entries(delegate: screen, proxy: list.proxy)]
        interceptor.onCall = { [server] request, call in
            guard case .willEnd = call, server.queries.count == 1 else { return }
            _ = try? (request as? Entries)?.insert(server.insert(at: 0), at: 0)
        }
        lists[0].interceptor = interceptor
        lists[0].loadData { _ in }
        lists = []
        #expect(await screen.ending() == .success)
        #expect(server.queries.count == 2)
        withExtendedLifetime(interceptor) {}
    }

    @Test func `A page that follows up a closure's load is for the delegate, which the closure cannot be`() async {
        let interceptor = InterceptorSpy()
        interceptor.onCall = { [server, list] _, call in
            guard case .willEnd = call, server.queries.count == 1 else { return }
            _ = try? list.insert(server.insert(at: 0), at: 0)
        }
        list.interceptor = interceptor
        var calls = 0
        list.loadData { _ in calls += 1 }
        #expect(await screen.ending() == .success)
        #expect(calls == 1 && list.items == Array(server.entries.prefix(3)))
        withExtendedLifetime(interceptor) {}
    }

    @Test func `A page in a file that is requested again leaves no other file`() async throws {
        let folder = try TemporaryFolder()
        let list = FileEntries(delegate: screen, proxy: list.proxy)
        list.file = folder.file
        use(.offset)
        let validator = ValidatorSpy()
        validator.acceptsContent = { [server, list] _ in
            if server.queries.count == 2 { _ = try? list.insert(server.insert(at: 0), at: 0) }
            return true
        }
        list.validator = validator
        for _ in 0..<2 {
            list.loadNextPage()
            #expect(await screen.ending() == .success)
        }
        #expect(server.queries.count == 3)
        #expect(try folder.names == [folder.file.lastPathComponent])
        withExtendedLifetime(validator) {}
    }

    @Test func `An edit before each response that the page does not exist does not load it for ever`() async throws {
        (server.isStrict, list.identifies) = (true, false)
        server.reset(6)
        await load(2)
        server.onResponse = { [server, list] in
            guard server.queries.count < 40 else { return }
            try list.insert(Entry(id: 100 + server.queries.count, order: 0), at: 0)
        }
        list.loadNextPage()
        #expect(await screen.ending() == .failure(.invalidResponse))
        #expect(server.queries.count == 13, "two pages, the third one, and its repeats")
        #expect(list.appendState.error?.type == .invalidResponse)
    }

    @Test func `A reader that removes all pages when they change leaves no rows for the observer`() async throws {
        await load(1)
        let (interceptor, changes) = (InterceptorSpy(), Counter())
        interceptor.onCall = { [list] _, call in
            guard case .willEnd = call else { return }
            withObservationTracking {
                _ = list.items
            } onChange: {
                // The change of the reset is observed as well.
                guard changes.next() == 1 else { return }
                MainActor.assumeIsolated { list.reset() }
            }
        }
        list.interceptor = interceptor
        list.loadNextPage()
        #expect(await screen.ending() == .success)
        #expect(list.items.isEmpty && table.rows.isEmpty)
        withExtendedLifetime(interceptor) {}
    }

    @Test func `All items are loaded once, although an edit in a validator outdates a page`() async throws {
        use(.offset)
        let validator = ValidatorSpy()
        validator.acceptsContent = { [server, list] _ in
            guard server.queries.count == 2 else { return true }
            return (try? list.insert(server.insert(at: 0), at: 0)) != nil
        }
        list.validator = validator
        #expect(try await list.allItems() == server.entries.filter { $0.id != 11 })
        #expect(list.items == server.entries)
        #expect(screen.events.isEmpty)
        withExtendedLifetime(validator) {}
    }

    @Test func `An edit between two loads of a refresh of all pages begins the refresh again`() async throws {
        await load(2)
        var hasEdited = false
        list.onService = { [server, unowned list] in
            guard server.queries.count == 3, !hasEdited else { return }
            hasEdited = true
            let removed = server.entries.removeFirst()
            #expect((try? list.remove(id: removed.id)) == true)
        }
        list.refreshAll()
        await list.waitUntilLoaded()
        #expect(server.queries.suffix(3) == ["page=1&size=3", "page=1&size=3", "page=2&size=3"])
        #expect(list.items == Array(server.entries.prefix(6)))
    }

    @Test func `A page that does not exist where an edit has moved from is no end of the list`() async throws {
        (server.isStrict, list.identifies) = (true, false)
        server.reset(6)
        await load(2)
        let gate = Latch()
        (server.gate, server.respondsEarly) = (gate, true)
        list.loadNextPage()
        await suspend(while: server.queries.count == 2)
        server.entries.removeFirst()
        try list.remove(at: 0)
        server.insert(at: 5)
        server.gate = nil
        gate.open()
        #expect(await screen.ending() == .success)
        await loadRest()
        #expect(list.items == server.entries)
    }

    @Test func `A page that failed is loaded at its position after the edits`() async throws {
        use(.offset)
        list.identifies = false
        await load(1)
        server.failNextRequest = true
        list.loadNextPage()
        #expect(await screen.ending() == .failure(.http))
        server.entries.remove(at: 2)
        try list.remove(at: 2)
        #expect(list.appendState.error != nil)
        list.retry()
        #expect(await screen.ending() == .success)
        #expect(server.queries.last == "limit=3&offset=2")
        await loadRest()
        #expect(list.items == server.entries)
    }

    @Test(arguments: [true, false])
    func `An edit inside the validator requests the page again, inside willEnd loads it again`(_ isInside: Bool) async {
        use(.offset)
        list.identifies = false
        await load(1)
        let (validator, interceptor) = (ValidatorSpy(), InterceptorSpy())
        var isFirst = true
        let edit = { [list, server] in
            guard isFirst else { return }
            isFirst = false
            server.entries.removeFirst()
            _ = try? list.remove(at: 0)
        }
        validator.acceptsContent = { _ in
            if isInside { edit() }
            return true
        }
        interceptor.onCall = { _, call in
            if case .willEnd = call, !isInside { edit() }
        }
        (list.validator, list.interceptor) = (validator, interceptor)
        list.loadNextPage()
        #expect(await screen.endings(isInside ? 1 : 2).allSatisfy { $0 == .success })
        await list.waitUntilLoaded()
        #expect(server.queries == ["limit=3&offset=0", "limit=3&offset=3", "limit=3&offset=2"])
        (list.validator, list.interceptor) = (nil, nil)
        await loadRest()
        #expect(list.items == server.entries)
    }

    @Test func `An edit inside the observer is applied after the change before it`() async throws {
        var isFirst = true
        table.onChange = { [list] in
            guard isFirst else { return }
            isFirst = false
            _ = try? list.insert(Entry(id: 50, order: 0), at: 0, onServer: false)
        }
        await load(2)
        #expect(table.rows == list.items)
        #expect(table.changes == ["+3-0", "+1-0"])
    }

    @Test func `An edit while the indicator hides is applied after the page`() async throws {
        final class Editor: LoadingIndicator {
            weak var list: Entries?
            func showLoading(_ message: String?) {}
            func hideLoading() { _ = try? list?.remove(at: 0, onServer: false) }
        }
        let editor = Editor()
        editor.list = list
        await load(1)
        list.loadNextPage(indicator: editor)
        #expect(await screen.ending() == .success)
        #expect(table.rows == list.items)
        #expect(table.changes == ["+3-0", "+0-1"])
    }

    @Test func `Items are inserted before the first page has been loaded, which then replaces them`() async throws {
        #expect(try list.insert(Entry(id: 50, order: 0), at: 0))
        #expect(ids == [50] && !list.hasMore)
        await load(1)
        #expect(ids == [1, 2, 3])
        for _ in 1...3 {
            server.entries.removeFirst()
            try list.remove(at: 0)
        }
        #expect(list.items.isEmpty && list.hasMore)
        await loadRest()
        #expect(list.items == server.entries)
    }

    @Test func `A list that is loading is released with its last reference`() async {
        let gate = Latch()
        server.gate = gate
        var lists = [Entries(proxy: list.proxy)]
        let isReleased = { [weak list = lists[0]] in list == nil }
        lists[0].reload()
        await suspend(while: server.queries.isEmpty)
        lists = []
        #expect(isReleased())
        gate.open()
    }
}

/// Pages that are stored in a file.
private final class FileEntries: PageAPIRequest<PageModel<Entry>>, APIManager {
    let path = "/entries"
    let method = HTTPMethod.get
    var file = URL(filePath: "/")
    override var strategy: any PageStrategy { .offset(limit: EditingServer.pageSize) }
    override var destination: HTTPRequest.Destination { .file(file) }
    let responseSerializer = ResponseSerializer { response, _ in
        let data = try response.file.map { try Data(contentsOf: $0) }
        return try JSONDecoder().decode(PageModel<Entry>.self, from: data ?? response.body)
    }
}

@MainActor @Suite("An item that is shown before the server has it", .timeLimit(.minutes(10)))
struct LocalEchoTests {
    /// What happens while the item is sent.
    enum Meanwhile: CaseIterable {
        case nothing, anotherItem, reloadBefore, reloadAfter, failure
    }

    @Test(arguments: EditingServer.Way.allCases, Meanwhile.allCases)
    func `It becomes the server's item with another ID, in one row, and no item is skipped`(
        _ way: EditingServer.Way,
        _ meanwhile: Meanwhile
    ) async throws {
        let (server, screen) = (EditingServer(), RequestRecorder())
        server.reset(10)
        let list = Entries(delegate: screen, proxy: APIProxy(service: server.service, transport: server.transport))
        server.way = way
        list.customStrategy = server.strategy()
        let reload = {
            list.reload()
            #expect(await screen.ending() == .success)
        }
        await reload()
        let echo = Entry(id: -1, order: 0)
        try list.insert(echo, at: 0)
        #expect(list.items[0] == echo)
        if meanwhile == .reloadBefore { await reload() }
        if meanwhile == .anotherItem { try list.insert(server.insert(at: 0), at: 0) }
        if meanwhile == .failure {
            try list.remove(id: echo.id)
        } else {
            let sent = server.insert(at: meanwhile == .anotherItem ? 1 : 0)
            if meanwhile == .reloadAfter { await reload() }
            try confirm(echo, as: sent, in: list)
            #expect(list.items.filter { $0 == sent }.count == 1)
        }
        while list.loadNextPage() != nil { #expect(await screen.ending() == .success) }
        #expect(list.items == server.entries)
    }

    /// The steps of the article "Lists".
    private func confirm(_ echo: Entry, as sent: Entry, in list: Entries) throws {
        let row = list.items.firstIndex { $0.id == echo.id }
        if let row, !list.items.contains(where: { $0.id == sent.id }) {
            try list.replace(at: row, with: sent)
        } else {
            try list.remove(id: echo.id)
            try list.insert(sent, at: 0)
        }
    }
}
