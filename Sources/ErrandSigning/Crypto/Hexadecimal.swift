import Foundation

extension ContiguousBytes {
    /// The bytes as lower-case hexadecimal digits.
    package var hexadecimal: String { String(decoding: hexadecimalBytes, as: UTF8.self) }

    /// The bytes of ``hexadecimal``.
    var hexadecimalBytes: [UInt8] {
        let digits = StaticString("0123456789abcdef")
        return withUnsafeBytes { bytes in
            var output: [UInt8] = []
            output.reserveCapacity(bytes.count * 2)
            for byte in bytes {
                output.append(digits.utf8Start[Int(byte >> 4)])
                output.append(digits.utf8Start[Int(byte & 15)])
            }
            return output
        }
    }
}
