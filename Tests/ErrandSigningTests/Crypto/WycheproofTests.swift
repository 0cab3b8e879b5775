import Foundation
import Testing

@testable import ErrandSigning

/// The vectors of Project Wycheproof.
@Suite("Wycheproof", .enabled(if: SharedData.wycheproof.exists, "no ../shared/data/wycheproof"))
struct WycheproofTests {
    struct Vectors: Decodable {
        let numberOfTests: Int
        let testGroups: [Group]
    }

    struct Group: Decodable {
        /// In bits.
        let tagSize: Int
        let tests: [Vector]
    }

    struct Vector: Decodable {
        let tcId: Int
        let key: String
        var iv: String?
        var aad: String?
        let msg: String
        var ct: String?
        let tag: String
        let result: String

        var isValid: Bool { result == "valid" }
    }

    @Test func `HMAC-SHA-256 accepts every valid tag and refuses every invalid one`() throws {
        let vectors = try SharedData.wycheproof.json("hmac_sha256_test.json", as: Vectors.self)
        var count = 0
        for group in vectors.testGroups {
            for vector in group.tests {
                let code = try HMAC.sha256(
                    of: Data(hexadecimal: vector.msg),
                    key: [UInt8](Data(hexadecimal: vector.key))
                )
                // Half of the vectors have tags that are truncated to 128 bits.
                let tag = Data(code.prefix(group.tagSize / 8))
                let isAccepted = tag.isEqualInConstantTime(to: Data(hexadecimal: vector.tag))
                #expect(isAccepted == vector.isValid, "\(vector.tcId)")
                count += 1
            }
        }
        #expect(count == 174 && vectors.numberOfTests == 174)
    }

    @Test func `AES-GCM opens and makes every valid message and opens no invalid one`() throws {
        let vectors = try SharedData.wycheproof.json("aes_gcm_test.json", as: Vectors.self)
        let tests = vectors.testGroups.flatMap(\.tests)
        #expect(tests.count == 316 && vectors.numberOfTests == 316)
        var refused: [Int] = []
        for vector in tests {
            do {
                let isAccepted = try accepts(vector)
                #expect(isAccepted == vector.isValid, "\(vector.tcId)")
            } catch {
                #expect(error.kind == .invalidNonce, "\(vector.tcId): \(error)")
                if vector.isValid { refused.append((vector.iv?.utf8.count ?? 0) * 4) }
            }
        }
        // Valid, but the platform does not accept nonces of these lengths in bits: OpenSSL 3 none of more than 128 bytes,
        // CryptoKit none of less than 12. Sealed traffic has nonces of 12 bytes only.
        #if canImport(CryptoKit)
        #expect(refused.allSatisfy { $0 < 96 })
        #else
        let isOpenSSL3 = try Libcrypto().version.contains("OpenSSL 3")
        #expect(refused == (isOpenSSL3 ? [2056, 2056, 2056] : []))
        #endif
    }

    /// Returns whether the message of `vector` is opened, and sealed to the same bytes.
    private func accepts(_ vector: Vector) throws(SigningError) -> Bool {
        let (key, nonce) = (Data(hexadecimal: vector.key), Data(hexadecimal: vector.iv ?? ""))
        let associated = Data(hexadecimal: vector.aad ?? "")
        let message = Data(hexadecimal: vector.msg)
        let sealed = nonce + Data(hexadecimal: vector.ct ?? "") + Data(hexadecimal: vector.tag)
        do throws(SigningError) {
            let opened = try SealingCipher.aesGCM.open(
                sealed,
                key: key,
                nonceCount: nonce.count,
                authenticating: associated
            )
            guard opened == message else { return false }
        } catch  where error.kind == .notAuthentic {
            return false
        }
        return try SealingCipher.aesGCM.seal(message, key: key, nonce: nonce, authenticating: associated) == sealed
    }
}
