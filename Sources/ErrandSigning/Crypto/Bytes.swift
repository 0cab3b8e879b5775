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

extension Array<UInt8> {
    /// Returns bytes of the system's random number generator, which is fit for keys and nonces.
    static func random(count: Int) -> [UInt8] {
        #if os(Linux)
        // One call of the system, instead of one for every eight bytes.
        let random = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let isFilled = buffer.baseAddress.map { getentropy($0, count) == 0 } ?? false
            filled = isFilled ? count : 0
        }
        if random.count == count { return random }
        #endif
        return (0..<count).map { _ in UInt8.random(in: .min ... .max) }
    }
}
