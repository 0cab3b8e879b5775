import Foundation
import TestSupport
import Testing

@testable import FixtureServer

@Suite("The shop's signed calls", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ShopPartnerTests {
    private struct Stock: Decodable {
        let goodsID: Int
    }

    private let server: FixtureServer
    private let now = time(nil)

    init() throws {
        server = try FixtureServer.startShop()
    }

    /// Returns the path of a call that is signed with `secret`.
    private func target(nonce: String, timestamp: Int, secret: String = ShopSignature.secret) -> String {
        let query = "goodsID=1002&nonce=\(nonce)&timestamp=\(timestamp)"
        let signature = SHA256.hexadecimal(SHA256.hmac(of: query.utf8, key: secret.utf8))
        return "/partner/stock?sign=\(signature)&\(query)"
    }

    @Test func `A signed call is served`() throws {
        var client = try ShopClient(server)
        #expect(try client.call("GET", target(nonce: "a", timestamp: now), as: Stock.self).goodsID == 1002)
    }

    @Test func `A call without a signature, with one of another secret, or with changed parameters is refused`() throws
    {
        var client = try ShopClient(server)
        let changed = target(nonce: "a", timestamp: now).replacing("1002", with: "1003")
        let targets = ["/partner/stock?goodsID=1002", target(nonce: "a", timestamp: now, secret: "other"), changed]
        for target in targets {
            #expect(throws: ShopRefusal.wrongSignature) { try client.call("GET", target) }
        }
    }

    @Test(arguments: [-400, 400])
    func `A timestamp that is too far from the server's clock is refused`(seconds: Int) throws {
        var client = try ShopClient(server)
        #expect(throws: ShopRefusal.staleTimestamp) {
            try client.call("GET", target(nonce: "a", timestamp: now + seconds))
        }
    }

    @Test func `A nonce is accepted once, also with another timestamp`() throws {
        var client = try ShopClient(server)
        _ = try client.call("GET", target(nonce: "a", timestamp: now))
        for timestamp in [now, now + 1] {
            #expect(throws: ShopRefusal.usedNonce) {
                try client.call("GET", target(nonce: "a", timestamp: timestamp))
            }
        }
        _ = try client.call("GET", target(nonce: "b", timestamp: now))
    }

    @Test func `Each response has the server's date, a refusal too`() throws {
        var client = try ShopClient(server)
        let format = Date.ParseStrategy(
            format: """
                \(weekday: .abbreviated), \(day: .twoDigits) \(month: .abbreviated) \(year: .defaultDigits) \
                \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\
                \(second: .twoDigits) GMT
                """,
            locale: Locale(identifier: "en_US_POSIX"),
            timeZone: .gmt
        )
        for target in ["/mall/shopList", "/partner/stock"] {
            let date = try #require(client.send("GET", target).header("Date"))
            #expect(abs(try Date(date, strategy: format).timeIntervalSince1970 - Double(now)) < 60, "\(date)")
        }
        #expect(HTTPDate.text(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }
}
