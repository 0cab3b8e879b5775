import Foundation

/// The encoding of a public key in certificates (RFC 5280 section 4.1.2.7), whose SHA-256 digest is a pin.
///
/// Apple's systems return the key without the part that names its algorithm.
enum SubjectPublicKeyInfo {
    /// The algorithm of a key.
    enum Algorithm: CaseIterable {
        /// The key is an `RSAPublicKey` (RFC 8017 appendix A.1.1).
        case rsa
        /// The key is an uncompressed point (RFC 5480 section 2.2).
        case p256, p384, p521
    }

    static func encode(_ key: Data, _ algorithm: Algorithm) -> Data {
        // The first byte of a bit string is the number of its unused bits.
        element(.sequence, element(.sequence, identifier(of: algorithm)) + element(.bitString, Data([0]) + key))
    }

    private enum Tag: UInt8 {
        case bitString = 0x03
        case null = 0x05
        case objectIdentifier = 0x06
        case sequence = 0x30
    }

    private static func identifier(of algorithm: Algorithm) -> Data {
        // 1.2.840.10045.2.1
        let ellipticCurve = element(.objectIdentifier, Data([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]))
        return switch algorithm {
        // 1.2.840.113549.1.1.1
        case .rsa:
            element(.objectIdentifier, Data([0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]))
                + element(.null, Data())
        // 1.2.840.10045.3.1.7
        case .p256:
            ellipticCurve + element(.objectIdentifier, Data([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]))
        // 1.3.132.0.34 and 1.3.132.0.35
        case .p384: ellipticCurve + element(.objectIdentifier, Data([0x2b, 0x81, 0x04, 0x00, 0x22]))
        case .p521: ellipticCurve + element(.objectIdentifier, Data([0x2b, 0x81, 0x04, 0x00, 0x23]))
        }
    }

    /// ITU-T X.690 section 8.1.
    private static func element(_ tag: Tag, _ content: Data) -> Data {
        var length: [UInt8] = []
        var rest = content.count
        while rest > 0 {
            length.insert(UInt8(rest & 0xff), at: 0)
            rest >>= 8
        }
        let isShort = content.count < 0x80
        let prefix = isShort ? [UInt8(content.count)] : [0x80 | UInt8(length.count)] + length
        return Data([tag.rawValue] + prefix) + content
    }
}
