import Foundation

/// Message authentication codes (RFC 2104) of the platform's cryptographic library.
enum HMAC {
    /// Returns the 32 bytes of the HMAC-SHA-256 of `data`, with a key of any length, 0 included.
    ///
    /// - Throws: `libraryUnavailable` where the platform does not have the function.
    static func sha256(of data: Data, key: Data) throws(SigningError) -> Data {
        try PlatformCrypto.hmacSHA256(data, key: key)
    }
}

extension Data {
    /// Returns whether two signatures or digests are equal, in a time that depends only on their lengths.
    func isEqualInConstantTime(to other: Data) -> Bool {
        guard count == other.count else { return false }
        return zip(self, other).reduce(into: UInt8(0)) { $0 |= $1.0 ^ $1.1 } == 0
    }

    /// Returns bytes of the system's random number generator, which is fit for keys and nonces.
    static func random(count: Int) -> Data {
        #if os(Linux)
        var random = Data(count: count)
        // One call of the system, instead of one for every eight bytes.
        let isFilled = random.withUnsafeMutableBytes { buffer in
            buffer.baseAddress.map { getentropy($0, buffer.count) == 0 } ?? false
        }
        if isFilled { return random }
        #endif
        var generator = SystemRandomNumberGenerator()
        var bytes = Data(capacity: count + 7)
        while bytes.count < count {
            Swift.withUnsafeBytes(of: generator.next() as UInt64) { bytes.append(contentsOf: $0) }
        }
        return bytes.prefix(count)
    }

    /// The bytes as lower-case hexadecimal digits.
    var hexadecimal: String {
        withUnsafeBytes { bytes in
            String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
                let digits = StaticString("0123456789abcdef")
                for (index, byte) in bytes.enumerated() {
                    buffer[index * 2] = digits.utf8Start[Int(byte >> 4)]
                    buffer[index * 2 + 1] = digits.utf8Start[Int(byte & 15)]
                }
                return bytes.count * 2
            }
        }
    }
}
