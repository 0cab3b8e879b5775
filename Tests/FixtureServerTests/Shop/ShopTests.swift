import ErrandSigning
import Foundation
import Testing
import TestSupport

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

@Suite("The shop's pictures", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ShopPictureTests {
    private let server: FixtureServer

    init() throws {
        server = try FixtureServer.startShop()
    }

    @Test func `A picture is a valid PNG of the size and colour of its article and view`() throws {
        var client = try ShopClient(server)
        try client.signIn()
        for (goods, view) in [(1001, 0), (1001, 49), (1022, 7)] {
            let reply = client.send("GET", "/goods/\(goods)/picture?view=\(view)")
            #expect(reply.header("Content-Type") == "image/png")
            let (expected, picture) = (ShopPicture(goods: goods, view: view), try #require(DecodedPNG(reply.body)))
            #expect(picture.width == expected.width && picture.height == expected.height)
            #expect(picture.rows.count == expected.height)
            let row = Array(repeatElement(expected.color, count: expected.width).joined())
            #expect(picture.rows.allSatisfy { $0 == row })
        }
    }

    @Test func `No two pictures of the shop have the same size`() {
        let pictures = (1001...1022).flatMap { goods in
            (0..<ShopPicture.viewCount).map { ShopPicture(goods: goods, view: $0) }
        }
        #expect(Set(pictures.map { [$0.width, $0.height] }).count == pictures.count)
    }

    @Test func `A picture may be stored by its customer alone, and is validated by its tag`() throws {
        var client = try ShopClient(server)
        try client.signIn()
        let reply = client.send("GET", "/goods/1001/picture?view=3")
        let tag = try #require(reply.header("ETag"))
        #expect(reply.header("Cache-Control") == "private, max-age=3600")
        let validated = client.send("GET", "/goods/1001/picture?view=3", ["If-None-Match: \(tag)"])
        #expect(validated.status == 304 && validated.header("Cache-Control") == "private, max-age=3600")
        #expect(client.send("GET", "/goods/1001/picture?view=4").header("ETag") != tag)
        let first = client.send("GET", "/goods/1001/picture")
        #expect(first.body == client.send("GET", "/goods/1001/picture?view=0").body)
    }

    @Test(arguments: [SessionExpiryStyle.http, .envelope])
    func `A picture needs the session, and every request for one is counted`(style: SessionExpiryStyle) throws {
        var client = try ShopClient(server)
        #expect(throws: ShopRefusal.signedOut(.http)) { try client.call("GET", "/goods/1001/picture") }
        try client.signIn()
        _ = try client.call("POST", "/debug/expire-session", #"{"after":1,"as":"\#(style.rawValue)"}"#)
        #expect(client.send("GET", "/goods/1001/picture?view=1").header("Content-Type") == "image/png")
        #expect(throws: ShopRefusal.signedOut(style)) { try client.call("GET", "/goods/1001/picture") }
        let log = try client.call("GET", "/debug/log", as: ShopLog.self)
        #expect(log.hits["/goods/1001/picture"] == 3 && log.refused == 2)
    }

    @Test func `An unknown article or view has no picture`() throws {
        var client = try ShopClient(server)
        try client.signIn()
        for name in ["1", "x"] {
            #expect(throws: ShopRefusal.notFound) { try client.call("GET", "/goods/\(name)/picture") }
        }
        for view in ["-1", "50", "x"] {
            #expect(throws: ShopRefusal.badParameter) { try client.call("GET", "/goods/1001/picture?view=\(view)") }
        }
    }
}

/// A PNG with one stored block of true colour, decoded by the specification alone; `nil` if anything in it is wrong.
private struct DecodedPNG {
    let width: Int
    let height: Int
    let rows: [[UInt8]]

    init?(_ file: [UInt8]) {
        guard file.starts(with: [137, 80, 78, 71, 13, 10, 26, 10]) else { return nil }
        var (rest, chunks) = (file.dropFirst(8), [(type: String, content: [UInt8])]())
        while !rest.isEmpty {
            guard rest.count >= 12 else { return nil }
            let length = Self.number(rest.prefix(4))
            guard rest.count >= 12 + length else { return nil }
            let named = rest.dropFirst(4).prefix(4 + length)
            guard Self.number(rest.dropFirst(8 + length).prefix(4)) == Self.crc(named) else { return nil }
            chunks.append((String(decoding: named.prefix(4), as: UTF8.self), Array(named.dropFirst(4))))
            rest = rest.dropFirst(12 + length)
        }
        guard chunks.map(\.type) == ["IHDR", "IDAT", "IEND"], chunks[2].content.isEmpty else { return nil }
        let header = chunks[0].content
        guard header.count == 13, header[8...] == [8, 2, 0, 0, 0], let pixels = Self.inflated(chunks[1].content)
        else { return nil }
        (width, height) = (Self.number(header[..<4]), Self.number(header[4..<8]))
        let stride = 1 + 3 * width
        guard pixels.count == stride * height else { return nil }
        let lines = (0..<height).map { pixels[$0 * stride..<($0 + 1) * stride] }
        guard lines.allSatisfy({ $0.first == 0 }) else { return nil }
        rows = lines.map { Array($0.dropFirst()) }
    }

    /// RFC 1950, and RFC 1951 section 3.2.4.
    private static func inflated(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.count >= 11, bytes[0] & 15 == 8, number(bytes[..<2]) % 31 == 0, bytes[1] & 32 == 0, bytes[2] == 1
        else { return nil }
        let length = Int(bytes[3]) | Int(bytes[4]) << 8
        guard length ^ 0xFFFF == Int(bytes[5]) | Int(bytes[6]) << 8, bytes.count == 11 + length else { return nil }
        let content = bytes[7..<7 + length]
        let low = content.reduce(1) { $0 + Int($1) }
        let high = content.enumerated().reduce(length) { $0 + (length - $1.offset) * Int($1.element) }
        guard number(bytes.suffix(4)) == (high % 65_521) << 16 | low % 65_521 else { return nil }
        return Array(content)
    }

    /// Annex D of the PNG specification.
    private static func crc(_ bytes: some Sequence<UInt8>) -> Int {
        let register = bytes.reduce(UInt32.max) { register, byte in
            (0..<8).reduce(register ^ UInt32(byte)) { word, _ in word >> 1 ^ (word & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
        return Int(~register)
    }

    private static func number(_ bytes: some Sequence<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
}

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

@Suite("The shop's sealed calls", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ShopWalletTests {
    private struct ExchangedKey: Decodable {
        let id: String
        let nonce: String
    }

    private struct Receipt: Decodable {
        let order: Int
        let receipt: String
    }

    /// A key and what the client does with it.
    private struct Sealing {
        let id: String
        let key: Data
        let nonce = "one"

        func seal(_ text: String, for target: String = "/wallet/pay") throws -> Data {
            let nonce = Data((0..<12).map { _ in UInt8.random(in: .min ... .max) })
            let lines = Data("request\nPOST\n\(target)\n\(id)\n\(self.nonce)\napplication/json".utf8)
            return try SealingCipher.aesGCM.seal(Data(text.utf8), key: key, nonce: nonce, authenticating: lines)
        }

        func open<Value: Decodable>(
            _ reply: RawClient.Reply,
            as type: Value.Type = Value.self
        ) throws -> ShopClient.Envelope<Value> {
            let type = try #require(reply.header("X-Sealed-Content-Type"))
            let lines = Data("response\nPOST\n/wallet/pay\n\(id)\n\(nonce)\n\(type)\n\(reply.status)".utf8)
            let json = try SealingCipher.aesGCM.open(Data(reply.body), key: key, authenticating: lines)
            return try JSONDecoder().decode(ShopClient.Envelope<Value>.self, from: json)
        }

        func headers(id: String? = nil) -> [String] {
            [
                "X-Key-ID: \(id ?? self.id)", "Content-Type: application/x-sealed",
                "X-Sealed-Content-Type: application/json", "X-Sealed-Nonce: \(nonce)",
            ]
        }
    }

    private let server: FixtureServer

    init() throws {
        server = try FixtureServer.startShop()
    }

    private func exchangedKey(_ client: inout ShopClient) throws -> Sealing {
        let response = try client.call("POST", "/wallet/keys", #"{"nonce":"mine"}"#, as: ExchangedKey.self)
        let key = SHA256.hmac(of: "mine|\(response.nonce)".utf8, key: ShopSessionKey.secret.utf8)
        return Sealing(id: response.id, key: Data(key))
    }

    @Test func `A sealed call has a sealed response`() throws {
        var client = try ShopClient(server)
        let sealing = try exchangedKey(&client)
        let body = try sealing.seal(#"{"order":202600001}"#)
        let reply = client.send("POST", "/wallet/pay", sealing.headers(), body: body)
        #expect(reply.header("Content-Type") == "application/x-sealed")
        #expect(Data(reply.body).range(of: Data("202600001".utf8)) == nil)
        let envelope = try sealing.open(reply, as: Receipt.self)
        #expect(envelope.errcode == 200 && envelope.data?.order == 202_600_001)
        #expect(envelope.data?.receipt.isEmpty == false)
    }

    @Test func `What a handler refuses is refused in a sealed response`() throws {
        var client = try ShopClient(server)
        let sealing = try exchangedKey(&client)
        let reply = client.send("POST", "/wallet/pay", sealing.headers(), body: try sealing.seal(#"{"order":1}"#))
        #expect(reply.status == 404)
        #expect(try sealing.open(reply, as: ShopClient.Ignored.self).errcode == 404)
    }

    @Test func `An unknown or expired key is refused in the clear, and counted`() throws {
        var client = try ShopClient(server)
        let sealing = try exchangedKey(&client)
        let body = try sealing.seal(#"{"order":202600001}"#)
        _ = try client.call("POST", "/debug/expire-key", #"{"id":"\#(sealing.id)"}"#)
        for headers in [sealing.headers(), sealing.headers(id: "unknown"), []] {
            let reply = client.send("POST", "/wallet/pay", headers, body: body)
            let json = try JSONSerialization.jsonObject(with: Data(reply.body)) as? [String: Any]
            #expect(reply.header("Content-Type") == "application/json" && json?["errcode"] as? Int == 41_001)
        }
        let log = try client.call("GET", "/debug/log", as: ShopLog.self)
        #expect(log.keyExchanges == 1 && log.keyRefusals == 3)
    }

    @Test func `A body that is not sealed, changed, or sealed for another path is refused`() throws {
        var client = try ShopClient(server)
        let sealing = try exchangedKey(&client)
        let text = #"{"order":202600001}"#
        var changed = try sealing.seal(text)
        changed[20] ^= 1
        for body in [Data(text.utf8), changed, try sealing.seal(text, for: "/wallet/other"), Data()] {
            let reply = client.send("POST", "/wallet/pay", sealing.headers(), body: body)
            let json = try JSONSerialization.jsonObject(with: Data(reply.body)) as? [String: Any]
            #expect(json?["errcode"] as? Int == 41_002)
        }
    }
}
