import Foundation

/// Message authentication codes (RFC 2104) of the platform's cryptographic library.
package enum HMAC {
    /// Returns the 32 bytes of the HMAC-SHA-256 of `data`, with a key of any length, 0 included.
    ///
    /// - Throws: `libraryUnavailable` where the platform does not have the function.
    package static func sha256(of data: some ContiguousBytes, key: [UInt8]) throws(SigningError) -> [UInt8] {
        try PlatformCrypto.hmacSHA256(data, key: key)
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
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
