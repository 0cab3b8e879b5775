import Foundation

extension ShopAPI {
    private struct SignedIn: Encodable {
        let token: String
        let nickname: String
    }

    private struct Profile: Encodable {
        let account: String
        let nickname: String
    }

    /// Adds `/account/login`, `/account/logout` and `/account/me`.
    func addAccount(to table: inout RouteTable) {
        open(&table, "POST", "/account/login") { call in
            let account = catalog.accounts.first { $0.account == call.inputs["account"] }
            guard let account, account.password == call.inputs["password"] else { throw ShopRefusal.wrongPassword }
            let session = store.signIn(account.account)
            return .envelope(SignedIn(token: session.token, nickname: account.nickname))
                .adding("Set-Cookie", "sid=\(session.id); Path=/; HttpOnly; Max-Age=86400")
        }
        open(&table, "POST", "/account/logout") { call in
            store.signOut(ShopCredentials(call.request))
            return .envelope(Nothing()).adding("Set-Cookie", "sid=; Path=/; HttpOnly; Max-Age=0")
        }
        members(&table, "GET", "/account/me") { _, session in
            let account = catalog.accounts.first { $0.account == session.account }
            return .envelope(Profile(account: session.account, nickname: account?.nickname ?? ""))
        }
    }
}

extension ShopAPI {
    private struct Cart: Encodable {
        struct Line: Encodable {
            let goodsID: Int
            let name: String
            let price: String
            let count: Int
        }

        let items: [Line]
        let count: Int
        let total: String
    }

    /// Adds `/mall/shopList` and the cart: `/cart`, `/cart/add` and `/cart/remove`.
    func addMall(to table: inout RouteTable) {
        open(&table, "POST", "/mall/shopList", shopList)
        open(&table, "GET", "/mall/shopList", shopList)
        members(&table, "GET", "/cart") { _, session in .envelope(cart(session)) }
        members(&table, "POST", "/cart/add") { call, session in
            let goods = try goods(call)
            let count = try call.inputs.integer("count", in: 1...999, standard: 1)
            try store.changeCart(session.account, goods: goods.id, by: count, limit: goods.stock)
            return .envelope(cart(session))
        }
        members(&table, "POST", "/cart/remove") { call, session in
            let goods = try goods(call)
            let count = try call.inputs.integer("count", in: 1...999, standard: 999)
            try store.changeCart(session.account, goods: goods.id, by: -count)
            return .envelope(cart(session))
        }
    }

    @Sendable private func shopList(_ call: ShopCall) throws -> Response {
        guard call.inputs["category"] != nil else { return .envelope(catalog.goods) }
        let category = try call.inputs.integer("category", in: 0...Int.max)
        return .envelope(catalog.goods.filter { $0.category == category })
    }

    private func goods(_ call: ShopCall) throws(ShopRefusal) -> ShopGoods {
        let id = try call.inputs.integer("goodsID", in: 0...Int.max)
        guard let goods = catalog.goods.first(where: { $0.id == id }) else { throw .notFound }
        return goods
    }

    private func cart(_ session: ShopSession) -> Cart {
        let counts = store.cart(session.account)
        let goods = catalog.goods.filter { counts[$0.id] != nil }
        let lines = goods.map { Cart.Line(goodsID: $0.id, name: $0.name, price: $0.price, count: counts[$0.id] ?? 0) }
        let cents = goods.reduce(0) { $0 + $1.cents * (counts[$1.id] ?? 0) }
        return Cart(items: lines, count: counts.values.reduce(0, +), total: yuan(cents))
    }

    private func yuan(_ cents: Int) -> String {
        "\(cents / 100).\(cents % 100 / 10)\(cents % 10)"
    }
}

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

extension ShopAPI {
    private struct Waited: Encodable {
        let waited: Double
    }

    /// Adds `/slow`, `/broken` and `/broken-business`, and `/debug/…`, by which a test controls the shop.
    func addDebugRoutes(to table: inout RouteTable) {
        for method in ["GET", "POST"] {
            open(&table, method, "/slow") { call in
                let seconds = call.inputs["seconds"].flatMap(Double.init) ?? 5
                guard (0...3600).contains(seconds) else { throw ShopRefusal.badParameter }
                return .envelope(Waited(waited: seconds)).delayed(by: .seconds(seconds))
            }
            open(&table, method, "/broken") { _ in throw ShopRefusal.broken }
            open(&table, method, "/broken-business") { _ in throw ShopRefusal.stocktaking }
        }
        table.post("/debug/expire-session") { [store] request in
            let inputs = ShopInputs(request)
            let calls = try? inputs.integer("after", in: 0...Int.max, standard: 0)
            guard let calls, let style = SessionExpiryStyle(rawValue: inputs["as"] ?? "http") else {
                return .refusal(.badParameter)
            }
            store.expire(ShopCredentials(request), after: calls, style: style)
            return .envelope(Nothing())
        }
        table.post("/debug/place-order") { [store] request in
            store.change(ShopCredentials(request)) { $0.placedOrders += 1 }
            return .envelope(Nothing())
        }
        table.post("/debug/break-orders") { [store] request in
            guard let pages = try? ShopInputs(request).integer("after", in: 0...Int.max, standard: 0) else {
                return .refusal(.badParameter)
            }
            store.change(ShopCredentials(request)) { $0.pagesLeft = pages }
            return .envelope(Nothing())
        }
        table.post("/debug/expire-key") { [store] request in
            guard let id = ShopInputs(request)["id"] else { return .refusal(.badParameter) }
            store.expireKey(id)
            return .envelope(Nothing())
        }
        table.get("/debug/log") { [store] _ in .envelope(store.log) }
        table.post("/debug/clear-log") { [store] _ in
            store.clearLog()
            return .envelope(Nothing())
        }
    }
}

extension ShopAPI {
    private static let stations = ["packed in Shenzhen", "on a train to Berlin", "delivered"]
    private static let words = ["It", " ships", " today,", " and", " arrives", " on", " Friday."]

    /// Adds `/orders/{order}/way`, an event stream whose connection is lost once, and `/assistant`, whose response grows.
    func addStreams(to table: inout RouteTable) {
        members(&table, "GET", "/orders/:id/way") { call, _ in
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
            switch call.request.header("Last-Event-ID") {
            case nil: return .script(.write(head + "retry: 20\n\n" + event(1) + event(2) + "data: lost"), .close)
            case "2": return .script(.write(head + event(3)), .close)
            default: return .status(204)
            }
        }
        members(&table, "POST", "/assistant") { _, _ in
            .chunked(Self.words.map { Array("data: \($0)\n\n".utf8) }, headers: ["Content-Type": "text/event-stream"])
        }
    }

    private func event(_ number: Int) -> String {
        "id: \(number)\nevent: station\ndata: {\"number\":\(number),\"text\":\"\(Self.stations[number - 1])\"}\n\n"
    }
}
