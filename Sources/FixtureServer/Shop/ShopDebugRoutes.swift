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
