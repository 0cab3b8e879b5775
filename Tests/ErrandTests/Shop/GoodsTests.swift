import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

@Suite("The example as a program", .startsPrograms, .limitedConcurrency, .timeLimit(.minutes(10)))
struct GoodsTests {
    @Test func `It prints the goods of a category, and then all orders page by page`() async throws {
        let ending = try await TestProgram.run([TestProgram.built("goods")])
        #expect(ending.status == 0)
        #expect(ending.standardError == "")
        let pages = ending.lines.filter { $0.hasPrefix("page ") }
        #expect(pages == ["page 1: 50 of 137 orders", "page 2: 100 of 137 orders", "page 3: 137 of 137 orders"])
        let goods = try #require(ending.lines.firstIndex(of: pages[0]))
        #expect(ending.lines.prefix(goods).allSatisfy { $0.hasPrefix("10") })
        #expect(goods > 5)
        let orders = Set(ending.lines.dropFirst(goods).filter { !$0.hasPrefix("page ") })
        #expect(orders.count == 137)
    }

    @Test func `It has at most 70 lines`() throws {
        let text = try TypeChecker.text(of: "Sources/goods/Goods.swift")
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 71)
    }
}
