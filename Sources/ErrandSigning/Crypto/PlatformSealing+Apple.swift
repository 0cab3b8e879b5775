#if canImport(CryptoKit)
import CryptoKit
import Foundation

// Untested: no Apple platform was available.
extension PlatformCrypto {
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
