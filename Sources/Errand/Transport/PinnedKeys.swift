import Foundation

/// The checked ``TLSConfiguration/pinnedPublicKeys``, by host.
struct PinnedKeys: Sendable {
    private static let setting = "tls.pinnedPublicKeys"
    static let prefix = "sha256//"

    /// By a host, or `*.` and a host for its subdomains.
    private var names: [String: [String]] = [:]

    init() {}

    init(_ pins: [String: [String]]) throws(TransportError) {
        for (name, keys) in pins {
            guard !keys.isEmpty else {
                throw Self.refusal(of: name, "it has no key; remove the name if the host may have any key")
            }
            guard keys.allSatisfy(Self.isValid) else {
                throw Self.refusal(of: name, "a key is not sha256// and the Base64 of 32 bytes (44 characters)")
            }
            try add(keys, for: name)
        }
    }

    var isEmpty: Bool { names.isEmpty }

    /// Any key if there are none; throws for a URL that is not `https`, and for a host that cannot be compared with the names.
    func keys(for url: URL) throws(TransportError) -> [String] {
        guard !isEmpty else { return [] }
        guard let host = HostName(url) else {
            throw TransportError(
                .security,
                "the host cannot be compared with the names of pinned public keys; use ASCII without empty labels"
            )
        }
        let keys = keys(for: host)
        guard keys.isEmpty || url.scheme?.lowercased() == "https" else {
            throw TransportError(.security, "the public key of \(host.text) is pinned, which requires an https URL")
        }
        return keys
    }

    func keys(for host: HostName) -> [String] {
        names[host.text] ?? host.parents.lazy.compactMap { names["*.\($0)"] }.first ?? []
    }

    var lists: Set<[String]> { Set(names.values) }

    /// Throws when `key` is `nil` although the host must have one.
    func check(_ key: String?, of host: HostName) throws(TransportError) {
        let keys = keys(for: host)
        guard !keys.isEmpty else { return }
        guard let key, keys.contains(key) else {
            throw TransportError(.security, "the server's public key is not one that is pinned for \(host.text)")
        }
    }

    private mutating func add(_ keys: [String], for name: String) throws(TransportError) {
        let hasSubdomains = name.hasPrefix("*.")
        guard let host = Self.host(String(name.dropFirst(hasSubdomains ? 2 : 0))), !hasSubdomains || !host.isAddress
        else {
            throw Self.refusal(of: name, "it is neither a host nor `*.` and a host, without scheme, port and path")
        }
        guard names.updateValue(keys, forKey: hasSubdomains ? "*.\(host.text)" : host.text) == nil else {
            throw Self.refusal(of: name, "the host has another notation here; use one")
        }
    }

    private static func host(_ name: String) -> HostName? {
        let isBare = name.contains(":") && !name.hasPrefix("[")
        let text = isBare ? "[\(name)]" : name
        guard !text.contains(where: { "/?#@%\\".contains($0) }), !text.contains(":") || text.hasSuffix("]"),
            let host = URL(string: "https://\(text)").flatMap(HostName.init)
        else { return nil }
        // RFC 1123 section 2.1, or with an underscore, which servers have as well.
        let isName = host.text.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-_.".utf8.contains($0) }
        return host.isAddress || isName ? host : nil
    }

    /// Only one form of Base64 equals the server's.
    private static func isValid(_ key: String) -> Bool {
        guard key.hasPrefix(prefix), let digest = Data(base64Encoded: String(key.dropFirst(prefix.count))) else {
            return false
        }
        return digest.count == 32 && prefix + digest.base64EncodedString() == key
    }

    private static func refusal(of name: String, _ reason: String) -> TransportError {
        // A URL by mistake may have a password.
        .refusal(of: "\(setting)[\"\(name.contains("@") ? Redactor.hidden(name.utf8) : name)\"]", reason)
    }
}

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

    enum Tag: UInt8 {
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
    static func element(_ tag: Tag, _ content: Data) -> Data {
        let length = withUnsafeBytes(of: content.count.bigEndian) { $0.drop { $0 == 0 }.map(\.self) }
        let isShort = content.count < 0x80
        let prefix = isShort ? [UInt8(content.count)] : [0x80 | UInt8(length.count)] + length
        return Data([tag.rawValue] + prefix) + content
    }
}
