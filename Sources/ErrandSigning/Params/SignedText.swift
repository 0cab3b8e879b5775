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
        // Not before they are sorted.
        if percentEncodes { fields = fields.map(\.percentEncoded) }
        let isFirst = position == .prepended || position == .surrounding
        let isLast = position == .appended || position == .surrounding
        let separators = pairSeparator.utf8.count + valueSeparator.utf8.count
        let length = fields.reduce(2 * secret.utf8.count) { $0 + $1.name.utf8.count + $1.value.utf8.count + separators }
        return [UInt8](unsafeUninitializedCapacity: length) { memory, count in
            func append(_ part: String) {
                var part = part
                count = part.withUTF8 { memory[count...].initialize(fromContentsOf: $0) }
            }
            if isFirst { append(secret) }
            for (place, index) in order.enumerated() {
                if place > 0 { append(pairSeparator) }
                append(fields[index].name)
                append(valueSeparator)
                append(fields[index].value)
            }
            if isLast { append(secret) }
        }
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
            var number: UInt64 = 0
            for index in 0..<min(bytes.count, 8) { number |= UInt64(bytes[index]) << (56 - 8 * index) }
            return number
        }
    }
}

extension SentParams.Field {
    /// The field with the escapes of its name and its value.
    fileprivate var percentEncoded: SentParams.Field {
        SentParams.Field(
            String(decoding: URIEncoding.encoded(name.utf8), as: UTF8.self),
            String(decoding: URIEncoding.encoded(value.utf8), as: UTF8.self)
        )
    }
}
