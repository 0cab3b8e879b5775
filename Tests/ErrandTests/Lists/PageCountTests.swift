import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
