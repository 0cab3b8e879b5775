/// The gzip coding (RFC 1952) with stored blocks: valid, and no smaller than its content.
package enum Gzip {
    static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
    private static let blockLimit = 65_535

    /// Returns these bytes in the gzip coding.
    package static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var encoded = header
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(blockLimit)
            rest = rest.dropFirst(blockLimit)
            // The length and its complement, 16 bits each.
            let length = UInt32(block.count)
            encoded += [rest.isEmpty ? 1 : 0] + (length | ~length << 16).littleEndianBytes + block
        } while !rest.isEmpty
        let count = UInt32(truncatingIfNeeded: bytes.count)
        return encoded + CRC32.of(bytes).littleEndianBytes + count.littleEndianBytes
    }
}

extension Response {
    /// Returns a response whose body is in the gzip coding.
    package static func gzip(_ body: [UInt8], status: Int = 200, headers: HeaderLines = [:]) -> Response {
        .bytes(Gzip.encode(body), status: status, headers: headers + ["Content-Encoding": "gzip"])
    }
}
