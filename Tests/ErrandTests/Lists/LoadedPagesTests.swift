import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@Suite("The loaded pages of a list", .hangLimit, .timeLimit(.minutes(10)))
struct LoadedPagesTests {
    struct Page: PageResponse, Sendable {
        var items: [Int]
        var nextCursor: String?
        var previousCursor: String?
    }

    private let numbers = PageNumberStrategy(size: 3)
    private let mod10 = ItemID<Int> { $0 % 10 }

    private func info(_ page: Page, at position: PagePosition) -> PageInfo {
        let body = Data("\(page.items)".utf8)
        let response = HTTPResponse(status: 200, body: body)
        let url = URL("http://shop.test/api")
        return PageInfo(page, at: position, in: APIResponse(response, url: url, redirects: [], duration: .zero))
    }

    private func rules(
        _ strategy: any PageStrategy,
        itemID: ItemID<Int>? = nil,
        maxPages: Int? = nil
    ) -> ListRules<Int> {
        ListRules(strategy: strategy, itemID: itemID, maxPages: maxPages)
    }

    private func append(
        _ items: [Int],
        to pages: inout LoadedPages<Int>,
        _ itemID: ItemID<Int>? = nil
    ) {
        let page = Page(items: items)
        let info = info(page, at: pages.next ?? numbers.start)
        pages.append(page.items, info: info, rules: rules(numbers, itemID: itemID))
    }

    @Test func `A window drops its first page and can load it again`() {
        var pages = LoadedPages<Int>()
        for items in [[1, 2, 3], [4, 5, 6], [7, 8, 9]] { append(items, to: &pages, mod10) }
        #expect(pages.dropFirstPages(rules(numbers, itemID: mod10, maxPages: 2)) == 0..<3)
        #expect(pages.items == [4, 5, 6, 7, 8, 9])
        #expect(pages.insertedRows == 3..<6)
        #expect(pages.previous == .number(1))
        let first = Page(items: [1, 2, 3])
        _ = pages.prepend(first.items, info: info(first, at: .number(1)), rules: rules(numbers, itemID: mod10))
        #expect(pages.items == [1, 2, 3, 4, 5, 6, 7, 8, 9], "the IDs of dropped pages are removed")
        #expect(pages.insertedRows == 0..<3)
        #expect(pages.previous == nil)
        #expect(pages.dropLastPages(rules(numbers, itemID: mod10, maxPages: 2)) == 6..<9)
        #expect(pages.items == [1, 2, 3, 4, 5, 6])
        #expect(pages.next == .number(3))
        append([17, 18, 19], to: &pages, mod10)
        #expect(pages.items == [1, 2, 3, 4, 5, 6, 17, 18, 19])
    }

    @Test func `An item that is inserted again comes back with its dropped page`() {
        let window = rules(numbers, itemID: mod10, maxPages: 2)
        var pages = LoadedPages<Int>()
        for items in [[1, 2, 3], [4, 5, 6]] { append(items, to: &pages, mod10) }
        pages.apply(ListEdit(change: .remove, row: 1, isOnServer: false), rules: window)
        pages.apply(ListEdit(change: .insert(2), row: 1, isOnServer: false), rules: window)
        append([7, 8, 9], to: &pages, mod10)
        #expect(pages.dropFirstPages(window) == 0..<3)
        let first = Page(items: [1, 2, 3])
        _ = pages.prepend(first.items, info: info(first, at: .number(1)), rules: window)
        #expect(pages.items.prefix(3) == [1, 2, 3])
    }

    @Test func `An empty last page may be named again after the page before it was dropped`() {
        let cursors = CursorStrategy(previous: .previousCursor)
        let window = rules(cursors, maxPages: 2)
        var pages = LoadedPages<Int>()
        func append(_ items: [Int], next: String?) {
            let page = Page(items: items, nextCursor: next)
            pages.append(page.items, info: info(page, at: pages.next ?? cursors.start), rules: window)
        }
        for (items, next) in [([1, 2], "b"), ([3, 4], "c"), ([5, 6], "d"), ([], nil)] { append(items, next: next) }
        #expect(pages.next == nil)
        _ = pages.dropFirstPages(window)
        let first = Page(items: [1, 2], nextCursor: "b")
        _ = pages.prepend(first.items, info: info(first, at: pages.previous ?? .start), rules: window)
        _ = pages.dropLastPages(window)
        append([5, 6], next: "d")
        #expect(pages.blockedReason == nil && pages.next == .cursor("d", parameter: "cursor"))
    }

    @Test func `A page without rows removes no rows of a window`() {
        var pages = LoadedPages<Int>()
        for items in [[1, 2, 3], [11, 12, 13]] { append(items, to: &pages, mod10) }
        let window = rules(numbers, itemID: mod10, maxPages: 1)
        #expect(pages.dropFirstPages(window).isEmpty)
        #expect(pages.items == [1, 2, 3] && pages.next == .number(3))
        append([4, 5, 6], to: &pages, mod10)
        #expect(pages.dropFirstPages(window) == 0..<3)
        #expect(pages.items == [4, 5, 6] && pages.previous == .number(1))
        let first = Page(items: [1, 2, 3])
        _ = pages.prepend(first.items, info: info(first, at: .number(1)), rules: window)
        #expect(pages.dropLastPages(window) == 3..<6)
        #expect(pages.items == [1, 2, 3] && pages.next == .number(3))
    }

    @Test func `A page that is requested again adds no item of a dropped page`() {
        var pages = LoadedPages<Int>()
        let window = rules(numbers, itemID: mod10, maxPages: 1)
        append([1, 2, 3], to: &pages, mod10)
        pages.apply(ListEdit(change: .insert(7), row: 1, isOnServer: true), rules: window)
        append([3, 4, 5], to: &pages, mod10)
        _ = pages.dropFirstPages(window)
        pages.apply(ListEdit(change: .remove, row: 1, isOnServer: true), rules: window)
        append([3, 4, 6], to: &pages, mod10)
        #expect(pages.items == [4, 6])
    }

    @Test func `After edits a refresh of a window keeps the page before it`() {
        var pages = LoadedPages<Int>()
        let window = rules(numbers, maxPages: 1)
        for items in [[1, 2, 3], [4, 5, 6]] { append(items, to: &pages) }
        pages.apply(ListEdit(change: .remove, row: 5, isOnServer: true), rules: window)
        append([4, 5, 7], to: &pages)
        #expect(pages.items == [1, 2, 3, 4, 5, 7])
        _ = pages.dropFirstPages(window)
        #expect(pages.items == [7] && pages.firstPosition == .number(2))
        pages = LoadedPages(replacing: pages)
        let page = Page(items: [4, 5, 7])
        pages.append(page.items, info: info(page, at: .number(2)), rules: window)
        #expect(pages.previous == .number(1))
    }

    @Test func `A repeated page blocks the next one again after a page has been dropped`() {
        var pages = LoadedPages<Int>()
        for _ in 1...4 { append([1, 2, 3], to: &pages) }
        #expect(pages.blockedReason?.contains("repeatedly") == true)
        _ = pages.dropLastPages(rules(numbers, maxPages: 3))
        #expect(pages.blockedReason == nil)
        append([1, 2, 3], to: &pages)
        #expect(pages.blockedReason?.contains("repeatedly") == true)
    }

    @Test func `A page that is dropped at the end and loaded again is no repeat`() {
        var pages = LoadedPages<Int>()
        let window = rules(numbers, maxPages: 2)
        for items in [[1, 2, 3], [4, 5, 6], [7, 8, 9]] {
            append(items, to: &pages)
            _ = pages.dropFirstPages(window)
        }
        for _ in 0..<6 {
            let page = Page(items: [1, 2, 3])
            _ = pages.prepend(page.items, info: info(page, at: .number(1)), rules: window)
            _ = pages.dropLastPages(window)
            append([7, 8, 9], to: &pages)
            _ = pages.dropFirstPages(window)
            #expect(pages.blockedReason == nil)
            #expect(pages.items == [4, 5, 6, 7, 8, 9])
        }
    }

    @Test func `A hundred pages without an item block the next one, fewer do not`() {
        var pages = LoadedPages<Int>()
        let cursors = CursorStrategy()
        for number in 1...100 {
            #expect(pages.blockedReason == nil)
            let page = Page(items: [], nextCursor: "\(number)")
            pages.append(page.items, info: info(page, at: pages.next ?? cursors.start), rules: rules(cursors))
        }
        #expect(pages.blockedReason?.contains("repeatedly") == true)
    }

    @Test func `A previous page adds only new items`() {
        var pages = LoadedPages<Int>()
        append([4, 5, 6], to: &pages, mod10)
        let page = Page(items: [1, 4, 2, 12, 3])
        let rules = rules(PageNumberStrategy(first: -5), itemID: mod10)
        _ = pages.prepend(page.items, info: info(page, at: .number(0)), rules: rules)
        #expect(pages.items == [1, 12, 3, 4, 5, 6])
        #expect(pages.previous == .number(-1))
    }

    @Test func `Dropped pages are found again even if the strategy knows no previous page`() {
        let cursors = CursorStrategy()
        var pages = LoadedPages<Int>()
        for number in 0..<5 {
            let page = Page(items: [number], nextCursor: "c\(number + 1)")
            pages.append(page.items, info: info(page, at: pages.next ?? cursors.start), rules: rules(cursors))
            _ = pages.dropFirstPages(rules(cursors, maxPages: 2))
        }
        #expect(pages.items == [3, 4])
        for number in [2, 1, 0] {
            #expect(pages.previous == (number == 0 ? .start : .cursor("c\(number)", parameter: "cursor")))
            let page = Page(items: [number], nextCursor: "c\(number + 1)")
            _ = pages.prepend(page.items, info: info(page, at: pages.previous ?? .number(-1)), rules: rules(cursors))
            _ = pages.dropLastPages(rules(cursors, maxPages: 2))
        }
        #expect(pages.items == [0, 1])
        #expect(pages.previous == nil)
        #expect(pages.next == .cursor("c2", parameter: "cursor"))
    }

    @Test func `A page that leads elsewhere than before is the last one, so that there is no gap below it`() {
        let cursors = CursorStrategy()
        var pages = LoadedPages<Int>()
        func add(_ items: [Int], next: String?) {
            let page = Page(items: items, nextCursor: next)
            pages.append(page.items, info: info(page, at: pages.next ?? cursors.start), rules: rules(cursors))
        }
        add([15, 14, 13], next: "c13")
        add([12, 11, 10], next: "c10")
        add([9, 8, 7], next: "c7")
        let dropped = pages.dropFirstPages(rules(cursors, maxPages: 2))
        #expect(dropped == 0..<3)
        #expect(pages.items == [12, 11, 10, 9, 8, 7])
        // Two new items on the server.
        let page = Page(items: [17, 16, 15], nextCursor: "c15")
        let isAdded = pages.prepend(page.items, info: info(page, at: .start), rules: rules(cursors, maxPages: 2))
        #expect(isAdded && pages.insertedRows == 0..<3)
        let removed = pages.dropLastPages(rules(cursors, maxPages: 2))
        #expect(removed == 3..<9)
        #expect(pages.items == [17, 16, 15] && pages.previous == nil && pages.blockedReason == nil)
        add([14, 13, 12], next: "c12")
        add([11, 10, 9], next: nil)
        #expect(pages.items == Array((9...17).reversed()) && pages.next == nil)
        let removedLater = pages.dropLastPages(rules(cursors, maxPages: 3))
        #expect(removedLater == 9..<9)
    }

    /// How an app edits the list where one page ends and the next one begins, and what the server has at the cursor then.
    enum BoundaryEdit: CaseIterable {
        case insertion, insertionBesideRowsOfTheApp, insertionAfterLastRow, undoneRemoval
    }

    @Test(arguments: BoundaryEdit.allCases)
    func `What an app inserts where a page ends is not lost with that page`(edit: BoundaryEdit) {
        let rules = rules(CursorStrategy(), itemID: ItemID { $0 }, maxPages: 2)
        var pages = LoadedPages<Int>()
        func append(_ items: [Int], next: String) {
            let page = Page(items: items, nextCursor: next)
            pages.append(page.items, info: info(page, at: pages.next ?? .start), rules: rules)
        }
        func apply(_ change: ListEdit<Int>.Change, at row: Int, isOnServer: Bool = true) {
            pages.apply(ListEdit(change: change, row: row, isOnServer: isOnServer), rules: rules)
        }
        append([10, 20, 30], next: "after 30")
        switch edit {
        case .insertion:
            append([40, 50, 60], next: "after 60")
            apply(.insert(37), at: 3)
            apply(.insert(35), at: 3)
            apply(.remove, at: 4)
        case .insertionBesideRowsOfTheApp:
            append([40, 50, 60], next: "after 60")
            apply(.insert(-1), at: 3, isOnServer: false)
            apply(.insert(35), at: 3)
            apply(.insert(-2), at: 5, isOnServer: false)
        case .insertionAfterLastRow:
            apply(.insert(35), at: 3)
            append([35, 40, 50], next: "after 50")
        case .undoneRemoval:
            append([35, 40, 50], next: "after 50")
            apply(.remove, at: 3)
            apply(.insert(35), at: 3)
        }
        append([70, 80, 90], next: "after 90")
        let rows = pages.items
        #expect(pages.dropFirstPages(rules) == 0..<3)
        #expect(pages.items == Array(rows.dropFirst(3)) && pages.items.first == 35)
        let first = Page(items: [10, 20, 30], nextCursor: "after 30")
        let isAdded = pages.prepend(first.items, info: info(first, at: pages.previous ?? .start), rules: rules)
        #expect(isAdded && pages.items == rows)
        let dropped = pages.dropLastPages(rules)
        #expect(dropped == rows.count - 3..<rows.count && pages.items == Array(rows.dropLast(3)))
    }

    @Test func `A previous page leads to the one that it names now, not to the one that was before it`() {
        let cursors = CursorStrategy(cursorKey: "after", previousCursorKey: "before", previous: .previousCursor)
        let rules = rules(cursors, itemID: ItemID { $0 }, maxPages: 2)
        var pages = LoadedPages<Int>()
        let start = Page(items: [100, 110, 120], previousCursor: "100")
        pages.append(start.items, info: info(start, at: .cursor("90", parameter: "after")), rules: rules)
        func prepend(_ items: [Int], previous: String?, next: String) {
            let page = Page(items: items, nextCursor: next, previousCursor: previous)
            let isAdded = pages.prepend(items, info: info(page, at: pages.previous ?? .start), rules: rules)
            _ = pages.dropLastPages(rules)
            #expect(isAdded)
        }
        func append(_ items: [Int], next: String?) {
            let page = Page(items: items, nextCursor: next)
            pages.append(items, info: info(page, at: pages.next ?? .start), rules: rules)
            _ = pages.dropFirstPages(rules)
        }
        prepend([70, 80, 90], previous: "70", next: "90")
        prepend([40, 50, 60], previous: "40", next: "60")
        prepend([10, 20, 30], previous: nil, next: "30")
        #expect(pages.items == [10, 20, 30, 40, 50, 60] && pages.previous == nil)
        append([70, 80, 90], next: "90")
        append([100, 110, 120], next: nil)
        // The server has a new item, 55.
        prepend([50, 55, 60], previous: "50", next: "60")
        #expect(pages.previous == .cursor("50", parameter: "before"))
        prepend([20, 30, 40], previous: "20", next: "40")
        prepend([10], previous: nil, next: "10")
        #expect(pages.items == [10, 20, 30, 40] && pages.previous == nil)
    }

    @Test func `A page that follows one loaded towards the beginning is the one that it names`() {
        let cursors = CursorStrategy(cursorKey: "after", previousCursorKey: "before", previous: .previousCursor)
        let rules = rules(cursors, maxPages: 2)
        var pages = LoadedPages<Int>()
        let start = Page(items: [100, 110, 120], previousCursor: "100")
        pages.append(start.items, info: info(start, at: .cursor("90", parameter: "after")), rules: rules)
        func prepend(_ items: [Int], previous: String?, next: String?) {
            let page = Page(items: items, nextCursor: next, previousCursor: previous)
            let isAdded = pages.prepend(items, info: info(page, at: pages.previous ?? .start), rules: rules)
            _ = pages.dropLastPages(rules)
            #expect(isAdded)
        }
        func append(_ items: [Int], next: String?) {
            let page = Page(items: items, nextCursor: next)
            pages.append(items, info: info(page, at: pages.next ?? .start), rules: rules)
            _ = pages.dropFirstPages(rules)
        }
        prepend([70, 80, 90], previous: "70", next: "90")
        prepend([40, 50, 60], previous: "40", next: "60")
        // The server has a new item, 95.
        #expect(pages.next == .cursor("90", parameter: "after"))
        append([95, 100, 110], next: "110")
        #expect(pages.items == [70, 80, 90, 95, 100, 110] && pages.previous == .cursor("70", parameter: "before"))
        prepend([40, 50, 60], previous: "40", next: "60")
        #expect(pages.items == [40, 50, 60, 70, 80, 90] && pages.next == .cursor("90", parameter: "after"))
        append([95, 100, 110], next: "110")
        append([120], next: nil)
        #expect(pages.items == [95, 100, 110, 120] && pages.next == nil)
        // This page ends with the new item, and replaces those that would repeat it.
        prepend([80, 90, 95], previous: "80", next: "95")
        #expect(pages.items == [80, 90, 95] && pages.next == .cursor("95", parameter: "after"))
        append([100, 110, 120], next: nil)
        prepend([50, 60, 70], previous: "50", next: nil)
        #expect(pages.items == [50, 60, 70, 80, 90, 95])
        prepend([20, 30, 40], previous: "20", next: nil)
        #expect(pages.items == [20, 30, 40, 50, 60, 70], "this server names no next page then")
        #expect(pages.next == .cursor("100", parameter: "before"))
    }

    @Test func `Of a page that leads elsewhere, no item is lost that was in the pages below`() {
        let cursors = CursorStrategy()
        let rules = rules(cursors, itemID: ItemID { $0 }, maxPages: 2)
        var pages = LoadedPages<Int>()
        for (items, next) in [([15, 14, 13], "c13"), ([12, 11, 10], "c10"), ([9, 8, 7], "c7")] {
            let page = Page(items: items, nextCursor: next)
            pages.append(page.items, info: info(page, at: pages.next ?? cursors.start), rules: rules)
        }
        _ = pages.dropFirstPages(rules)
        // The server has deleted 15, 14 and 13.
        let page = Page(items: [12, 11, 10], nextCursor: "c10b")
        let isAdded = pages.prepend(page.items, info: info(page, at: .start), rules: rules)
        let removed = pages.dropLastPages(rules)
        #expect(isAdded && pages.insertedRows == 0..<3 && removed == 3..<9)
        #expect(pages.items == [12, 11, 10])
        let next = Page(items: [9, 8, 7])
        pages.append(next.items, info: info(next, at: pages.next ?? .start), rules: rules)
        #expect(pages.items == [12, 11, 10, 9, 8, 7])
    }

    @Test func `A page before the first one that names itself is the first page`() {
        let cursors = CursorStrategy(cursorKey: "cursor", previous: .previousCursor)
        var pages = LoadedPages<Int>()
        let first = Page(items: [3, 2, 1], previousCursor: "c1")
        pages.append(first.items, info: info(first, at: cursors.start), rules: rules(cursors))
        #expect(pages.previous != nil)
        let page = Page(items: [], previousCursor: "c1")
        let isAdded = pages.prepend([], info: info(page, at: pages.previous ?? .start), rules: rules(cursors))
        #expect(isAdded)
        #expect(pages.items == [3, 2, 1] && pages.previous == nil)
    }

    @Test(.fault(50), arguments: ["c0", "c1", "c2"])
    func `A cursor that has been visited blocks the next page`(_ repeated: String) {
        let cursors = CursorStrategy(startCursor: "c0")
        var pages = LoadedPages<Int>()
        for (number, next) in ["c1", "c2", repeated].enumerated() {
            #expect(pages.blockedReason == nil)
            let page = Page(items: [number], nextCursor: next)
            pages.append(page.items, info: info(page, at: pages.next ?? cursors.start), rules: rules(cursors))
        }
        #expect(pages.blockedReason != nil)
        #expect(pages.items == [0, 1, 2], "the items of the page are kept")
    }

    @Test(.fault(50))
    func `The fourth equal page blocks the next one, and with IDs the third page without a new item`() {
        var pages = LoadedPages<Int>()
        for _ in 1...3 { append([1, 2, 3], to: &pages) }
        #expect(pages.blockedReason == nil)
        append([1, 2, 3], to: &pages)
        #expect(pages.blockedReason != nil)
        pages = LoadedPages()
        for items in [[1, 2, 3], [3, 1, 2], [2, 3, 1], [1, 12, 3]] {
            #expect(pages.blockedReason == nil)
            append(items, to: &pages, mod10)
        }
        #expect(pages.blockedReason != nil)
        #expect(pages.items == [1, 2, 3])
    }

    @Test func `Two pages without a new item block nothing`() {
        var pages = LoadedPages<Int>()
        for items in [[1, 2, 3], [1, 2, 3], [1, 2, 3], [4, 5, 6], [4, 5, 6], [4, 5, 6], [7, 8, 9]] {
            append(items, to: &pages, mod10)
        }
        #expect(pages.blockedReason == nil)
        #expect(pages.items == Array(1...9))
    }

    @Test func `A list that starts at an offset loads all items before it once`() throws {
        let offsets = OffsetStrategy(limit: 10, startOffset: 25)
        var pages = LoadedPages<Int>()
        let middle = Page(items: Array(25..<35))
        pages.append(middle.items, info: info(middle, at: offsets.start), rules: rules(offsets))
        while let position = pages.previous {
            let params = try offsets.params(at: position)
            let offset = try #require(params["offset"] as? Int)
            let limit = try #require(params["limit"] as? Int)
            let page = Page(items: Array(offset..<offset + limit))
            let isAdded = pages.prepend(page.items, info: info(page, at: position), rules: rules(offsets))
            #expect(isAdded)
        }
        #expect(pages.items == Array(0..<35))
    }

    @Test(.fault(81)) func `A previous page that is too short or too long causes neither a gap nor a repetition`() {
        let offsets = OffsetStrategy(limit: 10, startOffset: 25)
        for size in [1, 3, 4, 7, 10, 12, 30] {
            var pages = LoadedPages<Int>()
            let middle = Page(items: Array(25..<35))
            pages.append(middle.items, info: info(middle, at: offsets.start), rules: rules(offsets))
            var requests = 0
            while case .offset(let offset) = pages.previous, requests < 100 {
                requests += 1
                let page = Page(items: Array(offset..<offset + size))
                let count = pages.items.count
                let isAdded = pages.prepend(page.items, info: info(page, at: .offset(offset)), rules: rules(offsets))
                #expect(isAdded == (pages.items.count > count))
            }
            #expect(pages.items == Array(0..<35), "pages of \(size)")
        }
    }

    @Test(.fault(81), arguments: [(1, true), (9, false)])
    func `A page after the expected end is compared with the last one by the IDs of its items`(
        _ id: Int,
        _ isSame: Bool
    ) {
        struct Post: Decodable, Identifiable, Sendable {
            let id: Int
            var likes = 0
        }
        struct Posts: PageResponse {
            let items: [Post]
        }
        var pages = LoadedPages<Post>()
        let rules = ListRules<Post>(strategy: numbers, itemID: nil, maxPages: nil)
        for (number, (id, likes)) in [(1, 0), (id, 5)].enumerated() {
            let page = Posts(items: [Post(id: id, likes: likes), Post(id: 2, likes: likes)])
            let raw = HTTPResponse(status: 200, body: Data("\(number)".utf8))
            let response = APIResponse(raw, url: URL("http://shop.test"), redirects: [], duration: .zero)
            pages.append(page.items, info: PageInfo(page, at: pages.next ?? numbers.start, in: response), rules: rules)
        }
        #expect(pages.items.map(\.id) == (isSame ? [1, 2] : [1, 2, 9, 2]))
        #expect(pages.next == (isSame ? nil : .number(3)))
    }
}

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
    private let session = UserSession(of: nil, CookieJar())

    private func begin(_ part: ListPart, of list: inout PagedList<Int>, _ id: RequestID) {
        _ = list.begin(part, id: id, strategy: size3, session: session)
    }

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
        begin(.first, of: &list, ids[0])
        #expect(list.refreshState.isLoading)
        accept(&list, [1, 2, 3], ids[0])
        #expect(list.loaded.next == .number(2))
        begin(.next, of: &list, ids[1])
        #expect(list.appendState.isLoading)
        accept(&list, [4], ids[1])
        #expect(list.loaded.items == [1, 2, 3, 4])
        #expect(list.appendState.isEnd)
    }

    @Test func `A late page is ignored after a refresh has superseded its load`() {
        var list = PagedList<Int>()
        let ids = [RequestID.next(), .next(), .next()]
        begin(.first, of: &list, ids[0])
        accept(&list, [1, 2, 3], ids[0])
        begin(.next, of: &list, ids[1])
        begin(.first, of: &list, ids[2])
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
        begin(.first, of: &list, ids[0])
        accept(&list, [1, 2, 3], ids[0])
        begin(.next, of: &list, ids[1])
        accept(&list, [4, 5, 6], ids[1])
        begin(.first, of: &list, ids[2])
        _ = list.fail(ids[2], with: APIError(.timeout))
        #expect(list.refreshState.error?.type == .timeout)
        #expect(list.loaded.items.count == 6)
        #expect(list.loaded.next == .number(3))
        begin(.next, of: &list, ids[3])
        _ = list.fail(ids[3], with: APIError(.transport))
        #expect(list.appendState.error?.type == .transport)
        #expect(list.loaded.next == .number(3))
        begin(.next, of: &list, ids[4])
        _ = list.fail(ids[4], with: APIError(.cancelled))
        #expect(list.appendState.error == nil)
        #expect(!list.appendState.isLoading)
        #expect(list.loaded.next == .number(3))
    }

    @Test func `With an ID an item is shown once`() {
        var list = PagedList<Int>()
        let ids = [RequestID.next(), .next()]
        let itemID = ItemID<Int> { $0 % 10 }
        begin(.first, of: &list, ids[0])
        accept(&list, [1, 2, 12], ids[0], itemID: itemID)
        begin(.next, of: &list, ids[1])
        accept(&list, [2, 3, 4], ids[1], itemID: itemID)
        #expect(list.loaded.items == [1, 2, 3, 4])
        #expect(!list.appendState.isEnd, "the end follows from the items received, not from those shown")
    }
}
