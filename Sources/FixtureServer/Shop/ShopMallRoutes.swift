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
