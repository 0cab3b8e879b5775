import Foundation

extension ShopAPI {
    private struct Upload: Encodable {
        let filename: String
        let bytes: Int
        let sha256: String
    }

    /// Adds `/account/avatar`, which receives a picture, and `/invoices/{order}.pdf`, which sends an invoice: of
    /// one mebibyte, or of a `size` of up to eight.
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
            let size = min(max(call.request.integer("size") ?? 1 << 20, 1 << 12), 8 << 20)
            let source = ByteSource.bytes(Invoice.bytes(for: order, size: Int(size)))
            return .representation(
                of: source,
                etag: "\"invoice-\(order.id)-\(size)\"",
                headers: headers,
                to: call.request
            )
            .throttled(bytesPerSecond: call.request.integer("rate") ?? 0)
        }
    }
}

/// The parts of a `multipart/form-data` body (RFC 7578).
package struct MultipartBody: Sendable {
    /// One part.
    package struct Part: Sendable, Equatable {
        /// The header lines.
        package let headers: HeaderLines
        /// The bytes.
        package let bytes: [UInt8]

        /// The name of the field.
        package var name: String? { parameter("name") }
        /// The name of the file; `nil` when the part has none.
        package var filename: String? { parameter("filename") }

        private func parameter(_ name: String) -> String? {
            let value = headers["Content-Disposition"]?.components(separatedBy: "; \(name)=\"").dropFirst().first
            return value.map { String($0.prefix { $0 != "\"" }) }
        }
    }

    /// The parts in their order.
    package let parts: [Part]

    /// Parses a request's body; `nil` when it is not a complete multipart body.
    package init?(_ request: RecordedRequest) {
        guard let type = request.header("Content-Type"), type.hasPrefix("multipart/form-data"),
            let boundary = type.components(separatedBy: "boundary=").dropFirst().first
        else { return nil }
        let name = boundary.trimmingCharacters(in: CharacterSet(charactersIn: "\""))
        self.init(Data("\r\n".utf8) + request.body, delimiter: Data("\r\n--\(name)".utf8))
    }

    private init?(_ body: Data, delimiter: Data) {
        var parts: [Part] = []
        guard var start = body.range(of: delimiter)?.upperBound else { return nil }
        while !body[start...].starts(with: "--".utf8) {
            guard let end = body.range(of: delimiter, in: start..<body.endIndex),
                let part = Self.part(body[start..<end.lowerBound])
            else { return nil }
            parts.append(part)
            start = end.upperBound
        }
        self.parts = parts
    }

    private static func part(_ bytes: Data) -> Part? {
        guard let end = bytes.range(of: Data("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let headers = lines.dropFirst().compactMap { line -> HeaderLine? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            return HeaderLine(String(line[..<colon]), value)
        }
        return Part(headers: HeaderLines(headers), bytes: Array(bytes[end.upperBound...]))
    }
}

/// A PDF file, always the same for the same order and size.
enum Invoice {
    static func bytes(for order: ShopOrder, size: Int) -> [UInt8] {
        var file = Array("%PDF-1.4\n".utf8)
        var offsets: [Int] = []
        for (index, object) in objects(for: order).enumerated() {
            offsets.append(file.count)
            file += "\(index + 1) 0 obj\n\(object)\nendobj\n".utf8
        }
        // The table's position has as many digits as the file's size, so the length of the end does not depend on it.
        file += comments(for: order, count: size - file.count - end(offsets, at: size).count)
        return file + end(offsets, at: file.count)
    }

    private static func objects(for order: ShopOrder) -> [String] {
        let text = "BT /F1 24 Tf 72 720 Td (Invoice \(order.id)) Tj 0 -36 Td (CNY \(order.amount)) Tj ET"
        return [
            "<< /Type /Catalog /Pages 2 0 R >>",
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
                + " /Resources << /Font << /F1 5 0 R >> >> >>",
            "<< /Length \(text.utf8.count) >>\nstream\n\(text)\nendstream",
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        ]
    }

    private static func comments(for order: ShopOrder, count: Int) -> [UInt8] {
        var bytes = Array("% this invoice of order \(order.id) is long so that its download can be watched\n".utf8)
        while bytes.count < count { bytes += bytes }
        return bytes.prefix(count - 1) + [.lineFeed]
    }

    private static func end(_ offsets: [Int], at position: Int) -> [UInt8] {
        let lines = offsets.map { offset in
            let digits = String(offset)
            return String(repeating: "0", count: 10 - digits.count) + digits + " 00000 n \n"
        }
        let count = offsets.count + 1
        return Array(
            ("xref\n0 \(count)\n0000000000 65535 f \n\(lines.joined())"
                + "trailer\n<< /Size \(count) /Root 1 0 R >>\nstartxref\n\(position)\n%%EOF\n").utf8
        )
    }
}
