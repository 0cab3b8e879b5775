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
            order.append(Position(start: .max, index: fields.count))
            fields.append(SentParams.Field(name, secret))
        }
        // Not before they are sorted.
        let encoded = PercentEncoding.segment
        if percentEncodes { fields = fields.map { SentParams.Field(encoded($0.name), encoded($0.value)) } }
        let isFirst = position == .prepended || position == .surrounding
        let isLast = position == .appended || position == .surrounding
        let separators = pairSeparator.utf8.count + valueSeparator.utf8.count
        var length = 2 * secret.utf8.count
        for field in fields { length += field.name.utf8.count + field.value.utf8.count + separators }
        let (pairSeparator, valueSeparator) = (Array(pairSeparator.utf8), Array(valueSeparator.utf8))
        return [UInt8](unsafeUninitializedCapacity: length) { memory, count in
            if isFirst { memory.append(secret, at: &count) }
            var isPair = false
            for position in order {
                if isPair { memory.append(separator: pairSeparator, at: &count) }
                isPair = true
                memory.append(fields[position.index].name, at: &count)
                memory.append(separator: valueSeparator, at: &count)
                memory.append(fields[position.index].value, at: &count)
            }
            if isLast { memory.append(secret, at: &count) }
        }
    }

    private func isUnsigned(_ field: SentParams.Field) -> Bool {
        unsignedNames.contains(field.parameter) || unsignedNames.contains(field.name)
            || omitsEmptyValues && (field.value.isEmpty || field.isNull)
    }

    /// The place of a field among the others, with the first bytes of its name.
    private struct Position {
        let start: UInt64
        let index: Int
    }

    /// Returns the fields in the order of the bytes of their names; `String` compares by Unicode normalization.
    private static func order(of fields: [SentParams.Field]) -> [Position] {
        var order: [Position] = []
        order.reserveCapacity(fields.count + 1)
        for index in fields.indices { order.append(Position(start: fields[index].name.firstBytes, index: index)) }
        // The numbers are sorted, because each move of a field counts references.
        order.sort { left, right in
            guard left.start == right.start else { return left.start < right.start }
            return fields[left.index].name.utf8.lexicographicallyPrecedes(fields[right.index].name.utf8)
        }
        return order
    }

    func signature(of text: [UInt8], secret: String) throws(SigningError) -> String {
        let digest =
            switch algorithm {
            case .md5: try Digest.md5.hash(of: text)
            case .sha1: try Digest.sha1.hash(of: text)
            case .sha256: try Digest.sha256.hash(of: text)
            case .hmacSHA256: try PlatformCrypto.hmacSHA256(of: text, key: Array(secret.utf8))
            }
        return switch encoding {
        case .hex: digest.hexadecimal
        case .upperHex: digest.hexadecimal.uppercased()
        case .base64: Data(digest).base64EncodedString()
        }
    }

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
            guard bytes.count < 8 else {
                return UInt64(bigEndian: UnsafeRawBufferPointer(bytes).loadUnaligned(as: UInt64.self))
            }
            var number: UInt64 = 0
            for byte in bytes { number = number << 8 | UInt64(byte) }
            return number << (64 - 8 * UInt64(bytes.count))
        }
    }
}

extension UnsafeMutableBufferPointer<UInt8> {
    /// Writes a text into memory that is not initialized yet, and advances the position by its length.
    fileprivate func append(_ text: String, at position: inout Int) {
        let rest = UnsafeMutableBufferPointer(rebasing: self[position...])
        let isCopied: Void? = text.utf8.withContiguousStorageIfAvailable { bytes in
            position += rest.initialize(fromContentsOf: bytes)
        }
        if isCopied == nil { append(separator: Array(text.utf8), at: &position) }
    }

    /// Writes a few bytes.
    fileprivate func append(separator: [UInt8], at position: inout Int) {
        for byte in separator {
            initializeElement(at: position, to: byte)
            position += 1
        }
    }
}
