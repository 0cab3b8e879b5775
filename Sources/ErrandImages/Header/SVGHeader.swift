/// SVG 2, section 8; its size as of an image in CSS (CSS Images 3, section 5).
extension HeaderReader {
    /// Reads the name of the first element, and returns whether it is `svg`.
    mutating func isSVG() throws(HeaderFailure) -> Bool {
        // The byte order mark.
        _ = try skip("\u{EF}\u{BB}\u{BF}")
        while true {
            try skipXMLBlanks()
            guard try skip("<") else { return false }
            if try skipXMLMarkup() { continue }
            guard try skip("!DOCTYPE") else { break }
            try skipXMLDoctype()
        }
        let name = try xmlName()
        return name == "svg" || name.hasSuffix(":svg") && !name.hasPrefix(":")
    }

    /// Behind the name.
    mutating func svg() throws(HeaderFailure) -> ImageHeader {
        var (width, height, box) = (Double?.none, Double?.none, [Double]())
        while let (name, value) = try xmlAttribute() {
            switch name {
            case "width": width = SVGLength.pixels(value)
            case "height": height = SVGLength.pixels(value)
            case "viewBox": box = SVGLength.numbers(value)
            default: break
            }
        }
        if box.count == 4 {
            let scale = width.map { $0 / box[2] } ?? height.map { $0 / box[3] } ?? 1
            (width, height) = (width ?? scale * box[2], height ?? scale * box[3])
        }
        // The default size of CSS.
        return try header(.svg, Self.whole(width ?? 300), Self.whole(height ?? 150))
    }

    private static func whole(_ size: Double) throws(HeaderFailure) -> Int {
        guard size > 0, size <= 0x1p31 - 1 else { throw .invalid("its width or height is not positive, or too large") }
        // 2.54 cm are 96 pixels, although their binary fractions may be a little more.
        return max(1, Int((size - 1e-6).rounded(.up)))
    }
}

/// Lengths in attributes; a value of more than 256 bytes is none, so that it takes no time.
private enum SVGLength {
    /// In pixels, by units in small letters (CSS Values 4, section 6.2).
    private static let units = [
        "": 1, "px": 1, "in": 96, "cm": 96 / 2.54, "mm": 96 / 25.4, "q": 96 / 101.6, "pt": 96 / 72.0, "pc": 16,
    ]

    /// Returns `nil` for percentages and other lengths that depend on where the image is.
    static func pixels(_ value: UnsafeRawBufferPointer) -> Double? {
        let words = words(value)
        guard let text = words.first, words.count == 1 else { return nil }
        let end = text.lastIndex { $0.isNumber || $0 == "." }.map(text.index(after:)) ?? text.startIndex
        guard let factor = units[text[end...].lowercased()] else { return nil }
        return number(text[..<end]).map { $0 * factor }
    }

    /// Empty if there is anything else.
    static func numbers(_ value: UnsafeRawBufferPointer) -> [Double] {
        let numbers = words(value).map(number)
        return numbers.contains(nil) ? [] : numbers.compactMap(\.self)
    }

    private static func words(_ value: UnsafeRawBufferPointer) -> [Substring] {
        guard value.count <= 256 else { return [] }
        return String(decoding: value, as: UTF8.self).split { $0.isWhitespace || $0 == "," }
    }

    /// Decimal only, unlike `Double`.
    private static func number(_ text: Substring) -> Double? {
        text.allSatisfy("0123456789+-.eE".contains) ? Double(text) : nil
    }
}

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
