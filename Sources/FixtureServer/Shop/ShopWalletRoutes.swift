import Foundation

extension ShopAPI {
    private struct SessionKey: Encodable {
        let id: String
        let nonce: String
        /// In seconds.
        let lifetime: Int
    }

    private struct Receipt: Encodable {
        let order: Int
        let amount: String
        let receipt: String
    }

    /// Adds `/wallet/keys`, which exchanges a session key, and `/wallet/pay`, whose bodies are sealed with one.
    func addWallet(to table: inout RouteTable) {
        open(&table, "POST", "/wallet/keys") { [store] call in
            guard let nonce = call.inputs["nonce"], !nonce.isEmpty else { throw ShopRefusal.badParameter }
            let key = ShopSessionKey(clientNonce: nonce)
            store.add(key)
            let lifetime = Int(ShopSessionKey.lifetime / .seconds(1))
            return .envelope(SessionKey(id: key.id, nonce: key.nonce, lifetime: lifetime))
        }
        sealed(&table, "POST", "/wallet/pay") { call in
            let id = try call.inputs.integer("order", in: 0...Int.max)
            guard let order = catalog.orders.first(where: { $0.id == id }) else { throw ShopRefusal.notFound }
            return Receipt(order: id, amount: order.amount, receipt: "已付款 \(order.title)")
        }
    }

    /// Adds a route whose bodies are sealed; what concerns the key is refused in the clear.
    private func sealed<Value: Encodable & SendableMetatype>(
        _ table: inout RouteTable,
        _ method: String,
        _ pattern: String,
        _ handler: @escaping @Sendable (ShopCall) throws -> Value
    ) {
        open(&table, method, pattern) { [store] call in
            let seal = try ShopSeal(call.request, in: store)
            let opened = ShopCall(try seal.opened())
            do {
                return try seal.response(ShopEnvelope(errcode: 200, msg: "ok", data: handler(opened)), status: 200)
            } catch let refusal as ShopRefusal {
                let envelope = ShopEnvelope<Nothing>(errcode: refusal.code, msg: refusal.message, data: nil)
                return try seal.response(envelope, status: refusal.status)
            }
        }
    }
}
