import Foundation

/// A cipher that encrypts a body, and authenticates it together with associated data that is not encrypted.
public enum SealingCipher: Sendable, CaseIterable {
    /// AES in Galois/Counter Mode (NIST SP 800-38D), with a key of 16, 24 or 32 bytes.
    case aesGCM
    /// ChaCha20-Poly1305 (RFC 8439), with a key of 32 bytes.
    case chaChaPoly

    package static let tagCount = 16
    /// The length of the nonces that are made here, in bytes.
    package static let nonceCount = 12

    var keyCounts: [Int] {
        switch self {
        case .aesGCM: [16, 24, 32]
        case .chaChaPoly: [32]
        }
    }

    /// Returns the nonce, the ciphertext and the tag, one after the other.
    ///
    /// - Parameters:
    ///   - plaintext: The message.
    ///   - key: Of one of the ``keyCounts``.
    ///   - nonce: Never used twice with a key; 12 bytes, with AES-GCM also others where the platform accepts them.
    ///   - associated: What is authenticated and not encrypted.
    /// - Returns: `plaintext.count` + 28 bytes with a nonce of 12 bytes.
    /// - Throws: `invalidKey`, `invalidNonce`, `libraryUnavailable`, `libraryFailed`.
    package func seal(
        _ plaintext: Data,
        key: Data,
        nonce: Data,
        authenticating associated: Data
    ) throws(SigningError) -> Data {
        try check(key, nonceCount: nonce.count)
        return try PlatformCrypto.seal(plaintext, with: self, key: key, nonce: nonce, authenticating: associated)
    }

    /// Returns the message in what ``seal(_:key:nonce:authenticating:)`` has returned, with a nonce of `nonceCount` bytes.
    ///
    /// - Throws: `malformedBody` when `sealed` is too short, `notAuthentic` when any of its bytes, the key or the associated data
    ///   are others; `invalidKey`, `invalidNonce`, `libraryUnavailable`, `libraryFailed`.
    package func open(
        _ sealed: Data,
        key: Data,
        nonceCount: Int = SealingCipher.nonceCount,
        authenticating associated: Data
    ) throws(SigningError) -> Data {
        try check(key, nonceCount: nonceCount)
        guard sealed.count >= nonceCount + Self.tagCount else {
            throw SigningError(.malformedBody, reason: "\(sealed.count) bytes are too few for a nonce and a tag")
        }
        let parts = SealedParts(
            nonce: sealed.prefix(nonceCount),
            ciphertext: sealed.dropFirst(nonceCount).dropLast(Self.tagCount),
            tag: sealed.suffix(Self.tagCount)
        )
        return try PlatformCrypto.open(parts, with: self, key: key, authenticating: associated)
    }

    func check(_ key: Data, nonceCount: Int) throws(SigningError) {
        guard keyCounts.contains(key.count) else {
            let counts = keyCounts.map(String.init).joined(separator: ", ")
            throw SigningError(.invalidKey, reason: "a key of \(key.count) bytes; \(self) has keys of \(counts) bytes")
        }
        guard nonceCount == Self.nonceCount || self == .aesGCM && nonceCount > 0 else {
            throw SigningError(.invalidNonce, reason: "a nonce of \(nonceCount) bytes; \(self) has nonces of 12 bytes")
        }
    }
}

struct SealedParts {
    let nonce: Data
    let ciphertext: Data
    let tag: Data
}
