extension ShopAPI {
    /// Adds `/goods/{goods}/picture`, which sends one `view` of an article as an image.
    func addPictures(to table: inout RouteTable) {
        members(&table, "GET", "/goods/:id/picture") { call, _ in
            let id = Int(call.request.parameters["id"] ?? "")
            guard let goods = catalog.goods.first(where: { $0.id == id }) else { throw ShopRefusal.notFound }
            let view = try call.inputs.integer("view", in: 0...ShopPicture.viewCount - 1, standard: 0)
            return .representation(
                of: .bytes(ShopPicture(goods: goods.id, view: view).png),
                etag: "\"picture-\(goods.id)-\(view)\"",
                headers: ["Content-Type": "image/png"],
                to: call.request
            )
            .adding("Cache-Control", "private, max-age=3600")
        }
    }
}

/// One view of an article: a rectangle of one colour, in a size that no other view of 32 successive articles has.
package struct ShopPicture: Sendable, Equatable {
    /// The number of views of each article.
    package static let viewCount = 50

    /// The width in pixels.
    package let width: Int
    /// The height in pixels.
    package let height: Int
    /// Red, green and blue.
    let color: [UInt8]

    /// Creates the picture of the article with this number.
    package init(goods: Int, view: Int) {
        (width, height) = (16 + goods % 32, 16 + view)
        color = [UInt8(goods * 8 % 256), UInt8(view * 5 % 256), 128]
    }

    /// The picture as PNG, with eight bits for each of red, green and blue, uncompressed.
    package var png: [UInt8] {
        // Each row begins with the type of its filter: none.
        var (row, pixels): ([UInt8], [UInt8]) = ([0], [])
        for _ in 0..<width { row += color }
        for _ in 0..<height { pixels += row }
        return [0x89] + "PNG\r\n\u{1A}\n".utf8
            + chunk("IHDR", word(width) + word(height) + [8, 2, 0, 0, 0])
            + chunk("IDAT", zlib(pixels))
            + chunk("IEND", [])
    }

    private func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let named = type.utf8 + content
        return word(content.count) + named + word(Int(CRC32.of(named)))
    }

    /// Returns one stored block in the zlib format (RFC 1950), which has at most 65,535 bytes.
    private func zlib(_ bytes: [UInt8]) -> [UInt8] {
        let length = UInt32(bytes.count)
        return [0x78, 0x01, 1] + (length | ~length << 16).littleEndianBytes + bytes + word(Adler32.of(bytes))
    }

    private func word(_ value: Int) -> [UInt8] { UInt32(value).bigEndian.littleEndianBytes }
}

/// The checksum of the zlib format (RFC 1950 section 8.2).
private enum Adler32 {
    static func of(_ bytes: [UInt8]) -> Int {
        var (low, high) = (1, 0)
        for byte in bytes {
            low = (low + Int(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return high << 16 | low
    }
}
