extension ShopAPI {
    private struct Upload: Encodable {
        let filename: String
        let bytes: Int
        let sha256: String
    }

    /// Adds `/account/avatar`, which receives a picture, and `/invoices/{order}.pdf`, which sends an invoice.
    func addFiles(to table: inout RouteTable) {
        members(&table, "POST", "/account/avatar") { call, _ in
            let file = MultipartBody(call.request)?.parts.first { $0.filename != nil }
            guard let file else { throw ShopRefusal.badParameter }
            let sha256 = SHA256.hexadecimal(of: file.bytes)
            return .envelope(Upload(filename: file.filename ?? "", bytes: file.bytes.count, sha256: sha256))
        }
        members(&table, "GET", "/invoices/:id.pdf") { call, _ in
            let id = Int(call.request.parameters["id"] ?? "")
            guard let order = catalog.orders.first(where: { $0.id == id }) else { throw ShopRefusal.notFound }
            let headers: HeaderLines = [
                "Content-Type": "application/pdf",
                "Content-Disposition": "attachment; filename=\"invoice-\(order.id).pdf\"",
            ]
            let source = ByteSource.bytes(Invoice.bytes(for: order))
            return .representation(of: source, etag: "\"invoice-\(order.id)\"", headers: headers, to: call.request)
                .throttled(bytesPerSecond: call.request.integer("rate") ?? 0)
        }
    }
}
