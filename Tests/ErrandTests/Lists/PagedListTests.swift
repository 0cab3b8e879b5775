import Foundation
import Testing

@testable import Errand

@Suite("The states of a list and the rules between them", .timeLimit(.minutes(10)))
struct PagedListTests {
    struct Page: PageResponse, Sendable {
        var items: [Int]
        var totalItems: Int?
        var totalPages: Int?
    }

    private let answer = APIResponse(
        HTTPResponse(status: 200),
        url: URL("http://shop.test"),
        redirects: [],
        duration: .zero
    )
    private let size3 = PageNumber(size: 3)

    private func accept(
        _ list: inout PagedList<Int>,
        _ items: [Int],
        _ id: RequestID,
        pages: Int? = nil,
        total: Int? = nil,
        itemID: ItemID<Int>? = nil
    ) {
        let page = Page(items: items, totalItems: total, totalPages: pages)
        _ = list.accept(page, answer, for: id, PageRules(strategy: size3, itemID: itemID, maxPages: nil))
    }

    @Test func `Pages follow each other to the short one`() {
        var list = PagedList<Int>()
        let ids = [RequestID.next(), .next()]
        _ = list.begin(.first, ids[0], strategy: size3)
        #expect(list.refreshState.isLoading)
        accept(&list, [1, 2, 3], ids[0])
        #expect(list.content.next == .number(2))
        _ = list.begin(.next, ids[1], strategy: size3)
        #expect(list.appendState.isLoading)
        accept(&list, [4], ids[1])
        #expect(list.content.items == [1, 2, 3, 4])
        #expect(list.appendState.isEnd)
    }

    @Test func `A late page of an append that a refresh has beaten is dropped`() {
        var list = PagedList<Int>()
        let ids = [RequestID.next(), .next(), .next()]
        _ = list.begin(.first, ids[0], strategy: size3)
        accept(&list, [1, 2, 3], ids[0])
        _ = list.begin(.next, ids[1], strategy: size3)
        _ = list.begin(.first, ids[2], strategy: size3)
        #expect(!list.appendState.isLoading)
        accept(&list, [4, 5, 6], ids[1])
        #expect(list.content.items == [1, 2, 3])
        accept(&list, [7, 8, 9], ids[2])
        #expect(list.content.items == [7, 8, 9])
        #expect(list.content.next == .number(2))
        accept(&list, [4, 5, 6], ids[1])
        #expect(list.content.items == [7, 8, 9])
    }

    @Test func `A failed refresh keeps items and position, a failed append its position`() {
        var list = PagedList<Int>()
        let ids = (0..<5).map { _ in RequestID.next() }
        _ = list.begin(.first, ids[0], strategy: size3)
        accept(&list, [1, 2, 3], ids[0])
        _ = list.begin(.next, ids[1], strategy: size3)
        accept(&list, [4, 5, 6], ids[1])
        _ = list.begin(.first, ids[2], strategy: size3)
        _ = list.fail(APIError(.timeout), for: ids[2])
        #expect(list.refreshState.error?.type == .timeout)
        #expect(list.content.items.count == 6)
        #expect(list.content.next == .number(3))
        _ = list.begin(.next, ids[3], strategy: size3)
        _ = list.fail(APIError(.transport), for: ids[3])
        #expect(list.appendState.error?.type == .transport)
        #expect(list.content.next == .number(3))
        _ = list.begin(.next, ids[4], strategy: size3)
        _ = list.fail(APIError(.cancelled), for: ids[4])
        #expect(list.appendState.error == nil)
        #expect(!list.appendState.isLoading)
        #expect(list.content.next == .number(3))
    }

    @Test func `An ID makes an item itself, so that it is shown once`() {
        var list = PagedList<Int>()
        let ids = [RequestID.next(), .next()]
        let itemID = ItemID<Int> { $0 % 10 }
        _ = list.begin(.first, ids[0], strategy: size3)
        accept(&list, [1, 2, 12], ids[0], itemID: itemID)
        _ = list.begin(.next, ids[1], strategy: size3)
        accept(&list, [2, 3, 4], ids[1], itemID: itemID)
        #expect(list.content.items == [1, 2, 3, 4])
        #expect(!list.appendState.isEnd, "the server's count tells of the end, not the shown one")
    }

    @Test(
        .fault(81),
        arguments: [
            // Without a total a page is the last one when it is empty, or shorter than asked for and than another page.
            (PageFacts.sample(20), true), (.sample(19), true), (.sample(0), false), (.sample(19, largest: 20), false),
            (.sample(30, largest: 40), true),
            // A total that is not reached promises more, whatever the size of the page.
            (.sample(20, total: 21), true), (.sample(5, largest: 20, total: 21), true),
            (.sample(0, largest: 20, total: 99), false), (.sample(20, before: 20, total: .max), true),
            // One that is reached, or exceeded, does not make a page the last one that is as long as the others.
            (.sample(20, before: 20, total: 40), true), (.sample(20, total: 3), true),
            (.sample(7, before: 40, largest: 20, total: 47), false), (.sample(7, total: 7), true),
            (.sample(7, before: 40, largest: 20, total: 46), false), (.sample(7, before: nil, largest: 20), false),
        ]
    )
    func `The end is told by what was received`(_ page: PageFacts, _ hasMore: Bool) {
        #expect((PageNumber().position(after: page) != nil) == hasMore)
        guard let before = page.itemsBefore else { return }
        let next = PagePosition.offset(before + page.itemCount)
        #expect(OffsetLimit().position(after: page.at(.offset(before))) == (hasMore ? next : nil))
    }

    @Test(arguments: [
        (PageFacts.sample(20, before: 20, total: 40), false), (.sample(20, before: 20, total: 41), true),
        (.sample(20, pages: 1), false), (.sample(20, pages: 2), true), (.sample(20, total: 40, pages: 1), true),
        (.sample(20, before: 20, total: 40, pages: 9), false), (.sample(20, before: nil, total: 20), true),
    ])
    func `An exact total is the end, that of items before that of pages`(_ page: PageFacts, _ hasMore: Bool) {
        #expect((PageNumber(totalIsExact: true).position(after: page) != nil) == hasMore)
        guard let before = page.itemsBefore, page.totalPages == nil else { return }
        let offsets = OffsetLimit(totalIsExact: true)
        #expect((offsets.position(after: page.at(.offset(before))) != nil) == hasMore)
    }

    @Test(arguments: [
        (PageFacts.sample(20), PageExpectation.unknown), (.sample(19), .end), (.sample(19, before: 19), .unknown),
        (.sample(20, total: 22), .more), (.sample(20, total: 21), .end), (.sample(20, total: 20), .end),
        (.sample(20, total: 3), .end), (.sample(20, pages: 3), .more), (.sample(20, pages: 2), .end),
        (.sample(20, total: .max), .more), (.sample(20, total: .min), .end),
        (.sample(5, before: nil, total: 9), .unknown),
    ])
    func `Behind a page there is what its total lacks`(_ page: PageFacts, _ expectation: PageExpectation) {
        #expect(PageNumber().expectation(after: page) == expectation)
        guard let before = page.itemsBefore, page.totalPages == nil else { return }
        #expect(OffsetLimit().expectation(after: page.at(.offset(before))) == expectation)
    }

    @Test func `Numbers and offsets do not overflow`() {
        #expect(PageNumber().position(after: .sample(20).at(.number(.max))) == nil)
        #expect(PageNumber(first: .min).position(after: .sample(20, pages: .max).at(.number(5))) == .number(6))
        #expect(OffsetLimit().position(after: .sample(20).at(.offset(.max))) == nil)
        #expect(OffsetLimit().expectation(after: .sample(20, total: .max).at(.offset(.max))) == .end)
    }

    @Test(arguments: [(20, 80), (17, 83), (0, 80), (200, 0)])
    func `The page in front is as long as those that came`(_ largest: Int, _ offset: Int) {
        let page = PageFacts.sample(0, largest: largest).at(.offset(100))
        #expect(OffsetLimit().position(before: page) == .offset(offset))
        #expect(OffsetLimit().position(before: page.at(.offset(0))) == nil)
    }

    @Test(arguments: [0, -1, Int.min]) func `A page of no items cannot be asked for`(_ size: Int) {
        #expect(throws: PageStrategyError.self) { try PageNumber(size: size).params(at: .number(1)) }
        #expect(throws: PageStrategyError.self) { try OffsetLimit(limit: size).params(at: .offset(0)) }
    }

    @Test func `A page of all items can`() throws {
        let all = PageNumber(size: .max)
        #expect(try all.params(at: .number(1))["pageSize"] as? Int == .max)
        #expect(all.position(after: .sample(20)) == .number(2))
        #expect(all.position(after: .sample(0)) == nil)
    }
}

extension PageFacts {
    /// The facts of a page number `before / 20 + 1`.
    fileprivate static func sample(
        _ count: Int,
        before: Int? = 0,
        largest: Int? = nil,
        total: Int? = nil,
        pages: Int? = nil
    ) -> Self {
        let url = URL("http://shop.test")
        return PageFacts(
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
        PageFacts(
            position: position,
            itemCount: itemCount,
            itemsBefore: itemsBefore,
            largestPage: largestPage,
            totalItems: totalItems,
            totalPages: totalPages,
            response: response
        )
    }
}
