import Foundation

extension ShopAPI {
    private static let standardSize = 20
    private static let sizes = 1...100

    private struct NumberedPage: Encodable {
        let list: [ShopOrder]
        let totalPage: Int
        let totalRow: Int
    }

    private struct OffsetPage: Encodable {
        let list: [ShopOrder]
        let total_count: Int
    }

    private struct CursorPage: Encodable {
        let list: [ShopOrder]
        let nextCursor: String?
    }

    /// The orders in pages: `/orders` by number, offset or cursor, `/orders/linked` by `Link` header.
    func addOrders(to table: inout RouteTable) {
        members(&table, "GET", "/orders") { call, _ in
            if call.inputs["cursor"] != nil { return try byCursor(call.inputs) }
            if call.inputs["offset"] != nil { return try byOffset(call.inputs) }
            return try byNumber(call.inputs)
        }
        members(&table, "GET", "/orders/feed") { call, _ in try byCursor(call.inputs) }
        members(&table, "GET", "/orders/linked") { call, _ in try linked(call) }
    }

    private func byNumber(_ inputs: ShopInputs) throws -> Answer {
        let page = try inputs.integer("page", in: 1...Int.max, standard: 1)
        let size = try inputs.integer("pageSize", in: Self.sizes, standard: Self.standardSize)
        let list = slice(page: page, size: size)
        return .envelope(NumberedPage(list: list, totalPage: pages(of: size), totalRow: catalog.orders.count))
    }

    private func byOffset(_ inputs: ShopInputs) throws -> Answer {
        let offset = try inputs.integer("offset", in: 0...Int.max)
        let limit = try inputs.integer("limit", in: Self.sizes, standard: Self.standardSize)
        let list = Array(catalog.orders.dropFirst(offset).prefix(limit))
        return .envelope(OffsetPage(list: list, total_count: catalog.orders.count))
    }

    private func byCursor(_ inputs: ShopInputs) throws -> Answer {
        let limit = try inputs.integer("limit", in: Self.sizes, standard: Self.standardSize)
        let start = try position(of: inputs["cursor"] ?? "")
        let list = Array(catalog.orders.dropFirst(start).prefix(limit))
        let isLast = start + limit >= catalog.orders.count
        return .envelope(CursorPage(list: list, nextCursor: isLast ? nil : cursor(at: start + limit)))
    }

    private func linked(_ call: ShopCall) throws -> Answer {
        let page = try call.inputs.integer("page", in: 1...Int.max, standard: 1)
        let size = try call.inputs.integer("per_page", in: Self.sizes, standard: Self.standardSize)
        let last = pages(of: size)
        let base = "http://\(call.request.header("Host") ?? "localhost")/orders/linked"
        let links = [("next", page + 1), ("prev", page - 1), ("first", 1), ("last", last)]
            .filter { (1...last).contains($0.1) }
            .map { "<\(base)?page=\($0.1)&per_page=\(size)>; rel=\"\($0.0)\"" }
        return .envelope(slice(page: page, size: size)).adding("Link", links.joined(separator: ", "))
    }

    private func slice(page: Int, size: Int) -> [ShopOrder] {
        guard page <= pages(of: size) else { return [] }
        return Array(catalog.orders.dropFirst((page - 1) * size).prefix(size))
    }

    private func pages(of size: Int) -> Int {
        (catalog.orders.count + size - 1) / size
    }

    /// A cursor holds `=` and is base64, so that only a client that encodes it gets it back whole.
    private func cursor(at position: Int) -> String {
        Data("after:\(position)".utf8).base64EncodedString()
    }

    private func position(of cursor: String) throws(ShopRefusal) -> Int {
        guard !cursor.isEmpty else { return 0 }
        let text = Data(base64Encoded: cursor).map { String(decoding: $0, as: UTF8.self) } ?? ""
        guard text.hasPrefix("after:"), let position = Int(text.dropFirst(6)), position >= 0 else { throw .badCursor }
        return position
    }
}
