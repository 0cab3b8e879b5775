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

    static func seal(
        _ plaintext: Data,
        with cipher: SealingCipher,
        key: Data,
        nonce: Data,
        authenticating associated: Data
    ) throws(SigningError) -> Data {
        try converted {
            let key = SymmetricKey(data: key)
            switch cipher {
            case .aesGCM:
                let nonce = try AES.GCM.Nonce(data: nonce)
                let box = try AES.GCM.seal(plaintext, using: key, nonce: nonce, authenticating: associated)
                return Data(nonce) + box.ciphertext + box.tag
            case .chaChaPoly:
                let nonce = try ChaChaPoly.Nonce(data: nonce)
                return try ChaChaPoly.seal(plaintext, using: key, nonce: nonce, authenticating: associated).combined
            }
        }
    }

    static func open(
        _ parts: SealedParts,
        with cipher: SealingCipher,
        key: Data,
        authenticating associated: Data
    ) throws(SigningError) -> Data {
        try converted {
            let key = SymmetricKey(data: key)
            switch cipher {
            case .aesGCM:
                let nonce = try AES.GCM.Nonce(data: parts.nonce)
                let box = try AES.GCM.SealedBox(nonce: nonce, ciphertext: parts.ciphertext, tag: parts.tag)
                return try AES.GCM.open(box, using: key, authenticating: associated)
            case .chaChaPoly:
                let nonce = try ChaChaPoly.Nonce(data: parts.nonce)
                let box = try ChaChaPoly.SealedBox(nonce: nonce, ciphertext: parts.ciphertext, tag: parts.tag)
                return try ChaChaPoly.open(box, using: key, authenticating: associated)
            }
        }
    }

    private static func converted(_ body: () throws -> Data) throws(SigningError) -> Data {
        do {
            return try body()
        } catch CryptoKitError.authenticationFailure {
            throw SigningError(.notAuthentic, reason: "the tag does not fit the key and the data")
        } catch CryptoKitError.incorrectParameterSize {
            throw SigningError(.invalidNonce, reason: "CryptoKit does not accept a nonce of this length")
        } catch {
            throw SigningError(.libraryFailed, reason: "CryptoKit has failed")
        }
    }
}
#endif
