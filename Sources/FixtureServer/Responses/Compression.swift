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

/// Zeros compressed to about a thousandth of their size, which a client must not decode without a limit.
package enum DecompressionBomb {
    private static let matchLength: Int64 = 258
    private static let matchesPerPattern: Int64 = 8

    /// Returns this many zeros in the gzip coding (RFC 1952).
    package static func gzip(_ count: Int64) -> [UInt8] {
        let length = UInt32(truncatingIfNeeded: count)
        return Gzip.header + deflate(count) + CRC32.ofZeros(count).littleEndianBytes + length.littleEndianBytes
    }

    /// Returns this many zeros in the coding that HTTP calls deflate, which is the zlib format (RFC 1950).
    package static func zlib(_ count: Int64) -> [UInt8] {
        // Adler-32 of zeros: the first sum is always 1, the second is the count modulo 65,521.
        let sum = UInt32(count % 65_521) << 16 | 1
        return [0x78, 0x9C] + deflate(count) + sum.bigEndian.littleEndianBytes
    }

    /// Returns one block with fixed codes (RFC 1951 section 3.2.6): zeros, then copies of 258 zeros in 13 bits each.
    private static func deflate(_ count: Int64) -> [UInt8] {
        guard count > 0 else { return [0x03, 0x00] }
        let matches = (count - 1) / matchLength
        var bits = BitWriter()
        bits.write([1, 1, 0])
        for _ in 0..<(count - matches * matchLength) { bits.write(zero) }
        let patterns = matches / matchesPerPattern
        if patterns > 0 { bits.repeatBytes(of: Array(repeatElement(match, count: 8).joined()), count: patterns) }
        for _ in 0..<(matches % matchesPerPattern) { bits.write(match) }
        bits.write([0, 0, 0, 0, 0, 0, 0])
        return bits.finish()
    }

    private static let zero: [UInt8] = [0, 0, 1, 1, 0, 0, 0, 0]
    private static let match: [UInt8] = [1, 1, 0, 0, 0, 1, 0, 1] + [0, 0, 0, 0, 0]
}

/// Writes bits, the lowest of each byte first.
private struct BitWriter {
    private var bytes: [UInt8] = []
    private var pending: [UInt8] = []

    mutating func write(_ bits: [UInt8]) {
        pending += bits
        while pending.count >= 8 {
            bytes.append(pending.prefix(8).reversed().reduce(0) { $0 << 1 | $1 })
            pending.removeFirst(8)
        }
    }

    /// Writes a pattern that is a whole number of bytes long `count` times, in time proportional to the bytes.
    mutating func repeatBytes(of bits: [UInt8], count: Int64) {
        let start = bytes.count
        // The pending bits are the same after each repetition, because the pattern ends in zeros.
        write(bits)
        let turn = Array(bytes[start...])
        bytes.reserveCapacity(start + turn.count * Int(count))
        for _ in 1..<max(1, count) { bytes += turn }
    }

    consuming func finish() -> [UInt8] {
        pending.isEmpty ? bytes : bytes + [pending.reversed().reduce(0) { $0 << 1 | $1 }]
    }
}

extension UInt32 {
    var littleEndianBytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }
}

/// The checksum of gzip (RFC 1952 section 8).
enum CRC32 {
    static func of(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~0) { step($0 ^ UInt32($1)) }
    }

    /// Returns the checksum of this many zeros, in as many steps as the number has bits.
    static func ofZeros(_ count: Int64) -> UInt32 {
        var operation = (0..<32).map { step(UInt32(1) << $0) }
        var register: UInt32 = ~0
        var rest = count
        while rest > 0 {
            if rest & 1 == 1 { register = apply(operation, to: register) }
            operation = operation.map { apply(operation, to: $0) }
            rest >>= 1
        }
        return ~register
    }

    private static func step(_ register: UInt32) -> UInt32 {
        register >> 8 ^ table[Int(register & 255)]
    }

    /// A linear operation on 32 bits, given by its result for each bit.
    private static func apply(_ operation: [UInt32], to register: UInt32) -> UInt32 {
        (0..<32).reduce(0) { register >> $1 & 1 == 1 ? $0 ^ operation[$1] : $0 }
    }

    private static let table: [UInt32] = (0..<256).map { start in
        (0..<8).reduce(start) { word, _ in word & 1 == 1 ? word >> 1 ^ 0xEDB8_8320 : word >> 1 }
    }
}
