/// A PDF file of exactly one mebibyte, always the same for the same order.
enum Invoice {
    private static let size = 1 << 20

    /// Returns the bytes of the file.
    static func bytes(for order: ShopOrder) -> [UInt8] {
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
