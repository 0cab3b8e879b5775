import Foundation

/// Finds any of many secrets in a text, in one pass.
struct SecretFinder {
    /// The bytes of a needle that are compared first.
    private static let keyLength = 8

    private var needles: [UInt64: [(bytes: [UInt8], secret: String)]] = [:]

    /// Searches for `secret`, and for both halves of a long one, percent-encoded or not, and for it in Base64 at any position of
    /// the encoded text.
    mutating func add(_ secret: String) {
        let bytes = Array(secret.utf8)
        let encoded = secret.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? secret
        for text in [bytes, Array(encoded.utf8)] {
            add(text, of: secret)
            guard text.count >= 3 * Self.keyLength else { continue }
            add(Array(text[(text.count / 2)...]), of: secret)
            add(Array(text[..<(text.count / 2)]), of: secret)
        }
        for offset in 0..<3 {
            // The characters at both ends depend on the bytes before and after the secret.
            let base64 = Data(repeating: 0, count: offset) + bytes
            let inner = Array(
                base64.base64EncodedString().utf8.dropFirst((offset * 8 + 5) / 6).prefix { $0 != UInt8(ascii: "=") }
            )
            add(Array(inner.dropLast()), of: secret)
        }
    }

    private mutating func add(_ bytes: [UInt8], of secret: String) {
        guard bytes.count >= Self.keyLength else { return }
        let key = bytes.prefix(Self.keyLength).reduce(0) { $0 << 8 | UInt64($1) }
        needles[key, default: []].append((bytes, secret))
    }

    /// Returns the secrets that are found.
    func leaks(in text: [UInt8]) -> Set<String> {
        var (found, key) = (Set<String>(), UInt64(0))
        for (index, byte) in text.enumerated() {
            key = key << 8 | UInt64(byte)
            guard let candidates = needles[key] else { continue }
            let start = index + 1 - Self.keyLength
            for (bytes, secret) in candidates where start >= 0 && text[start...].starts(with: bytes) {
                found.insert(secret)
            }
        }
        return found
    }
}

/// Generates secrets of the usual kinds.
struct SecretSource {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    }

    /// A token, a password with blanks and quotes, or one of the secrets that are names.
    mutating func secret() -> String {
        switch next() % 4 {
        case 0: text(40, of: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        case 1: "\(text(8, of: "abcdefghijkmnopqrstuvwxyz")) \(text(8, of: "!%&/()=?+*#äöü0123456789"))"
        case 2: "eyJ\(text(20, of: "abcdefghijkmnopqrstuvwxyz0123456789")).\(text(43, of: "ABCDEFabcdef0123456789-_"))"
        default: secretName()
        }
    }

    /// An e-mail address, or another secret as of ``secretIdentifier()``.
    mutating func secretName() -> String {
        guard next() % 4 == 0 else { return secretIdentifier() }
        return "\(text(12, of: "abcdefghijklmnopqrstuvwxyz"))@\(text(8, of: "abcdefghijklmnopqrstuvwxyz")).test"
    }

    /// A hexadecimal token, a telephone number or a UUID.
    mutating func secretIdentifier() -> String {
        switch next() % 3 {
        case 0: "c0ffee" + text(26, of: "0123456789abcdef")
        case 1: "0049" + text(12, of: "0123456789")
        default: [8, 4, 4, 4, 12].map { text($0, of: "0123456789abcdef") }.joined(separator: "-")
        }
    }

    /// A name of a header that no list contains.
    mutating func word() -> String { text(6, of: "abcdefghijklmnopqrstuvwxyz") }

    private mutating func text(_ count: Int, of alphabet: String) -> String {
        let characters = Array(alphabet)
        return String((0..<count).map { _ in characters[Int(next() % UInt64(characters.count))] })
    }

    /// SplitMix64.
    private mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
        return bits ^ bits >> 31
    }
}
