import Foundation
import TestSupport
import Testing

@testable import FixtureServer

@Suite("The shop's sessions", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ShopSessionTests {
    private let server: FixtureServer

    init() throws {
        server = try FixtureServer.startShop()
    }

    @Test(arguments: [SessionExpiryStyle.http, .envelope])
    func `A session expires after its last call, until a new sign-in`(style: SessionExpiryStyle) throws {
        var client = try ShopClient(server)
        try client.signIn()
        _ = try client.call("POST", "/debug/expire-session", #"{"after":2,"as":"\#(style.rawValue)"}"#)
        for _ in 0..<2 { _ = try client.call("GET", "/cart") }
        for _ in 0..<2 { #expect(throws: ShopRefusal.signedOut(style)) { try client.call("GET", "/cart") } }
        try client.signIn()
        _ = try client.call("GET", "/cart")
    }

    @Test func `The log counts sign-ins, calls and refusals`() throws {
        var client = try ShopClient(server)
        _ = try? client.call("GET", "/cart")
        try client.signIn()
        _ = try client.call("GET", "/cart")
        var expected = ShopLog()
        expected.logins = 1
        expected.refused = 1
        expected.hits = ["/cart": 2, "/account/login": 1]
        #expect(try client.call("GET", "/debug/log", as: ShopLog.self) == expected)
        _ = try client.call("POST", "/debug/clear-log")
        #expect(try client.call("GET", "/debug/log", as: ShopLog.self) == ShopLog())
    }
}
