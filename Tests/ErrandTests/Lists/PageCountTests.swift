import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("A page has as many items as the server has sent, whatever the app leaves out", .timeLimit(.minutes(10)))
struct PageCountTests {
    private final class Numbers: PageAPIRequest<[Int]>, APIManager {
        let path = "/numbers"
        let method = HTTPMethod.get
        var customStrategy: any PageStrategy = .offset(limit: 4)
        var isWanted: @MainActor (Int) -> Bool = { _ in true }
        override var strategy: any PageStrategy { customStrategy }
        func reformData(_ response: [Int]) -> [Int] { response.filter(isWanted) }
    }

    private nonisolated static let strategies: [any PageStrategy] = [.offset(limit: 4), .pageNumber(size: 4)]

    /// Returns a list of the numbers 0 to 9, of which those in `bad` are no numbers.
    private func list(_ strategy: any PageStrategy, bad: Set<Int> = []) -> Numbers {
        let transport = ScriptedTransport { request in
            let page = request.query["page"]?.first.flatMap { Int($0) }.map { ($0 - 1) * 4 }
            let start = page ?? request.query["offset"]?.first.flatMap { Int($0) } ?? 0
            let items = (start..<max(start, min(start + 4, 10))).map { bad.contains($0) ? "{}" : "\($0)" }
            return .json(#"{"errcode":200,"data":[\#(items.joined(separator: ","))]}"#)
        }
        let service = APIService.sample { if !bad.isEmpty { $0.decoder = .lenient(skippingBadElements: true) } }
        let list = Numbers(proxy: APIProxy(service: service, transport: transport))
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
}
