import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@Suite("Strategies by number and by offset", .hangLimit, .timeLimit(.minutes(10)))
struct PageStrategyTests {
    @Test(
        .fault(81),
        arguments: [
            // Without a total a page is the last one when it is empty, or shorter than requested and than another page.
            (PageInfo.sample(20), true), (.sample(19), true), (.sample(0), false), (.sample(19, largest: 20), false),
            (.sample(30, largest: 40), true),
            // A total that is not reached means more pages, whatever the size of the page.
            (.sample(20, total: 21), true), (.sample(5, largest: 20, total: 21), true),
            (.sample(0, largest: 20, total: 99), false), (.sample(20, before: 20, total: .max), true),
            // A page as long as the others is not the last one, even if the total is reached or exceeded.
            (.sample(20, before: 20, total: 40), true), (.sample(20, total: 3), true),
            (.sample(7, before: 40, largest: 20, total: 47), false), (.sample(7, total: 7), true),
            (.sample(7, before: 40, largest: 20, total: 46), false), (.sample(7, before: nil, largest: 20), false),
        ]
    )
    func `The end follows from the items received`(_ page: PageInfo, _ hasMore: Bool) {
        #expect((PageNumberStrategy().position(after: page) != nil) == hasMore)
        guard let before = page.itemsBefore else { return }
        let next = PagePosition.offset(before + page.itemCount)
        #expect(OffsetStrategy().position(after: page.at(.offset(before))) == (hasMore ? next : nil))
    }

    @Test(arguments: [
        (PageInfo.sample(20, before: 20, total: 40), false), (.sample(20, before: 20, total: 41), true),
        (.sample(20, pages: 1), false), (.sample(20, pages: 2), true), (.sample(20, total: 40, pages: 1), true),
        (.sample(20, before: 20, total: 40, pages: 9), false), (.sample(20, before: nil, total: 20), true),
    ])
    func `An exact total ends the list, that of items before that of pages`(_ page: PageInfo, _ hasMore: Bool) {
        #expect((PageNumberStrategy(totalIsExact: true).position(after: page) != nil) == hasMore)
        guard let before = page.itemsBefore, page.totalPages == nil else { return }
        let offsets = OffsetStrategy(totalIsExact: true)
        #expect((offsets.position(after: page.at(.offset(before))) != nil) == hasMore)
    }

    @Test(arguments: [true, false]) func `What the page says of more pages precedes its length and its totals`(
        _ hasMore: Bool
    ) throws {
        for page in [PageInfo.sample(20), .sample(3, before: 20, largest: 20), .sample(20, total: hasMore ? 20 : 99)] {
            var page = page
            page.hasMore = hasMore
            let next = PagePosition.number(page.itemsBefore == 0 ? 2 : 3)
            #expect(PageNumberStrategy().position(after: page) == (hasMore ? next : nil))
            #expect(PageNumberStrategy().expectation(after: page) == (hasMore ? .more : .end))
            page.itemsBefore = 0
            #expect((OffsetStrategy().position(after: page.at(.offset(0))) != nil) == hasMore)
        }
        var empty = PageInfo.sample(0)
        empty.hasMore = true
        #expect(PageNumberStrategy().position(after: empty) == nil)
        struct Page: PageResponse, Sendable {
            var items = [1]
            var hasMore: Bool?
            var nextCursor: String? = "c"
        }
        let response = APIResponse(HTTPResponse(status: 200), url: URL("http://shop.test"))
        let info = PageInfo(Page(hasMore: hasMore), at: .start, in: response)
        #expect(try CursorStrategy().position(after: info) == (hasMore ? .cursor("c", parameter: "cursor") : nil))
    }

    @Test(arguments: [
        (PageInfo.sample(20), PageExpectation.unknown), (.sample(19), .end), (.sample(19, before: 19), .unknown),
        (.sample(20, total: 22), .more), (.sample(20, total: 21), .end), (.sample(20, total: 20), .end),
        (.sample(20, total: 3), .end), (.sample(20, pages: 3), .more), (.sample(20, pages: 2), .end),
        (.sample(20, total: .max), .more), (.sample(20, total: .min), .end),
        (.sample(5, before: nil, total: 9), .unknown),
    ])
    func `The expectation after a page follows from the total`(_ page: PageInfo, _ expectation: PageExpectation) {
        #expect(PageNumberStrategy().expectation(after: page) == expectation)
        guard let before = page.itemsBefore, page.totalPages == nil else { return }
        #expect(OffsetStrategy().expectation(after: page.at(.offset(before))) == expectation)
    }

    @Test(arguments: [
        (2, 0, -1, 1, 2), (2, 0, 1, 2, 1), (2, 0, 0, 2, 0), (2, 0, -3, 1, 0), (3, 0, -4, 1, 2), (1, 2, 1, 2, 0),
        (1, 0, -1, 1, 0), (2, 1, 5, 4, 0), (2, 1, -1, 2, 0), (1, 0, 7, 3, 1),
    ])
    func `A start by number moves to the page that contains it`(
        _ number: Int,
        _ preceding: Int,
        _ count: Int,
        _ target: Int,
        _ rest: Int
    ) {
        let start = PageStart(.number(number), precedingItems: preceding)
        let moved = PageNumberStrategy().start(start, movedBy: count, pageSize: 3)
        #expect(moved == PageStart(.number(target), precedingItems: rest))
    }

    @Test func `A start by offset moves by the number of items, and other starts do not move`() {
        func moved(_ position: PagePosition, by count: Int, _ strategy: any PageStrategy) -> PageStart? {
            strategy.start(PageStart(position), movedBy: count, pageSize: 3)
        }
        #expect(moved(.offset(5), by: -2, OffsetStrategy()) == PageStart(.offset(3)))
        #expect(moved(.offset(1), by: -2, OffsetStrategy()) == PageStart(.offset(0)))
        #expect(moved(.offset(.max), by: 1, OffsetStrategy()) == PageStart(.offset(.max)))
        #expect(moved(.number(.max), by: 3, PageNumberStrategy()) == PageStart(.number(.max)))
        #expect(moved(.number(.min), by: -3, PageNumberStrategy(first: .min)) == PageStart(.number(.min)))
        #expect(moved(.number(2), by: 1, OffsetStrategy()) == PageStart(.number(2)))
        #expect(moved(.start, by: 1, LinkStrategy()) == nil && moved(.start, by: 1, CursorStrategy()) == nil)
        #expect(PageNumberStrategy().start(PageStart(.number(2)), movedBy: 1, pageSize: 0) == PageStart(.number(2)))
    }

    @Test func `Numbers and offsets do not overflow`() {
        #expect(PageNumberStrategy().position(after: .sample(20).at(.number(.max))) == nil)
        #expect(PageNumberStrategy(first: .min).position(after: .sample(20, pages: .max).at(.number(5))) == .number(6))
        #expect(OffsetStrategy().position(after: .sample(20).at(.offset(.max))) == nil)
        #expect(OffsetStrategy().expectation(after: .sample(20, total: .max).at(.offset(.max))) == .end)
    }

    @Test(arguments: [(20, 80), (17, 83), (0, 80), (200, 0)])
    func `The previous page is as long as the largest page`(_ largest: Int, _ offset: Int) {
        let page = PageInfo.sample(0, largest: largest).at(.offset(100))
        #expect(OffsetStrategy().position(before: page) == .offset(offset))
        #expect(OffsetStrategy().position(before: page.at(.offset(0))) == nil)
    }

    @Test(arguments: [0, -1, Int.min]) func `A page size below 1 is refused`(_ size: Int) {
        #expect(throws: PageStrategyError.self) { try PageNumberStrategy(size: size).params(at: .number(1)) }
        #expect(throws: PageStrategyError.self) { try OffsetStrategy(limit: size).params(at: .offset(0)) }
    }

    @Test func `The app names the parameters of a page`() throws {
        let strategy: StandardPageStrategy = .pageNumber(pageKey: "p", sizeKey: "n", size: 5)
        let params = try strategy.params(at: .number(3))
        #expect(params["p"] as? Int == 3 && params["n"] as? Int == 5 && params["page"] == nil)
    }

    @Test func `A page of all items can`() throws {
        let all = PageNumberStrategy(size: .max)
        #expect(try all.params(at: .number(1))["pageSize"] as? Int == .max)
        #expect(all.position(after: .sample(20)) == .number(2))
        #expect(all.position(after: .sample(0)) == nil)
    }
}

extension PageInfo {
    /// A page with the number `before / 20 + 1`.
    fileprivate static func sample(
        _ count: Int,
        before: Int? = 0,
        largest: Int? = nil,
        total: Int? = nil,
        pages: Int? = nil
    ) -> Self {
        let url = URL("http://shop.test")
        return PageInfo(
            position: .number((before ?? 0) / 20 + 1),
            itemCount: count,
            itemsBefore: before,
            largestPage: largest,
            totalItems: total,
            totalPages: pages,
            response: APIResponse(HTTPResponse(status: 200), url: url)
        )
    }

    fileprivate func at(_ position: PagePosition) -> Self {
        var page = PageInfo(
            position: position,
            itemCount: itemCount,
            itemsBefore: itemsBefore,
            largestPage: largestPage,
            totalItems: totalItems,
            totalPages: totalPages,
            response: response
        )
        page.hasMore = hasMore
        return page
    }
}

@MainActor
@Suite("A page has as many items as the server has sent, whatever the app leaves out", .timeLimit(.minutes(10)))
struct PageCountTests {
    private final class Rows<Row: Decodable & Sendable>: PageAPIRequest<[Row]>, APIManager {
        let path = "/rows"
        let method = HTTPMethod.get
        var customStrategy: any PageStrategy = .pageNumber(size: 4)
        var isWanted: @MainActor (Row) -> Bool = { _ in true }
        var hasIDs = false
        override var strategy: any PageStrategy { customStrategy }
        override var itemID: ItemID<Row>? { hasIDs ? ItemID { "\($0)" } : nil }
        func reformData(_ response: [Row]) -> [Row] { response.filter(isWanted) }
    }

    private nonisolated static let strategies: [any PageStrategy] = [.offset(limit: 4), .pageNumber(size: 4)]

    /// Returns a list of the numbers 0 to 9, of which those in `bad` are no numbers.
    private func list(_ strategy: any PageStrategy, bad: Set<Int> = []) -> Rows<Int> {
        let transport = ScriptedTransport { request in
            let page = request.query["page"]?.first.flatMap { Int($0) }.map { ($0 - 1) * 4 }
            let start = page ?? request.query["offset"]?.first.flatMap { Int($0) } ?? 0
            let items = (start..<max(start, min(start + 4, 10))).map { bad.contains($0) ? "{}" : "\($0)" }
            return .json(#"{"errcode":200,"data":[\#(items.joined(separator: ","))]}"#)
        }
        let service = APIService.sample { if !bad.isEmpty { $0.decoder = .lenient(skippingBadElements: true) } }
        let list = Rows<Int>(proxy: APIProxy(service: service, transport: transport))
        list.customStrategy = strategy
        return list
    }

    @Test(arguments: strategies)
    func `A list does not end at a page from which the app has removed items`(_ strategy: any PageStrategy) async throws
    {
        let list = list(strategy)
        list.isWanted = { !$0.isMultiple(of: 3) }
        #expect(try await list.allItems() == [1, 2, 4, 5, 7, 8])
        // A whole page.
        list.isWanted = { !(4..<8).contains($0) }
        #expect(try await list.allItems() == [0, 1, 2, 3, 8, 9])
    }

    @Test(arguments: strategies, [true, false])
    func `Pages from which the app removes all items are no repeated ones`(
        _ strategy: any PageStrategy,
        _ hasIDs: Bool
    ) async throws {
        let transport = ScriptedTransport { request in
            let page = request.query["page"]?.first.flatMap { Int($0) }.map { ($0 - 1) * 4 }
            let start = page ?? request.query["offset"]?.first.flatMap { Int($0) } ?? 0
            let items = (start..<max(start, min(start + 4, 40))).map(String.init).joined(separator: ",")
            return .json(#"{"errcode":200,"data":[\#(items)]}"#)
        }
        let list = Rows<Int>(proxy: APIProxy(fake: transport))
        (list.customStrategy, list.hasIDs) = (strategy, hasIDs)
        list.isWanted = { !(4..<36).contains($0) }
        #expect(try await list.allItems() == [0, 1, 2, 3, 36, 37, 38, 39])
    }

    @Test(arguments: [true, false])
    func `A page from which the app removes all items does not end a list after a short page`(
        _ hasIDs: Bool
    ) async throws {
        // The server has smaller pages than are asked for, and no total.
        let transport = ScriptedTransport { request in
            let page = request.query["page"]?.first.flatMap { Int($0) } ?? 1
            let items = page > 4 ? "" : "\(page * 2 - 2),\(page * 2 - 1)"
            return .json(#"{"errcode":200,"data":[\#(items)]}"#)
        }
        let list = Rows<Int>(proxy: APIProxy(fake: transport))
        list.hasIDs = hasIDs
        list.isWanted = { !(2..<4).contains($0) }
        #expect(try await list.allItems() == [0, 1, 4, 5, 6, 7])
        #expect(!list.hasMore)
    }

    struct Comment: Decodable, Sendable, Equatable {
        let id: Int
        let replies: [Comment]?
    }

    private final class Comments: PageAPIRequest<[Comment]>, APIManager {
        let path = "/comments"
        let method = HTTPMethod.get
        override var strategy: any PageStrategy { .offset(limit: 2) }
    }

    @Test func `Elements that cannot be decoded inside an item are no items`() async throws {
        let transport = ScriptedTransport { request in
            let start = request.query["offset"]?.first.flatMap { Int($0) } ?? 0
            let items = (start..<max(start, min(start + 2, 5))).map { #"{"id":\#($0),"replies":[{},{"id":9},{}]}"# }
            return .json(#"{"errcode":200,"data":[\#(items.joined(separator: ","))]}"#)
        }
        let service = APIService.sample { $0.decoder = .lenient(skippingBadElements: true) }
        let comments = Comments(proxy: APIProxy(service: service, transport: transport))
        #expect(try await comments.allItems().map(\.id) == [0, 1, 2, 3, 4])
        #expect(comments.items.first?.replies?.map(\.id) == [9])
    }

    @Test(arguments: strategies)
    func `A list does not end at a page with elements that cannot be decoded`(_ strategy: any PageStrategy) async throws
    {
        #expect(try await list(strategy, bad: [5]).allItems() == [0, 1, 2, 3, 4, 6, 7, 8, 9])
        #expect(try await list(strategy, bad: [0, 4, 5, 6, 7]).allItems() == [1, 2, 3, 8, 9])
    }

    private struct Shelf: PageResponse, Decodable {
        let items: [Int]
        let recommended: [Int]
    }

    private final class Shelves: PageAPIRequest<Shelf>, APIManager {
        let path = "/shelves"
        let method = HTTPMethod.get
        override var strategy: any PageStrategy { .offset(limit: 4) }
    }

    @Test func `Elements of another array of a page that cannot be decoded are no items`() async throws {
        let transport = ScriptedTransport { request in
            let start = request.query["offset"]?.first.flatMap { Int($0) } ?? 0
            let items = (start..<max(start, min(start + 4, 10))).map { $0 == 5 ? "{}" : "\($0)" }.joined(separator: ",")
            return .json(#"{"errcode":200,"data":{"items":[\#(items)],"recommended":[{},1,2,{}]}}"#)
        }
        let service = APIService.sample { $0.decoder = .lenient(skippingBadElements: true) }
        let shelves = Shelves(proxy: APIProxy(service: service, transport: transport))
        #expect(try await shelves.allItems() == [0, 1, 2, 3, 4, 6, 7, 8, 9])
    }

    @Test func `Elements of an array as long as the items that cannot be decoded are no items`() async throws {
        let transport = ScriptedTransport { request in
            let start = request.query["offset"]?.first.flatMap { Int($0) } ?? 0
            let items = (start..<max(start, min(start + 4, 10))).map { "\($0)" }.joined(separator: ",")
            return .json(#"{"errcode":200,"data":{"items":[\#(items)],"recommended":[{},1,2,3,4]}}"#)
        }
        let service = APIService.sample { $0.decoder = .lenient(skippingBadElements: true) }
        let shelves = Shelves(proxy: APIProxy(service: service, transport: transport))
        #expect(try await shelves.allItems() == Array(0..<10))
    }

    private struct Counted: PageResponse, Decodable {
        let items: [Int]
        let totalItems: Int?
    }

    private final class CountedList: PageAPIRequest<Counted>, APIManager {
        let path = "/counted"
        let method = HTTPMethod.get
        override var strategy: any PageStrategy { .pageNumber(size: 2) }
    }

    @Test func `A total that only the first page has is that of the list`() async throws {
        let transport = ScriptedTransport { request in
            let page = request.query["page"]?.first.flatMap { Int($0) } ?? 1
            let total = page == 1 ? #","totalItems":4"# : ""
            return .json(#"{"errcode":200,"data":{"items":[\#(page * 2 - 1),\#(page * 2)]\#(total)}}"#)
        }
        let list = CountedList(proxy: APIProxy(fake: transport))
        var pages = list.pages().makeAsyncIterator()
        #expect(try await pages.next() == [1, 2] && list.totalCount == 4)
        #expect(try await pages.next() == [3, 4] && list.totalCount == 4)
    }

    @Test func `A short page does not end a list whose total only the first page has`() async throws {
        let transport = ScriptedTransport { request in
            let pages = [[1, 2], [3], [4]]
            let page = request.query["page"]?.first.flatMap { Int($0) } ?? 1
            let items = pages.indices.contains(page - 1) ? pages[page - 1] : []
            return .json(#"{"errcode":200,"data":{"items":\#(items)\#(page == 1 ? #","totalItems":4"# : "")}}"#)
        }
        let list = CountedList(proxy: APIProxy(fake: transport))
        #expect(try await list.allItems() == [1, 2, 3, 4])
        #expect(list.totalCount == 4 && !list.hasMore)
        list.refreshAll()
        await list.waitUntilIdle()
        #expect(list.totalCount == 4)
    }

    private struct Number: Decodable {
        let value: Int
        init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Int.self) }
    }

    private final class Serialized: PageAPIRequest<[Int]>, APIManager {
        let path = "/rows"
        let method = HTTPMethod.get
        var serializer = ResponseSerializer<[Int]>.automatic
        var responseSerializer: ResponseSerializer<[Int]> { serializer }
        override var strategy: any PageStrategy { .offset(limit: 4) }
    }

    @Test func `Elements are counted whatever serializer has left them out`() async throws {
        let transport = ScriptedTransport { request in
            let start = request.query["offset"]?.first.flatMap { Int($0) } ?? 0
            let items = (start..<max(start, min(start + 4, 10))).map { $0 == 5 ? "{}" : "\($0)" }.joined(separator: ",")
            return .json(#"{"errcode":200,"data":[\#(items)]}"#)
        }
        let lenient = JSONDecoder.lenient(skippingBadElements: true)
        let serializers: [ResponseSerializer<[Int]>] = [
            .decoded(by: lenient), .choosing { _ in .decoded(by: lenient) },
            ResponseSerializer<[Number]>.decoded(by: lenient).map { $0.map(\.value) },
            ResponseSerializer { try ResponseSerializer<[Int]>.decoded(by: lenient).value(of: $0, from: $1) },
        ]
        for serializer in serializers {
            let list = Serialized(proxy: APIProxy(fake: transport))
            list.serializer = serializer
            #expect(try await list.allItems() == [0, 1, 2, 3, 4, 6, 7, 8, 9])
        }
    }

    private struct Row: Decodable, Identifiable, Equatable, ExpressibleByIntegerLiteral {
        let id: Int
        init(integerLiteral id: Int) { self.id = id }
        init(from decoder: any Decoder) throws { id = try decoder.singleValueContainer().decode(Int.self) }
    }

    private final class Numbered: Sendable {
        let numbers = Lock(Array(0..<8))
    }

    /// A list of the numbers that `server` has at the time of each request.
    private func rows<Row>(of server: Numbered, _ type: Row.Type) -> Rows<Row> {
        let transport = ScriptedTransport { request in
            let page = request.query["page"]?.first.flatMap { Int($0) }.map { ($0 - 1) * 4 }
            let start = page ?? request.query["offset"]?.first.flatMap { Int($0) } ?? 0
            let items = server.numbers.withLock { $0.dropFirst(start).prefix(4).map(String.init) }
            return .json(#"{"errcode":200,"data":[\#(items.joined(separator: ","))]}"#)
        }
        return Rows(proxy: APIProxy(fake: transport))
    }

    private func removeFirst<Row>(of server: Numbered, in list: Rows<Row>) throws {
        server.numbers.withLock { _ = $0.removeFirst() }
        try list.remove(at: 0)
    }

    @Test(arguments: [2, 4]) func `After an edit, a page from which the app removes items has each of its rows`(
        _ hidden: Int
    ) async throws {
        let server = Numbered()
        let list = rows(of: server, Row.self)
        list.isWanted = { $0.id != hidden }
        _ = try await list.value()
        try removeFirst(of: server, in: list)
        while list.loadNextPage() != nil { await list.waitUntilIdle() }
        #expect(list.items.map(\.id) == (1..<8).filter { $0 != hidden })
    }

    @Test func `A row that only the app has removed stays removed`() async throws {
        let server = Numbered()
        let list = rows(of: server, Row.self)
        list.isWanted = { $0.id != 2 }
        _ = try await list.value()
        try removeFirst(of: server, in: list)
        try list.remove(at: 1, onServer: false)
        while list.loadNextPage() != nil { await list.waitUntilIdle() }
        #expect(list.items.map(\.id) == [1, 4, 5, 6, 7])
    }

    @Test(arguments: [2, 4]) func `After an edit, no item without an identity is missing`(_ hidden: Int) async throws {
        let server = Numbered()
        let list = rows(of: server, Int.self)
        list.isWanted = { $0 != hidden }
        _ = try await list.value()
        try removeFirst(of: server, in: list)
        while list.loadNextPage() != nil { await list.waitUntilIdle() }
        #expect(Set(list.items) == Set(1..<8).subtracting([hidden]))
    }

    @Test(arguments: 0..<4) func `A page in front from which the app removes items repeats no row`(
        _ hidden: Int
    ) async throws {
        let list = rows(of: Numbered(), Row.self)
        list.customStrategy = .offset(limit: 4, startOffset: 2)
        list.isWanted = { $0.id != hidden }
        _ = try await list.value()
        #expect(list.loadPreviousPage() != nil)
        await list.waitUntilIdle()
        #expect(list.items.map(\.id) == (0..<6).filter { $0 != hidden })
    }
}

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
        for seed in 1...UInt64(rounds(400, slow: 4_000)) {
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
        for seed in 1...UInt64(rounds(200, slow: 2_000)) {
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
        for seed in 1...UInt64(rounds(100, slow: 1_000)) {
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

/// A server that deviates in page sizes, totals, and responses after the end.
final class PagingServer: Sendable {
    /// How the server uses the requested size.
    enum Size: CaseIterable {
        case honoured, capped, ignored, roundedUp, roundedDown

        func effective(requested asked: Int, own: Int) -> Int {
            switch self {
            case .honoured: asked
            case .capped: min(asked, own)
            case .ignored: own
            case .roundedUp: (asked + own - 1) / own * own
            case .roundedDown: max(own, asked / own * own)
            }
        }
    }

    /// The totals in a response.
    enum Total: CaseIterable {
        case none, items, pages, pagesOfAskedSize, both
    }

    /// The response to a request for a page after the end.
    enum PastEnd: CaseIterable {
        case empty, notFound, lastPage
    }

    /// How the end of the list changes while it is loaded.
    enum Change: CaseIterable {
        case none, grows, shrinks
    }

    struct Rules {
        var way = Way.number
        var size = Size.honoured
        var customSize = 5
        var asked = 5
        var total = Total.none
        /// The error of each total.
        var error = 0
        var pastEnd = PastEnd.empty
        var change = Change.none
    }

    enum Way: CaseIterable { case number, offset, cursor, link }

    private struct State {
        var count: Int
        var requests = 0
        var served = 0
        var remaining = 0
    }

    let rules: Rules
    private let state: Lock<State>

    init(_ rules: Rules, count: Int) {
        self.rules = rules
        state = Lock(State(count: count))
    }

    var count: Int { state.withLock(\.count) }
    /// The number of items after the newest page that was not empty.
    var remaining: Int { state.withLock(\.remaining) }
    var served: Int { state.withLock(\.served) }
    var requests: Int { state.withLock(\.requests) }

    var transport: ScriptedTransport { ScriptedTransport(keepsRequests: false) { [self] in response($0) } }

    private func response(_ request: HTTPRequest) -> HTTPResponse {
        let query = URLComponents(url: request.url, resolvingAgainstBaseURL: true)?.queryItems ?? []
        func number(_ name: String) -> Int? { query.first { $0.name == name }?.value.flatMap { Int($0) } }
        return state.withLock { state in
            change(&state)
            state.requests += 1
            let size = rules.size.effective(requested: number("size") ?? rules.asked, own: rules.customSize)
            var start = number("start") ?? ((number("page") ?? 1) - 1) * size
            if start >= state.count, start > 0 {
                if rules.pastEnd == .notFound { return HTTPResponse(status: 404) }
                if rules.pastEnd == .lastPage { start = max(0, (state.count - 1) / size * size) }
            }
            return page(start, size, &state)
        }
    }

    private func change(_ state: inout State) {
        guard state.requests > 0, state.requests < 6 else { return }
        switch rules.change {
        case .none: break
        case .grows: state.count += state.requests % 3
        case .shrinks: state.count = max(state.served, state.count - state.requests % 3)
        }
    }

    private func page(_ start: Int, _ size: Int, _ state: inout State) -> HTTPResponse {
        let end = min(state.count, start + size)
        let list = Array(start..<max(start, end))
        if start < end { state.served = max(state.served, end) }
        state.remaining = start < end ? state.count - end : min(state.remaining, state.count - state.served)
        var members = [#""list":\#(list)"#]
        // Without IDs, a repeated page is recognized by its bytes.
        if rules.pastEnd != .lastPage { members.append(#""time":\#(state.requests)"#) }
        func pages(of size: Int) -> Int { (state.count + size - 1) / size + rules.error }
        if [.items, .both].contains(rules.total) { members.append(#""totalRow":\#(state.count + rules.error)"#) }
        if [.pages, .both].contains(rules.total) { members.append(#""totalPage":\#(pages(of: size))"#) }
        if rules.total == .pagesOfAskedSize { members.append(#""totalPage":\#(pages(of: rules.asked))"#) }
        if end < state.count, rules.way == .cursor { members.append(#""next":"\#(end)""#) }
        var headers: HTTPHeaders = ["Content-Type": "application/json"]
        if end < state.count, rules.way == .link { headers["Link"] = "<?start=\(end)>; rel=next" }
        return HTTPResponse(status: 200, headers: headers, body: Data("{\(members.joined(separator: ","))}".utf8))
    }
}

extension PagingServer.Rules {
    init(using random: inout SplitMix) {
        way = PagingServer.Way.allCases.randomElement(using: &random) ?? .number
        size = PagingServer.Size.allCases.randomElement(using: &random) ?? .honoured
        customSize = Int.random(in: 1...6, using: &random)
        asked = Int.random(in: 1...8, using: &random)
        total = PagingServer.Total.allCases.randomElement(using: &random) ?? .none
        error = Int.random(in: -1...1, using: &random)
        pastEnd = PagingServer.PastEnd.allCases.randomElement(using: &random) ?? .empty
        change =
            Int.random(in: 0..<3, using: &random) > 0
            ? .none : PagingServer.Change.allCases.randomElement(using: &random) ?? .none
        // A repeated last page is the end if the total is reached; without a total it is a faulty server.
        if pastEnd == .lastPage, way != .number || ![.items, .both].contains(total) { pastEnd = .notFound }
        // A total includes items that have been removed since it was sent.
        if change == .shrinks { pastEnd = .empty }
        // An item added to a page that has been loaded is on no later page.
        if change == .grows, way == .number { change = .none }
    }

    func strategy(opening: Int? = nil) -> any PageStrategy {
        switch way {
        case .number: .pageNumber(sizeKey: "size", size: asked, startNumber: opening)
        case .offset: .offset(offsetKey: "start", limitKey: "size", limit: asked, startOffset: opening ?? 0)
        case .cursor: .cursor("start", next: .body("next"), sizeKey: "size", size: asked)
        case .link: .link(sizeKey: "size", size: asked)
        }
    }
}
