import Errand
import Foundation

extension ParamSigning {
    /// Returns the text of which the digest is made.
    func text(of fields: [SentParams.Field], secret: String) -> [UInt8] {
        var fields = fields
        if omitsEmptyValues || !unsignedNames.isEmpty { fields.removeAll(where: isUnsigned) }
        let position = secretPosition ?? (algorithm == .hmacSHA256 ? nil : .appended)
        if case .sortedParameter(let name) = position { fields.append(SentParams.Field(name, secret)) }
        var order = Self.order(of: fields)
        if case .lastParameter(let name) = position {
            order.append(fields.count)
            fields.append(SentParams.Field(name, secret))
        }
        let isFirst = position == .prepended || position == .surrounding
        let isLast = position == .appended || position == .surrounding
        var text = isFirst ? Array(secret.utf8) : []
        text.reserveCapacity(fields.reduce(2 * secret.utf8.count) { $0 + $1.name.utf8.count + $1.value.utf8.count + 2 })
        let (pairSeparator, valueSeparator) = (Array(pairSeparator.utf8), Array(valueSeparator.utf8))
        for (place, index) in order.enumerated() {
            if place > 0 { text += pairSeparator }
            append(fields[index].name, to: &text)
            text += valueSeparator
            append(fields[index].value, to: &text)
        }
        if isLast { text += secret.utf8 }
        return text
    }

    private func isUnsigned(_ field: SentParams.Field) -> Bool {
        unsignedNames.contains(field.name) || omitsEmptyValues && (field.value.isEmpty || field.isNull)
    }

    /// Returns the indexes of the fields in the order of the bytes of their names; `String` compares by Unicode normalization.
    private static func order(of fields: [SentParams.Field]) -> [Int] {
        // The numbers are sorted, because each move of a field counts references.
        let order = fields.indices.map { (start: fields[$0].name.firstBytes, index: $0) }.sorted { left, right in
            guard left.start == right.start else { return left.start < right.start }
            return fields[left.index].name.utf8.lexicographicallyPrecedes(fields[right.index].name.utf8)
        }
        return order.map(\.index)
    }

    private func append(_ part: String, to text: inout [UInt8]) {
        var part = part
        part.withUTF8 { bytes in
            guard percentEncodes else { return text.append(contentsOf: bytes) }
            for byte in bytes { URIEncoding.append(byte, to: &text) }
        }
    }

    /// Returns the signature of a text.
    func signature(of text: [UInt8], secret: String) throws(SigningError) -> String {
        let digest =
            switch algorithm {
            case .md5: try Digest.md5.hash(of: text)
            case .sha1: try Digest.sha1.hash(of: text)
            case .sha256: try Digest.sha256.hash(of: text)
            case .hmacSHA256: try HMAC.sha256(of: text, key: Array(secret.utf8))
            }
        return switch encoding {
        case .hex: digest.hexadecimal
        case .upperHex: digest.hexadecimal.uppercased()
        case .base64: Data(digest).base64EncodedString()
        }
    }

    /// Returns the text of a moment.
    func text(of date: Date) -> String {
        // As far as the number fits.
        let seconds = min(max(date.timeIntervalSince1970, -1e14), 1e14)
        return String(Int64((timestampUnit == .seconds ? seconds : seconds * 1_000).rounded(.down)))
    }
}

extension String {
    /// The first eight bytes of the UTF-8 as a number whose order is theirs.
    fileprivate var firstBytes: UInt64 {
        var text = self
        return text.withUTF8 { bytes in
            bytes.prefix(8).enumerated().reduce(0) { $0 | UInt64($1.element) << (56 - 8 * $1.offset) }
        }
    }
}
