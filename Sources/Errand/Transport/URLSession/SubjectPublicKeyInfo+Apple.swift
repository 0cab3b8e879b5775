#if canImport(Darwin)
import Foundation
import Security

// Untested.
extension SubjectPublicKeyInfo.Algorithm {
    /// Creates the algorithm of a public key; `nil` for one that is not supported.
    init?(of key: SecKey) {
        guard let attributes = SecKeyCopyAttributes(key) as? [String: Any],
            let type = attributes[kSecAttrKeyType as String] as? String,
            let bits = attributes[kSecAttrKeySizeInBits as String] as? Int
        else { return nil }
        switch (type, bits) {
        case (kSecAttrKeyTypeRSA as String, _): self = .rsa
        case (kSecAttrKeyTypeECSECPrimeRandom as String, 256): self = .p256
        case (kSecAttrKeyTypeECSECPrimeRandom as String, 384): self = .p384
        case (kSecAttrKeyTypeECSECPrimeRandom as String, 521): self = .p521
        default: return nil
        }
    }
}
#endif
