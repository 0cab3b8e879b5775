#if canImport(CryptoKit)
import CryptoKit
import Foundation

/// The functions of CryptoKit.
///
/// Untested: no Apple platform was available.
package enum PlatformCrypto {
    /// A digest whose input arrives in parts.
    package struct RunningHash: ~Copyable {
        private var state: any HashFunction

        // They throw as those of libcrypto do.
        package init(_ digest: Digest) throws(SigningError) {
            state =
                switch digest {
                case .md5: Insecure.MD5()
                case .sha1: Insecure.SHA1()
                case .sha256: SHA256()
                case .sha512: SHA512()
                }
        }

        package mutating func add(_ data: some ContiguousBytes) throws(SigningError) {
            data.withUnsafeBytes { state.update(bufferPointer: $0) }
        }

        package mutating func finish() throws(SigningError) -> [UInt8] { Self.result(of: state) }

        private static func result(of state: some HashFunction) -> [UInt8] { Array(state.finalize()) }
    }

    /// Returns the message authentication code (RFC 2104) of `data`, with a key of any length, 0 included.
    package static func hmacSHA256(of data: some ContiguousBytes, key: [UInt8]) throws(SigningError) -> [UInt8] {
        data.withUnsafeBytes { bytes in
            Array(CryptoKit.HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
        }
    }
}
#endif
