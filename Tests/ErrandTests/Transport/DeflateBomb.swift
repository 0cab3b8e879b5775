/// A DEFLATE stream (RFC 1951) of zeros that could go on for ever: 13 bytes become 2,064.
enum DeflateBomb {
    /// The beginning of a stream, which becomes just more than `limit` zeros.
    static func bytes(over limit: Int) -> [UInt8] {
        start + Array(repeatElement(more, count: limit / moreZeros + 1).joined())
    }

    /// What stands before a DEFLATE stream in gzip (RFC 1952).
    static let gzipHeader: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]

    // The block's type, one zero, and one run of 258 zeros.
    private static let start = packed(blockStart + zero + run)
    // Eight runs, to be repeated.
    private static let more = packed(Array(repeating: run, count: 8).flatMap { $0 })
    private static let moreZeros = 8 * 258
    private static let blockStart: [UInt8] = [1, 1, 0]
    private static let zero: [UInt8] = [0, 0, 1, 1, 0, 0, 0, 0]
    private static let run: [UInt8] = [1, 1, 0, 0, 0, 1, 0, 1] + [0, 0, 0, 0, 0]

    private static func packed(_ bits: [UInt8]) -> [UInt8] {
        stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<start + 8].reversed().reduce(0) { $0 << 1 | $1 }
        }
    }
}
