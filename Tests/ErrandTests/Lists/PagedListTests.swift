import Foundation
import Testing

@testable import Errand

@Suite("The states of a list and the rules between them", .timeLimit(.minutes(1)))
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
        _ = list.begin(.start, ids[0], strategy: size3)
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
        _ = list.begin(.start, ids[0], strategy: size3)
        accept(&list, [1, 2, 3], ids[0])
        _ = list.begin(.next, ids[1], strategy: size3)
        _ = list.begin(.start, ids[2], strategy: size3)
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
        _ = list.begin(.start, ids[0], strategy: size3)
        accept(&list, [1, 2, 3], ids[0])
        _ = list.begin(.next, ids[1], strategy: size3)
        accept(&list, [4, 5, 6], ids[1])
        _ = list.begin(.start, ids[2], strategy: size3)
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
        _ = list.begin(.start, ids[0], strategy: size3)
        accept(&list, [1, 2, 12], ids[0], itemID: itemID)
        _ = list.begin(.next, ids[1], strategy: size3)
        accept(&list, [2, 3, 4], ids[1], itemID: itemID)
        #expect(list.content.items == [1, 2, 3, 4])
        #expect(!list.appendState.isEnd, "the server's count tells of the end, not the shown one")
    }

    @Test(arguments: [
        (PageFacts.sample(.number(1), 20), PagePosition?.some(.number(2))), (.sample(.number(1), 19), nil),
        (.sample(.number(1), 0), nil), (.sample(.number(1), 5, pages: 3), .number(2)),
        (.sample(.number(3), 20, pages: 3), nil), (.sample(.number(1), 20, pages: 0), nil),
        (.sample(.number(9), 0, pages: 99), nil), (.sample(.number(1), 20, items: 21), .number(2)),
        (.sample(.number(2), 20, items: 40), nil), (.sample(.number(1), 20, items: 3), nil),
        (.sample(.number(.max), 20), nil), (.sample(.number(2), 20, pages: .max), .number(3)),
    ])
    func `Page numbers end by total, by a short page without one, and always by an empty page`(
        _ page: PageFacts,
        _ next: PagePosition?
    ) {
        #expect(PageNumber().position(after: page) == next)
    }

    @Test(arguments: [
        (PageFacts.sample(.offset(0), 20), PagePosition?.some(.offset(20))), (.sample(.offset(20), 7), nil),
        (.sample(.offset(0), 0), nil), (.sample(.offset(0), 7, items: 50), .offset(7)),
        (.sample(.offset(40), 10, items: 50), nil), (.sample(.offset(40), 0, items: 50), nil),
        (.sample(.offset(.max), 20, items: .max), nil),
    ])
    func `Offsets count what came, and end in the same ways`(_ page: PageFacts, _ next: PagePosition?) {
        #expect(OffsetLimit().position(after: page) == next)
    }

    @Test(arguments: [0, -1, Int.min]) func `A page of no items cannot be asked for`(_ size: Int) {
        #expect(throws: PageStrategyError.self) { try PageNumber(size: size).params(at: .number(1)) }
        #expect(throws: PageStrategyError.self) { try OffsetLimit(limit: size).params(at: .offset(0)) }
    }

    @Test func `A page of all items can`() throws {
        let all = PageNumber(size: .max)
        #expect(try all.params(at: .number(1))["pageSize"] as? Int == .max)
        #expect(all.position(after: .sample(.number(1), 20)) == nil)
        #expect(all.position(after: .sample(.number(2), 20, items: 40)) == nil)
    }
}

extension PageFacts {
    fileprivate static func sample(_ position: PagePosition, _ count: Int, pages: Int? = nil, items: Int? = nil) -> Self
    {
        let url = URL("http://shop.test")
        let response = APIResponse(HTTPResponse(status: 200), url: url, redirects: [], duration: .zero)
        return PageFacts(
            position: position,
            itemCount: count,
            totalItems: items,
            totalPages: pages,
            nextCursor: nil,
            previousCursor: nil,
            response: response
        )
    }
}
