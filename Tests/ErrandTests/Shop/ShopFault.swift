import ErrandTesting
import FixtureServer
import Foundation

@testable import ErrandTestSupport

/// A shop with one fault; the raw value is the walk's message about it.
enum ShopFault: String, CaseIterable {
    case garbledName = "2 (Goods list) did not hold: 龙井茶叶 明前特级 250g is not among the goods"
    case wrongTotal = "3 (Cart) did not hold: the cart's total is not the sum of its lines"
    case missingOrder = "4 (Orders, page by page) did not hold: 137 orders were expected, 136 received"
    case missingLink =
        "5 (Orders in four ways, one placed meanwhile) did not hold: 140 orders were expected by link, 50 received"
    case soundPages = "6 (A page that fails, and its retry) did not hold: a request did not fail"
    case otherPicture = "7 (Avatar upload) did not hold: the server got other bytes"
    case shortInvoice = "8 (Invoice download) did not hold: the invoice has 9 bytes"
    case endlessSession = "10 (Expired session, HTTP 401) did not hold: 0 requests were refused, not 5"
    case otherWords =
        """
        12 (Errors and a timeout) did not hold: server was expected, this came: server, \
        GET /broken-business, HTTP 200, code 1, no
        """
    case acceptedCopy =
        "13 (Signed requests, a copy, and a wrong clock) did not hold: a copy of a request was accepted"
    case immortalKey = "14 (Sealed payments, whose key expires) did not hold: 0 payments were refused, not 10"
    case otherView = "18 (Product pictures) did not hold: a cell has shown another picture than its own"
    case forgetfulServer = "19 (A new process, still signed in) did not hold: the new process ended with status 1"
    case immortalSession = "21 (Sign out) did not hold: the old cookie still counts: HTTP 200"

    /// The routes of the faulty shop.
    func routes() throws -> RouteTable {
        let shop = try catalog().routes
        var table = RouteTable.standard
        table.add(shop)
        switch self {
        case .garbledName, .missingOrder: break
        case .wrongTotal: table.post("/cart/add") { _ in .enveloped(Self.cart) }
        case .missingLink: table.get("/orders/linked") { .json(bytes: shop.response(to: $0).bodyBytes) }
        case .soundPages: table.post("/debug/break-orders") { _ in .enveloped("null") }
        case .otherPicture: table.post("/account/avatar") { _ in .enveloped(Self.picture) }
        case .shortInvoice: table.get("/invoices/:id.pdf") { _ in .text("%PDF-1.4\n") }
        case .endlessSession: table.post("/debug/expire-session") { _ in .enveloped("null") }
        case .otherWords: table.get("/broken-business") { _ in .enveloped("null", code: 1) }
        case .acceptedCopy: table.get("/partner/stock") { _ in .enveloped(#"{"goodsID":1002,"stock":7}"#) }
        case .immortalKey: table.post("/debug/expire-key") { _ in .enveloped("null") }
        case .otherView:
            let bytes = ShopPicture(goods: 1001, view: 0).png
            table.get("/goods/:id/picture") { _ in .bytes(bytes, headers: ["Content-Type": "image/png"]) }
        case .forgetfulServer:
            table.get("/account/me") { $0.header("X-Token") == nil ? .refused : shop.response(to: $0) }
        case .immortalSession: table.post("/account/logout") { _ in .enveloped("null") }
        }
        return table
    }

    private static let cart =
        #"{"items":[{"goodsID":1002,"name":"壶","price":"399.00","count":2}],"count":2,"total":"797.99"}"#
    private static let picture = #"{"filename":"avatar.bmp","bytes":786486,"sha256":"00"}"#

    /// Returns the routes of a shop with faulty data.
    private func catalog() throws -> ShopAPI {
        let folder = try TemporaryFolder()
        let names = try FileManager.default.contentsOfDirectory(atPath: Fixtures.directory.path)
        for name in names where name.hasSuffix(".json") {
            let text = try String(contentsOf: Fixtures.directory.appending(path: name), encoding: .utf8)
            try Data(changed(text).utf8).write(to: folder.url.appending(path: name))
        }
        return try ShopAPI(fixtures: folder.url)
    }

    private func changed(_ text: String) -> String {
        switch self {
        case .garbledName: text.replacing("龙井茶叶", with: "é¾äº•èŒ¶å¶")
        case .missingOrder: text.replacing(/\{"id": 202600050,.*\n/, with: "")
        default: text
        }
    }
}

extension Response {
    fileprivate static let refused = enveloped("null", code: 11_010, status: 401)

    fileprivate static func enveloped(_ data: String, code: Int = 200, status: Int = 200) -> Response {
        .json(bytes: #"{"errcode":\#(code),"msg":"no","data":\#(data)}"#.utf8, status: status)
    }
}

extension Response {
    /// The body of a response that consists of a single write.
    fileprivate var bodyBytes: [UInt8] {
        steps.dropFirst().reduce(into: []) { bytes, step in
            if case .write(let piece) = step { bytes += piece }
        }
    }
}
