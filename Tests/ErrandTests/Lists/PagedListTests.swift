import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("The state machine of a list", .hangLimit, .timeLimit(.minutes(10)))
struct PagedListTests {
    struct Page: PageResponse, Sendable {
        var items: [Int]
        var totalItems: Int?
        var totalPages: Int?
    }

    private let response = APIResponse(
        HTTPResponse(status: 200),
        url: URL("http://shop.test"),
        redirects: [],
        duration: .zero
    )
    private let size3 = PageNumberStrategy(size: 3)

    private func accept(
        _ list: inout PagedList<Int>,
        _ items: [Int],
        _ id: RequestID,
        pages: Int? = nil,
        total: Int? = nil,
        itemID: ItemID<Int>? = nil
    ) {
        let page = Page(items: items, totalItems: total, totalPages: pages)
        let rules = ListRules(strategy: size3, itemID: itemID, maxPages: nil)
        _ = list.accept(page, in: response, of: id, rules: rules)
    }

    @Test func `Pages are appended until a short one`() {
        var list = PagedList<Int>()
        let ids = [RequestID.next(), .next()]
        _ = list.begin(.first, id: ids[0], strategy: size3)
        #expect(list.refreshState.isLoading)
        accept(&list, [1, 2, 3], ids[0])
        #expect(list.loaded.next == .number(2))
        _ = list.begin(.next, id: ids[1], strategy: size3)
        #expect(list.appendState.isLoading)
        accept(&list, [4], ids[1])
        #expect(list.loaded.items == [1, 2, 3, 4])
        #expect(list.appendState.isEnd)
    }

    @Test func `A late page is ignored after a refresh has superseded its load`() {
        var list = PagedList<Int>()
        let ids = [RequestID.next(), .next(), .next()]
        _ = list.begin(.first, id: ids[0], strategy: size3)
        accept(&list, [1, 2, 3], ids[0])
        _ = list.begin(.next, id: ids[1], strategy: size3)
        _ = list.begin(.first, id: ids[2], strategy: size3)
        #expect(!list.appendState.isLoading)
        accept(&list, [4, 5, 6], ids[1])
        #expect(list.loaded.items == [1, 2, 3])
        accept(&list, [7, 8, 9], ids[2])
        #expect(list.loaded.items == [7, 8, 9])
        #expect(list.loaded.next == .number(2))
        accept(&list, [4, 5, 6], ids[1])
        #expect(list.loaded.items == [7, 8, 9])
    }

    @Test func `A failed refresh keeps items and position, a failed next page its position`() {
        var list = PagedList<Int>()
        let ids = (0..<5).map { _ in RequestID.next() }
        _ = list.begin(.first, id: ids[0], strategy: size3)
        accept(&list, [1, 2, 3], ids[0])
        _ = list.begin(.next, id: ids[1], strategy: size3)
        accept(&list, [4, 5, 6], ids[1])
        _ = list.begin(.first, id: ids[2], strategy: size3)
        _ = list.fail(ids[2], with: APIError(.timeout))
        #expect(list.refreshState.error?.type == .timeout)
        #expect(list.loaded.items.count == 6)
        #expect(list.loaded.next == .number(3))
        _ = list.begin(.next, id: ids[3], strategy: size3)
        _ = list.fail(ids[3], with: APIError(.transport))
        #expect(list.appendState.error?.type == .transport)
        #expect(list.loaded.next == .number(3))
        _ = list.begin(.next, id: ids[4], strategy: size3)
        _ = list.fail(ids[4], with: APIError(.cancelled))
        #expect(list.appendState.error == nil)
        #expect(!list.appendState.isLoading)
        #expect(list.loaded.next == .number(3))
    }

    @Test func `With an ID an item is shown once`() {
        var list = PagedList<Int>()
        let ids = [RequestID.next(), .next()]
        let itemID = ItemID<Int> { $0 % 10 }
        _ = list.begin(.first, id: ids[0], strategy: size3)
        accept(&list, [1, 2, 12], ids[0], itemID: itemID)
        _ = list.begin(.next, id: ids[1], strategy: size3)
        accept(&list, [2, 3, 4], ids[1], itemID: itemID)
        #expect(list.loaded.items == [1, 2, 3, 4])
        #expect(!list.appendState.isEnd, "the end follows from the items received, not from those shown")
    }
}
