import Foundation
import TestSupport
import Testing

@testable import FixtureServer

@Suite("The shop's API", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ShopTests {
    private struct Goods: Decodable {
        let id: Int
        let name: String
        let price: String
    }

    private struct Cart: Decodable {
        let count: Int
        let total: String
    }

    private let server: FixtureServer

    init() throws {
        server = try FixtureServer.startShop()
    }

    @Test func `Signing in returns a cookie and a token, and either identifies the session`() throws {
        struct SignedIn: Decodable {
            let token: String
            let nickname: String
        }
        var client = try ShopClient(server)
        #expect(throws: ShopRefusal.signedOut(.http)) { try client.call("GET", "/account/me") }
        let reply = client.send("POST", "/account/login", body: #"{"account":"lin","password":"errand-1"}"#.utf8)
        let cookie = try #require(reply.header("Set-Cookie"))
        #expect(cookie.hasPrefix("sid=") && cookie.hasSuffix("; Path=/; HttpOnly; Max-Age=86400"))
        let data = try JSONDecoder().decode(ShopClient.Envelope<SignedIn>.self, from: Data(reply.body)).data
        for credential in ["Cookie: a=b; \(cookie.prefix { $0 != ";" })", "X-Token: \(data?.token ?? "")"] {
            client.credential = [credential]
            #expect(try client.call("GET", "/account/me", as: [String: String].self)["nickname"] == "林晓雨")
        }
        #expect(data?.nickname == "林晓雨")
    }

    @Test func `A wrong password is errcode 10001`() throws {
        var client = try ShopClient(server)
        for body in [#"{"account":"lin","password":"x"}"#, "{}", ""] {
            #expect(throws: ShopRefusal.wrongPassword) { try client.call("POST", "/account/login", body) }
        }
    }

    @Test func `Parameters may be sent as a form`() throws {
        var client = try ShopClient(server)
        let form = "account=lin&password=errand-1"
        let reply = client.send(
            "POST",
            "/account/login",
            ["Content-Type: application/x-www-form-urlencoded"],
            body: form.utf8
        )
        #expect(reply.status == 200 && reply.header("Set-Cookie") != nil)
    }

    @Test func `Signing out ends the session and the cookie`() throws {
        var client = try ShopClient(server)
        try client.signIn()
        let reply = client.send("POST", "/account/logout")
        #expect(reply.header("Set-Cookie") == "sid=; Path=/; HttpOnly; Max-Age=0")
        #expect(throws: ShopRefusal.signedOut(.http)) { try client.call("GET", "/account/me") }
    }

    @Test func `The goods list has Chinese names, for one category or all`() throws {
        var client = try ShopClient(server)
        let teas = try client.call("POST", "/mall/shopList", #"{"category":7}"#, as: [Goods].self)
        #expect(teas.count == 10 && teas[0].name == "龙井茶叶 明前特级 250g" && teas[0].price == "168.00")
        #expect(try client.call("GET", "/mall/shopList?category=5", as: [Goods].self).count == 6)
        #expect(try client.call("GET", "/mall/shopList", as: [Goods].self).count == 22)
    }

    @Test func `The cart adds, sums and removes goods, within the stock`() throws {
        var client = try ShopClient(server)
        try client.signIn()
        _ = try client.call("POST", "/cart/add", #"{"goodsID":1003,"count":2}"#)
        let cart = try client.call("POST", "/cart/add", #"{"goodsID":1001}"#, as: Cart.self)
        #expect(cart.count == 3 && cart.total == "341.00")
        #expect(throws: ShopRefusal.outOfStock) { try client.call("POST", "/cart/add", #"{"goodsID":1002,"count":8}"#) }
        #expect(throws: ShopRefusal.notFound) { try client.call("POST", "/cart/add", #"{"goodsID":1}"#) }
        #expect(throws: ShopRefusal.badParameter) { try client.call("POST", "/cart/add", #"{"goodsID":"x"}"#) }
        #expect(try client.call("POST", "/cart/remove", #"{"goodsID":1003,"count":1}"#, as: Cart.self).count == 2)
        #expect(try client.call("POST", "/cart/remove", #"{"goodsID":1003}"#, as: Cart.self).count == 1)
        #expect(try client.call("GET", "/cart", as: Cart.self).total == "168.00")
    }

    @Test func `An avatar is served with its size and hash`() throws {
        struct Upload: Decodable {
            let filename: String
            let bytes: Int
            let sha256: String
        }
        var client = try ShopClient(server)
        try client.signIn()
        let head =
            "--b\r\nContent-Disposition: form-data; name=\"nickname\"\r\n\r\nx\r\n--b\r\n"
            + "Content-Disposition: form-data; name=\"file\"; filename=\"头像.png\"\r\nContent-Type: image/png\r\n\r\n"
        let picture: [UInt8] = [0x89, 0x0D, 0x0A, 0x2D, 0x2D, 0x00]
        let body = Array(head.utf8) + picture + Array("\r\n--b--\r\n".utf8)
        let reply = client.send(
            "POST",
            "/account/avatar",
            ["Content-Type: multipart/form-data; boundary=\"b\""],
            body: body
        )
        let upload = try JSONDecoder().decode(ShopClient.Envelope<Upload>.self, from: Data(reply.body)).data
        #expect(upload?.filename == "头像.png" && upload?.bytes == 6)
        #expect(
            upload?.sha256 == "e6056f5496e77f3638a96f05f0de26be61f2591bf87d4b527575f1de60c08383"
        )
        #expect(throws: ShopRefusal.badParameter) { try client.call("POST", "/account/avatar", "{}") }
    }

    @Test func `An invoice is a PDF file of one mebibyte, complete or in parts`() throws {
        var client = try ShopClient(server)
        try client.signIn()
        let whole = client.send("GET", "/invoices/202600001.pdf")
        #expect(whole.body.count == 1 << 20)
        #expect(whole.text.hasPrefix("%PDF-1.4") && whole.text.hasSuffix("%%EOF\n"))
        let etag = try #require(whole.header("ETag"))
        let part = client.send("GET", "/invoices/202600001.pdf", ["Range: bytes=1000000-", "If-Range: \(etag)"])
        #expect(part.status == 206 && part.body == Array(whole.body[1_000_000...]))
        let slow = client.send("GET", "/invoices/202600001.pdf?rate=20000000")
        #expect(slow.body == whole.body)
        #expect(client.send("GET", "/invoices/1.pdf").status == 404)
        let large = client.send("GET", "/invoices/202600001.pdf?size=99999999")
        #expect(large.body.count == 8 << 20 && large.text.hasSuffix("%%EOF\n"))
    }

    @Test func `Trouble routes respond with an HTTP error, with a business error and late`() throws {
        var client = try ShopClient(server)
        #expect(throws: ShopRefusal.broken) { try client.call("GET", "/broken") }
        #expect(throws: ShopRefusal.stocktaking) { try client.call("GET", "/broken-business") }
        #expect(try client.call("GET", "/slow?seconds=0.01", as: [String: Double].self) == ["waited": 0.01])
    }
}
