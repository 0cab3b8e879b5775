#if canImport(CryptoKit)
import CryptoKit
import Foundation

/// The functions of CryptoKit.
///
/// Untested: no Apple platform was available.
package enum PlatformCrypto {
    static func hash(_ data: some ContiguousBytes, with digest: Digest) throws(SigningError) -> [UInt8] {
        data.withUnsafeBytes { bytes in
            switch digest {
            case .md5: Array(Insecure.MD5.hash(data: bytes))
            case .sha1: Array(Insecure.SHA1.hash(data: bytes))
            case .sha256: Array(SHA256.hash(data: bytes))
            }
        }
    }

    /// A SHA-256 whose input arrives in parts.
    package struct RunningSHA256: ~Copyable {
        private var state = SHA256()

        // They throw as those of libcrypto do.
        package init() throws(SigningError) {}

        package mutating func add(_ data: Data) throws(SigningError) { state.update(data: data) }

        package mutating func finish() throws(SigningError) -> [UInt8] { Array(state.finalize()) }
    }

    static func hmacSHA256(_ data: some ContiguousBytes, key: [UInt8]) throws(SigningError) -> [UInt8] {
        data.withUnsafeBytes { bytes in
            Array(CryptoKit.HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
        }
    }
}
#endif
