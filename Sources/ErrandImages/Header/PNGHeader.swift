/// PNG, third edition, sections 5 and 11.
extension HeaderReader {
    mutating func png() throws(HeaderFailure) -> ImageHeader {
        try skip(8)
        var header = try pngStart()
        while true {
            var (type, content) = try pngChunk()
            switch type {
            case "IDAT": return header
            case "IEND": throw .invalid("it has no IDAT chunk")
            // As in decoders, an animation without frames is a still image.
            case "acTL": header.frames = max(1, try content.uint32())
            case "eXIf": header.orientation = try content.exifOrientation()
            default: break
            }
        }
    }

    private mutating func pngChunk() throws(HeaderFailure) -> (String, HeaderReader) {
        try countStep()
        let (length, type) = (try uint32(), try take(4))
        // Bit 5 distinguishes capital letters from small ones.
        guard length <= Int32.max, type.allSatisfy({ (0x61...0x7A).contains($0 | 0x20) }) else {
            throw .invalid("a chunk has an invalid length or type")
        }
        let content = try part(length)
        // The checksum.
        try skip(4)
        return (String(decoding: type, as: UTF8.self), content)
    }

    private mutating func pngStart() throws(HeaderFailure) -> ImageHeader {
        guard try uint32() == 13, try code() == "IHDR" else { throw .invalid("it does not begin with IHDR") }
        let (width, height, depth, color) = (try uint32(), try uint32(), try uint8(), try uint8())
        let (compression, filter, interlace) = (try uint8(), try uint8(), try uint8())
        let checksum = UInt32(bigEndian: try take(4).loadUnaligned(as: UInt32.self))
        guard Self.crc32(bytes[12..<29]) == checksum else { throw .invalid("the checksum of IHDR is wrong") }
        guard max(width, height) <= Int32.max, compression | filter == 0, interlace <= 1,
            Self.pngDepths[color]?.contains(depth) == true
        else { throw .invalid("IHDR has an invalid size, bit depth, color type or method") }
        return try header(.png, width, height)
    }

    /// By color type.
    private static let pngDepths = [0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16]]

    /// Annex D, without its table, because the bytes are few.
    static func crc32(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var crc = UInt32.max
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1) * 0xEDB8_8320 }
        }
        return ~crc
    }
}
