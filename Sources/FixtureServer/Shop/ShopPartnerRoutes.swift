extension ShopAPI {
    private struct Stock: Encodable {
        let goodsID: Int
        let stock: Int
    }

    /// Adds `/partner/stock`, whose calls have a ``ShopSignature``.
    func addPartners(to table: inout RouteTable) {
        signed(&table, "GET", "/partner/stock") { call in
            let id = try call.inputs.integer("goodsID", in: 0...Int.max)
            guard let goods = catalog.goods.first(where: { $0.id == id }) else { throw ShopRefusal.notFound }
            return .envelope(Stock(goodsID: id, stock: goods.stock))
        }
    }

    /// Adds a route whose calls must be signed, each with another nonce.
    private func signed(
        _ table: inout RouteTable,
        _ method: String,
        _ pattern: String,
        _ handler: @escaping @Sendable (ShopCall) throws -> Response
    ) {
        open(&table, method, pattern) { [store] call in
            try store.use(ShopSignature(call.inputs))
            return try handler(call)
        }
    }
}
