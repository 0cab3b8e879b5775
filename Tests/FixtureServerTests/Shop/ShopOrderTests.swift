import Foundation
import TestSupport
import Testing

@testable import FixtureServer

@Suite("The shop's orders", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ShopOrderTests {
    private struct Page: Decodable {
        let list: [ShopOrder]
        let totalPage: Int?
        let totalRow: Int?
        let total_count: Int?
        let nextCursor: String?
    }

    private let catalog: [ShopOrder]
    private let server: FixtureServer

    init() throws {
        catalog = try ShopCatalog(Fixtures.directory).orders
        server = try FixtureServer.startShop()
    }

    @Test func `There are 137 orders with different numbers`() {
        #expect(Set(catalog.map(\.id)).count == 137)
    }

    @Test func `Orders are paged by number`() throws {
        var client = try client()
        let pages = try (1...8).map { try client.call("GET", "/orders?page=\($0)&pageSize=20", as: Page.self) }
        #expect(pages.flatMap(\.list) == catalog)
        #expect(pages.allSatisfy { $0.totalPage == 7 && $0.totalRow == 137 })
        #expect(throws: ShopRefusal.badParameter) { try client.call("GET", "/orders?page=0") }
        #expect(throws: ShopRefusal.badParameter) { try client.call("GET", "/orders?pageSize=101") }
    }

    @Test func `Orders are paged by offset`() throws {
        var client = try client()
        let pages = try [0, 50, 100, 150].map {
            try client.call("GET", "/orders?offset=\($0)&limit=50", as: Page.self)
        }
        #expect(pages.flatMap(\.list) == catalog)
        #expect(pages.allSatisfy { $0.total_count == 137 })
    }

    @Test func `Orders are paged by cursor`() throws {
        var client = try client()
        var page = try client.call("GET", "/orders?cursor=&limit=50", as: Page.self)
        var orders = page.list
        while let cursor = page.nextCursor {
            let escaped = cursor.replacingOccurrences(of: "=", with: "%3D")
            page = try client.call("GET", "/orders/feed?limit=50&cursor=\(escaped)", as: Page.self)
            orders += page.list
        }
        #expect(orders == catalog)
        #expect(throws: ShopRefusal.badCursor) { try client.call("GET", "/orders?cursor=nonsense") }
    }

    @Test func `Orders are paged by links`() throws {
        var client = try client()
        var orders: [ShopOrder] = []
        var next: String? = "/orders/linked?per_page=60"
        while let target = next {
            let reply = client.send("GET", target)
            orders += try JSONDecoder().decode(ShopClient.Envelope<[ShopOrder]>.self, from: Data(reply.body)).data ?? []
            let link = reply.header("Link")?.components(separatedBy: ", ").first { $0.hasSuffix("rel=\"next\"") }
            next = link.map { String($0.dropFirst("<http://localhost".count).prefix { $0 != ">" }) }
        }
        #expect(orders == catalog)
        #expect(
            client.send("GET", "/orders/linked?page=2&per_page=60").header("Link")
                == [
                    #"<http://localhost/orders/linked?page=3&per_page=60>; rel="next""#,
                    #"<http://localhost/orders/linked?page=1&per_page=60>; rel="prev""#,
                    #"<http://localhost/orders/linked?page=1&per_page=60>; rel="first""#,
                    #"<http://localhost/orders/linked?page=3&per_page=60>; rel="last""#,
                ].joined(separator: ", ")
        )
    }

    @Test func `A placed order precedes all others, in its session only`() throws {
        var client = try client()
        _ = try client.call("POST", "/debug/place-order")
        for target in ["/orders?pageSize=100", "/orders?offset=0&limit=100", "/orders/feed?limit=100"] {
            let page = try client.call("GET", target, as: Page.self)
            #expect(page.list.map(\.id) == Array((202_600_039...202_600_138).reversed()))
        }
        var other = try self.client()
        #expect(try other.call("GET", "/orders", as: Page.self).totalRow == 137)
    }

    @Test func `A page that is set to fail fails once`() throws {
        var client = try client()
        _ = try client.call("POST", "/debug/break-orders", #"{"after":1}"#)
        _ = try client.call("GET", "/orders?page=1", as: Page.self)
        #expect(throws: ShopRefusal.broken) { try client.call("GET", "/orders?page=2") }
        _ = try client.call("GET", "/orders?page=2", as: Page.self)
    }

    private func client() throws -> ShopClient {
        var client = try ShopClient(server)
        try client.signIn()
        return client
    }
}
