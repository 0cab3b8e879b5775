import Foundation

/// A fast checksum against accidents: not against whoever chooses the bytes.
struct Checksum {
    private(set) var value: UInt64

    init(seed: UInt64 = 0) { value = seed &* 0x9E37_79B9_7F4A_7C15 ^ 0xD6E8_FEB8_6659_FD93 }

    /// That of all bytes.
    init(of bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) {
        self.init(seed: seed)
        add(bytes)
    }

    /// The length of all calls but the last one is a multiple of 8.
    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        let end = bytes.count & ~7
        var offset = 0
        while offset < end {
            mix(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            offset += 8
        }
        guard end < bytes.count else { return }
        // The length, so that zeros at the end count.
        mix(bytes[end...].reduce(UInt64(bytes.count - end)) { $0 << 8 | UInt64($1) })
    }

    private mutating func mix(_ word: UInt64) {
        // Both halves, so that no few bits of two words cancel each other out.
        let product = (value ^ word).multipliedFullWidth(by: 0x9FB2_1C65_1E98_DF25)
        value = product.high ^ product.low
    }

    /// Returns 32 digits, for the name of a file; two texts may have the same.
    static func name(of bytes: [UInt8]) -> String {
        let values = bytes.withUnsafeBytes { bytes in
            [UInt64(1), 2].map { Checksum(of: bytes, seed: $0).value }
        }
        let digits = Array("0123456789abcdef".utf8)
        let name = (0..<32).map { digits[Int(values[$0 / 16] >> UInt64($0 % 16 * 4) & 15)] }
        return String(decoding: name, as: UTF8.self)
    }
}

extension ContiguousBytes {
    /// Against accidents, as ``Checksum``.
    var checksum: UInt64 { withUnsafeBytes { Checksum(of: $0).value } }
}
