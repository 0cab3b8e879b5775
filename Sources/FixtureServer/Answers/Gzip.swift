/// The gzip coding (RFC 1952) with stored blocks: valid, and no smaller than what goes in.
package enum Gzip {
    private static let blockLimit = 65_535

    /// Wraps bytes.
    package static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var encoded: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(blockLimit)
            rest = rest.dropFirst(blockLimit)
            let length = UInt16(block.count)
            encoded += [rest.isEmpty ? 1 : 0] + littleEndian(length) + littleEndian(~length) + block
        } while !rest.isEmpty
        return encoded + littleEndian(CRC32.of(bytes)) + littleEndian(UInt32(truncatingIfNeeded: bytes.count))
    }

    private static func littleEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
}

/// The checksum of gzip (RFC 1952 section 8).
enum CRC32 {
    static func of(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~0) { $0 >> 8 ^ table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] }
    }

    private static let table: [UInt32] = (0..<256).map { start in
        (0..<8).reduce(start) { word, _ in word & 1 == 1 ? word >> 1 ^ 0xEDB8_8320 : word >> 1 }
    }
}

extension Answer {
    /// An answer whose body is in the gzip coding.
    package static func gzip(_ body: [UInt8], status: Int = 200, headers: HeaderLines = [:]) -> Answer {
        .bytes(Gzip.encode(body), status: status, headers: headers + ["Content-Encoding": "gzip"])
    }
}
