import Foundation

extension ShopAPI {
    private static let standardSize = 20
    private static let sizes = 1...100
    /// More than there can be, and small enough that sums do not overflow.
    private static let numbers = 1...1_000_000_000

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

    /// Adds the orders in pages: `/orders` by number, offset or cursor, `/orders/linked` by `Link` header.
    func addOrders(to table: inout RouteTable) {
        pages(&table, "/orders") { call, orders in
            if call.inputs["cursor"] != nil { return try byCursor(call.inputs, orders) }
            if call.inputs["offset"] != nil { return try byOffset(call.inputs, orders) }
            return try byNumber(call.inputs, orders)
        }
        pages(&table, "/orders/feed") { call, orders in try byCursor(call.inputs, orders) }
        pages(&table, "/orders/linked") { call, orders in try linked(call, orders) }
    }

    private func pages(
        _ table: inout RouteTable,
        _ pattern: String,
        _ handler: @escaping @Sendable (ShopCall, [ShopOrder]) throws -> Response
    ) {
        members(&table, "GET", pattern) { [store] call, session in
            try store.countPage(of: ShopCredentials(call.request))
            return try handler(call, orders(of: session))
        }
    }

    /// Returns the orders that were placed in the session, the newest first, then those of the data.
    private func orders(of session: ShopSession) -> [ShopOrder] {
        guard session.placedOrders > 0, let newest = catalog.orders.first else { return catalog.orders }
        let placed = (1...session.placedOrders).map { newest.repeated(as: newest.id + $0) }
        return placed.reversed() + catalog.orders
    }

    private func byNumber(_ inputs: ShopInputs, _ orders: [ShopOrder]) throws -> Response {
        let page = try inputs.integer("page", in: 1...Int.max, standard: 1)
        let size = try inputs.integer("pageSize", in: Self.sizes, standard: Self.standardSize)
        let list = orders.slice(page: page, size: size)
        return .envelope(NumberedPage(list: list, totalPage: orders.pages(of: size), totalRow: orders.count))
    }

    private func byOffset(_ inputs: ShopInputs, _ orders: [ShopOrder]) throws -> Response {
        let offset = try inputs.integer("offset", in: 0...Int.max)
        let limit = try inputs.integer("limit", in: Self.sizes, standard: Self.standardSize)
        let list = Array(orders.dropFirst(offset).prefix(limit))
        return .envelope(OffsetPage(list: list, total_count: orders.count))
    }

    private func byCursor(_ inputs: ShopInputs, _ orders: [ShopOrder]) throws -> Response {
        let limit = try inputs.integer("limit", in: Self.sizes, standard: Self.standardSize)
        let start = try position(of: inputs["cursor"] ?? "")
        let list = Array(orders.dropFirst(start).prefix(limit))
        let isLast = start + limit >= orders.count
        return .envelope(CursorPage(list: list, nextCursor: isLast ? nil : cursor(at: start + limit)))
    }

    private func linked(_ call: ShopCall, _ orders: [ShopOrder]) throws -> Response {
        let page = try call.inputs.integer("page", in: Self.numbers, standard: 1)
        let size = try call.inputs.integer("per_page", in: Self.sizes, standard: Self.standardSize)
        let last = orders.pages(of: size)
        let base = "http://\(call.request.header("Host") ?? "localhost")/orders/linked"
        let links = [("next", page + 1), ("prev", page - 1), ("first", 1), ("last", last)]
            .filter { (1...last).contains($0.1) }
            .map { "<\(base)?page=\($0.1)&per_page=\(size)>; rel=\"\($0.0)\"" }
        return .envelope(orders.slice(page: page, size: size)).adding("Link", links.joined(separator: ", "))
    }

    /// Returns a cursor in base64, mostly with `=`, so that only a client that encodes it returns it unchanged.
    private func cursor(at position: Int) -> String {
        Data("after:\(position)".utf8).base64EncodedString()
    }

    private func position(of cursor: String) throws(ShopRefusal) -> Int {
        guard !cursor.isEmpty else { return 0 }
        let text = Data(base64Encoded: cursor).map { String(decoding: $0, as: UTF8.self) } ?? ""
        guard text.hasPrefix("after:"), let position = Int(text.dropFirst(6)), Self.numbers.contains(position) else {
            throw .badCursor
        }
        return position
    }
}

extension [ShopOrder] {
    fileprivate func slice(page: Int, size: Int) -> [ShopOrder] {
        guard page <= pages(of: size) else { return [] }
        return Array(dropFirst((page - 1) * size).prefix(size))
    }

    fileprivate func pages(of size: Int) -> Int {
        (count + size - 1) / size
    }
}

extension ShopOrder {
    /// Returns a copy of the order with another number.
    fileprivate func repeated(as id: Int) -> ShopOrder {
        ShopOrder(id: id, title: title, count: count, amount: amount, status: "待发货", placedAt: placedAt)
    }
}
