#if canImport(Darwin)
import Foundation
import Security

// Untested.
extension SubjectPublicKeyInfo.Algorithm {
    init?(of key: SecKey) {
        guard let attributes = SecKeyCopyAttributes(key) as? [String: Any],
            let type = attributes[kSecAttrKeyType as String] as? String,
            let bits = attributes[kSecAttrKeySizeInBits as String] as? Int
        else { return nil }
        let isRSA = type == kSecAttrKeyTypeRSA as String
        guard isRSA || type == kSecAttrKeyTypeECSECPrimeRandom as String else { return nil }
        switch bits {
        case _ where isRSA: self = .rsa
        case 256: self = .p256
        case 384: self = .p384
        case 521: self = .p521
        default: return nil
        }
    }
}
#endif
