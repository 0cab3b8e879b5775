import Foundation
import TestSupport
import Testing

@testable import FixtureServer

/// No request may crash the process: a trap in the server would also end these tests.
@Suite("Inputs that no client should send", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ExtremeInputTests {
    @Test(arguments: [
        "/delay/1e300", "/delay/1e17", "/delay/86401", "/delay/-1", "/delay/nan", "/delay/soon",
        "/drip?duration=1e300", "/drip?delay=1e17", "/drip?duration=nan", "/drip?numbytes=100001",
        "/endless/body?every=1e300", "/endless/headers?every=1e17", "/endless/continue?every=-1",
    ])
    func `A time that is too long is refused`(_ target: String) throws {
        #expect(try get(target).status == 400)
    }

    @Test func `Positions at the limit of integers are refused`() throws {
        let server = try FixtureServer.startShop()
        var client = try ShopClient(server)
        try client.signIn()
        let last = Int.max
        #expect(throws: ShopRefusal.badParameter) { try client.call("GET", "/orders/linked?page=\(last)") }
        let cursor = Data("after:\(last)".utf8).base64EncodedString().replacing("=", with: "%3D")
        #expect(throws: ShopRefusal.badCursor) { try client.call("GET", "/orders?cursor=\(cursor)") }
        #expect(try client.call("GET", "/orders?page=\(last)", as: Empty.self).list.isEmpty)
    }

    private struct Empty: Decodable {
        let list: [ShopOrder]
    }

    private func get(_ target: String) throws -> RawClient.Reply {
        let server = try FixtureServer.start()
        var client = try RawClient(port: server.port)
        client.request("GET", target)
        return client.reply()
    }
}
