import Foundation
import Testing

@testable import Errand

@Suite("The pages of a list as one run of items", .timeLimit(.minutes(10)))
struct PageContentTests {
    struct Page: PageResponse, Sendable {
        var items: [Int]
        var nextCursor: String?
        var previousCursor: String?
    }

    private let numbers = PageNumber(size: 3)
    private let mod10 = ItemID<Int> { $0 % 10 }

    private func facts(_ page: Page, _ position: PagePosition) -> PageFacts {
        let body = Data("\(page.items)".utf8)
        let response = HTTPResponse(status: 200, body: body)
        let url = URL("http://shop.test/api")
        return PageFacts(page, at: position, APIResponse(response, url: url, redirects: [], duration: .zero))
    }

    private func rules(_ strategy: any PageStrategy, _ itemID: ItemID<Int>? = nil) -> PageRules<Int> {
        PageRules(strategy: strategy, itemID: itemID, maxPages: nil)
    }

    private func append(
        _ items: [Int],
        to content: inout PageContent<Int>,
        _ itemID: ItemID<Int>? = nil
    ) {
        let page = Page(items: items)
        content.append(page, facts(page, content.next ?? numbers.start), rules(numbers, itemID))
    }

    @Test func `A window drops its first page and finds back to it`() {
        var content = PageContent<Int>()
        for items in [[1, 2, 3], [4, 5, 6], [7, 8, 9]] { append(items, to: &content, mod10) }
        #expect(content.dropFirstPages(leaving: 2, mod10) == 0..<3)
        #expect(content.items == [4, 5, 6, 7, 8, 9])
        #expect(content.insertedRows == 3..<6)
        #expect(content.previous == .number(1))
        let first = Page(items: [1, 2, 3])
        _ = content.prepend(first, facts(first, .number(1)), rules(numbers, mod10))
        #expect(content.items == [1, 2, 3, 4, 5, 6, 7, 8, 9], "IDs that were dropped are forgotten")
        #expect(content.insertedRows == 0..<3)
        #expect(content.previous == nil)
        #expect(content.dropLastPages(leaving: 2, mod10) == 6..<9)
        #expect(content.items == [1, 2, 3, 4, 5, 6])
        #expect(content.next == .number(3))
        append([17, 18, 19], to: &content, mod10)
        #expect(content.items == [1, 2, 3, 4, 5, 6, 17, 18, 19])
    }

    @Test func `A window of a server that repeats itself is stopped again and again`() {
        var content = PageContent<Int>()
        for _ in 1...4 { append([1, 2, 3], to: &content) }
        #expect(content.deadEnd?.contains("again and again") == true)
        _ = content.dropLastPages(leaving: 3, nil)
        #expect(content.deadEnd == nil)
        append([1, 2, 3], to: &content)
        #expect(content.deadEnd?.contains("again and again") == true)
    }

    @Test func `A hundred pages without an item are the end, fewer are not`() {
        var content = PageContent<Int>()
        let cursors = Cursor()
        for number in 1...100 {
            #expect(content.deadEnd == nil)
            let page = Page(items: [], nextCursor: "\(number)")
            content.append(page, facts(page, content.next ?? cursors.start), rules(cursors))
        }
        #expect(content.deadEnd?.contains("again and again") == true)
    }

    @Test func `A page in front brings what is not there yet`() {
        var content = PageContent<Int>()
        append([4, 5, 6], to: &content, mod10)
        let page = Page(items: [1, 4, 2, 12, 3])
        _ = content.prepend(page, facts(page, .number(0)), rules(PageNumber(first: -5), mod10))
        #expect(content.items == [1, 12, 3, 4, 5, 6])
        #expect(content.previous == .number(-1))
    }

    @Test func `A strategy without a way back still finds the pages that were dropped, one after the other`() {
        let cursors = Cursor()
        var content = PageContent<Int>()
        for number in 0..<5 {
            let page = Page(items: [number], nextCursor: "c\(number + 1)")
            content.append(page, facts(page, content.next ?? cursors.start), rules(cursors))
            _ = content.dropFirstPages(leaving: 2, nil)
        }
        #expect(content.items == [3, 4])
        for number in [2, 1, 0] {
            #expect(content.previous == (number == 0 ? .start : .cursor("c\(number)", parameter: "cursor")))
            let page = Page(items: [number], nextCursor: "c\(number + 1)")
            _ = content.prepend(page, facts(page, content.previous ?? .number(-1)), rules(cursors))
            _ = content.dropLastPages(leaving: 2, nil)
        }
        #expect(content.items == [0, 1])
        #expect(content.previous == nil)
        #expect(content.next == .cursor("c2", parameter: "cursor"))
    }

    @Test(.fault(50), arguments: ["c0", "c1", "c2"])
    func `A cursor that the list has come by before is a dead end`(_ repeated: String) {
        let cursors = Cursor(first: "c0")
        var content = PageContent<Int>()
        for (number, next) in ["c1", "c2", repeated].enumerated() {
            #expect(content.deadEnd == nil)
            let page = Page(items: [number], nextCursor: next)
            content.append(page, facts(page, content.next ?? cursors.start), rules(cursors))
        }
        #expect(content.deadEnd != nil)
        #expect(content.items == [0, 1, 2], "what the page brought is kept")
    }

    @Test(.fault(50)) func `The fourth equal page is a dead end, and with IDs the third that brings nothing new`() {
        var content = PageContent<Int>()
        for _ in 1...3 { append([1, 2, 3], to: &content) }
        #expect(content.deadEnd == nil)
        append([1, 2, 3], to: &content)
        #expect(content.deadEnd != nil)
        content = PageContent()
        for items in [[1, 2, 3], [3, 1, 2], [2, 3, 1], [1, 12, 3]] {
            #expect(content.deadEnd == nil)
            append(items, to: &content, mod10)
        }
        #expect(content.deadEnd != nil)
        #expect(content.items == [1, 2, 3])
    }

    @Test func `Two pages that bring nothing new are no circle yet`() {
        var content = PageContent<Int>()
        for items in [[1, 2, 3], [1, 2, 3], [1, 2, 3], [4, 5, 6], [4, 5, 6], [4, 5, 6], [7, 8, 9]] {
            append(items, to: &content, mod10)
        }
        #expect(content.deadEnd == nil)
        #expect(content.items == Array(1...9))
    }

    @Test func `A list that opens in its middle by offset neither skips nor doubles on its way back`() throws {
        let offsets = OffsetLimit(limit: 10, first: 25)
        var content = PageContent<Int>()
        let middle = Page(items: Array(25..<35))
        content.append(middle, facts(middle, offsets.start), rules(offsets))
        while let position = content.previous {
            let params = try offsets.params(at: position)
            let offset = try #require(params["offset"] as? Int)
            let limit = try #require(params["limit"] as? Int)
            let page = Page(items: Array(offset..<offset + limit))
            let isAdded = content.prepend(page, facts(page, position), rules(offsets))
            #expect(isAdded)
        }
        #expect(content.items == Array(0..<35))
    }

    @Test(.fault(81)) func `A page in front that is too short, or too long, leaves neither a gap nor a double`() {
        let offsets = OffsetLimit(limit: 10, first: 25)
        for size in [1, 3, 4, 7, 10, 12, 30] {
            var content = PageContent<Int>()
            let middle = Page(items: Array(25..<35))
            content.append(middle, facts(middle, offsets.start), rules(offsets))
            var requests = 0
            while case .offset(let offset) = content.previous, requests < 100 {
                requests += 1
                let page = Page(items: Array(offset..<offset + size))
                let count = content.items.count
                let isAdded = content.prepend(page, facts(page, .offset(offset)), rules(offsets))
                #expect(isAdded == (content.items.count > count))
            }
            #expect(content.items == Array(0..<35), "pages of \(size)")
        }
    }

    @Test(
        .fault(81),
        arguments: [
            (#"{"time":1,"data":{"list":[1,2],"tags":["a","b"]}}"#, true),
            (#"{"data":{"list":[1,3],"tags":["a","b"]}}"#, false),
            (#"{"data":{"list":[1,2],"tags":["a","c"]}}"#, false),
            (#"{"data":{"rows":[1,2],"tags":["a","b"]}}"#, false),
            (#"[1,2]"#, false), ("", false), ("[", false),
        ]
    )
    func `Items are the same whatever else an answer holds`(_ body: String, _ isSame: Bool) {
        let other = Data(#"{"data":{"list":[1,2],"tags":["a","b"]},"time":2}"#.utf8)
        #expect(Data(body.utf8).hasSameItems(as: other, count: 2) == isSame)
        #expect(!Data(body.utf8).hasSameItems(as: other, count: 0))
        #expect(other.hasSameItems(as: other, count: 2))
    }
}
