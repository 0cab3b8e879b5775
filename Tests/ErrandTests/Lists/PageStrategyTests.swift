import Foundation
import TestSupport
import Testing

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
        PageInfo(
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
