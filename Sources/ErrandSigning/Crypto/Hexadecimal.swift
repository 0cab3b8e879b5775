import Foundation

extension ContiguousBytes {
    /// The bytes as lower-case hexadecimal digits.
    package var hexadecimal: String {
        withUnsafeBytes { bytes in
            String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
                bytes.writeHexadecimal(to: UnsafeMutableRawBufferPointer(buffer))
                return bytes.count * 2
            }
        }
    }

    /// The bytes of ``hexadecimal``.
    var hexadecimalBytes: [UInt8] {
        withUnsafeBytes { bytes in
            var digits = [UInt8](repeating: 0, count: bytes.count * 2)
            digits.withUnsafeMutableBytes { bytes.writeHexadecimal(to: $0) }
            return digits
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Writes two lower-case digits for each byte, those of four bytes at once.
    fileprivate func writeHexadecimal(to output: UnsafeMutableRawBufferPointer) {
        var position = 0
        while position + 4 <= count {
            let digits = Self.digits(UInt32(littleEndian: loadUnaligned(fromByteOffset: position, as: UInt32.self)))
            output.storeBytes(of: digits.littleEndian, toByteOffset: position * 2, as: UInt64.self)
            position += 4
        }
        for index in position..<count {
            let digits = UInt16(truncatingIfNeeded: Self.digits(UInt32(self[index])))
            output.storeBytes(of: digits.littleEndian, toByteOffset: index * 2, as: UInt16.self)
        }
    }

    /// Returns the eight digits of four bytes; the first byte and the first digit are the lowest bits.
    private static func digits(_ bytes: UInt32) -> UInt64 {
        var lanes = UInt64(bytes)
        lanes = (lanes | lanes << 16) & 0x0000_FFFF_0000_FFFF
        lanes = (lanes | lanes << 8) & 0x00FF_00FF_00FF_00FF
        let values = (lanes >> 4 | lanes << 8) & 0x0F0F_0F0F_0F0F_0F0F
        // Nine and six are fifteen, so that the higher half of a byte is one for a letter.
        let letters = (values + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        let gap = UInt64(UInt8(ascii: "a") - UInt8(ascii: "0") - 10)
        return values + 0x3030_3030_3030_3030 + letters * gap
    }
}
