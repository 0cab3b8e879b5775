/// XML 1.0 in UTF-8, as far as the end of the first start tag.
///
/// A byte is read as the scalar of the same value, because only ASCII matters.
extension HeaderReader {
    /// A document whose first start tag is not complete by then is refused.
    static let longestXMLStart = 64 << 10

    mutating func scalar() throws(HeaderFailure) -> Unicode.Scalar { Unicode.Scalar(try take(1)[0]) }

    /// Does nothing and returns `false` if what follows is anything else.
    mutating func skip(_ literal: String) throws(HeaderFailure) -> Bool {
        var ahead = self
        for expected in literal.unicodeScalars { guard try ahead.scalar() == expected else { return false } }
        self = ahead
        return true
    }

    /// Returns what is before the literal, which is ASCII, and skips both.
    @discardableResult mutating func text(before literal: String) throws(HeaderFailure) -> UnsafeRawBufferPointer {
        let start = self
        while try !skip(literal) {
            try skip(1)
            skip(to: literal.utf8.first ?? 0)
        }
        var text = start
        return try text.take(position - literal.utf8.count - start.position)
    }

    mutating func text(while isPart: (Unicode.Scalar) -> Bool) throws(HeaderFailure) -> String {
        var (text, ahead) = (self, self)
        while isPart(try ahead.scalar()) { self = ahead }
        return String(decoding: try text.take(position - text.position), as: UTF8.self)
    }

    mutating func skipXMLBlanks() throws(HeaderFailure) { _ = try text { $0.isXMLBlank } }

    mutating func xmlName() throws(HeaderFailure) -> String {
        try text { !$0.isXMLBlank && $0 != "=" && $0 != "/" && $0 != ">" && $0 != "<" }
    }

    /// Returns `nil` at the end of the start tag.
    mutating func xmlAttribute() throws(HeaderFailure) -> (name: String, value: UnsafeRawBufferPointer)? {
        try skipXMLBlanks()
        let name = try xmlName()
        try skipXMLBlanks()
        let separator = try scalar()
        if name.isEmpty, separator == ">" || separator == "/" { return nil }
        try skipXMLBlanks()
        let quote = try scalar()
        guard !name.isEmpty, separator == "=", quote == "\"" || quote == "'" else {
            throw .invalid("its start tag has a malformed attribute")
        }
        return (name, try text(before: String(quote)))
    }

    /// Skips a comment or a processing instruction behind its first character; returns whether there was one.
    mutating func skipXMLMarkup() throws(HeaderFailure) -> Bool {
        let end = try skip("!--") ? "-->" : try skip("?") ? "?>" : nil
        if let end { try text(before: end) }
        return end != nil
    }

    /// Behind `<!DOCTYPE`; the declarations of an internal subset end as the whole does.
    mutating func skipXMLDoctype() throws(HeaderFailure) {
        var isInSubset = false
        while true {
            let scalar = try scalar()
            switch scalar {
            case "\"", "'": try text(before: String(scalar))
            case "<": _ = try skipXMLMarkup()
            case "[", "]": isInSubset = scalar == "["
            case ">" where !isInSubset: return
            default: break
            }
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isXMLBlank: Bool { self == " " || self == "\n" || self == "\r" || self == "\t" }
}
