/// The checksum of gzip (RFC 1952 section 8).
enum CRC32 {
    /// Returns the checksum of these bytes.
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
