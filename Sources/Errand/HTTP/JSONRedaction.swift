import Foundation

/// Copies a JSON text (RFC 8259) with placeholders for what is not known to be harmless, in one pass.
///
/// The open containers are in an array, so that depth needs no stack space.
struct JSONRedaction {
    /// Which scalars of a member are shown.
    private enum Rule {
        case none, shortIntegers, all
    }

    private struct Container {
        let isObject: Bool
        /// For the member that is read, or for all elements of an array.
        var rule: Rule
        var end: UInt8 { isObject ? UInt8(ascii: "}") : UInt8(ascii: "]") }
    }

    private static let depthLimit = 512
    /// The most bytes of the result, which is longer than a text of many short values.
    private static let outputLimit = 1 << 20
    private static let codeNames: Set = ["errcode", "errno", "errorCode", "error_code"]

    private let redactor: Redactor
    private let bytes: [UInt8]
    private var position = 0
    private var open: [Container] = []
    private var output: [UInt8] = []

    /// Returns the copy, without blanks; `nil` if the text is malformed or too deep, or its copy too long.
    static func text(of body: Data, redactor: Redactor) -> String? {
        guard String(validating: body, as: UTF8.self) != nil else { return nil }
        var copy = JSONRedaction(redactor: redactor, bytes: Array(body))
        return copy.run() ? String(decoding: copy.output, as: UTF8.self) : nil
    }

    private init(redactor: Redactor, bytes: [UInt8]) {
        (self.redactor, self.bytes) = (redactor, bytes)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    private mutating func run() -> Bool {
        while output.count <= Self.outputLimit {
            skipBlanks()
            if copy(UInt8(ascii: "{")) || copy(UInt8(ascii: "[")) {
                guard beginContainer() else { return false }
                if !open.isEmpty, isValueNext { continue }
            } else {
                guard scalar() else { return false }
            }
            guard let isComplete = closeContainers() else { return false }
            if isComplete { return position == bytes.count }
        }
        return false
    }

    /// Whether the container that has just begun is not empty.
    private var isValueNext: Bool { output.last != UInt8(ascii: "}") && output.last != UInt8(ascii: "]") }

    private mutating func beginContainer() -> Bool {
        let isObject = output.last == UInt8(ascii: "{")
        let container = Container(isObject: isObject, rule: isObject ? .none : open.last?.rule ?? .none)
        guard open.count < Self.depthLimit else { return false }
        skipBlanks()
        if copy(container.end) { return true }
        open.append(container)
        return !isObject || memberName()
    }

    /// Copies what follows a value, to the next value or the end of the text; returns whether it is the end, `nil` if malformed.
    private mutating func closeContainers() -> Bool? {
        while let container = open.last {
            skipBlanks()
            if copy(UInt8(ascii: ",")) {
                guard container.isObject else { return false }
                skipBlanks()
                return memberName() ? false : nil
            }
            guard copy(container.end) else { return nil }
            open.removeLast()
        }
        skipBlanks()
        return true
    }

    private mutating func memberName() -> Bool {
        guard let range = string() else { return false }
        let name = String(decoding: bytes[range], as: UTF8.self)
        // A name with an escape sequence is not compared: it is neither usual nor harmless.
        let isEscaped = name.utf8.contains(UInt8(ascii: "\\"))
        append(quoted: isEscaped ? Redactor.hidden(name.utf8) : redactor.name(name))
        skipBlanks()
        let isHarmless = !isEscaped && redactor.memberNames.contains(name)
        open[open.count - 1].rule = isHarmless ? .all : Self.codeNames.contains(name) ? .shortIntegers : .none
        return copy(UInt8(ascii: ":"))
    }

    private mutating func scalar() -> Bool {
        let rule = open.last?.rule ?? .none
        if position < bytes.count, bytes[position] == UInt8(ascii: "\"") {
            guard let range = string() else { return false }
            if rule == .all { output += bytes[(range.lowerBound - 1)...range.upperBound] } else { hide(range.count) }
            return true
        }
        let text = bytes[position...].prefix { $0.isASCIIAlphanumeric || "+-.".utf8.contains($0) }
        let isInteger = text.allSatisfy(\.isASCIIDigit)
        guard text.elementsEqual("null".utf8) || Self.isScalar(text) else { return false }
        let isShown = rule == .all || rule == .shortIntegers && isInteger && text.count <= 6
        if isShown || text.first == UInt8(ascii: "n") { output += text } else { hide(text.count) }
        position = text.endIndex
        return true
    }

    /// Returns whether `text` is a Boolean or a number.
    private static func isScalar(_ text: ArraySlice<UInt8>) -> Bool {
        if text.elementsEqual("true".utf8) || text.elementsEqual("false".utf8) { return true }
        var rest = text
        if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        let integer = rest.prefix(while: \.isASCIIDigit)
        rest = rest.dropFirst(integer.count)
        guard integer.count == 1 || !integer.isEmpty && integer.first != UInt8(ascii: "0") else { return false }
        if rest.first == UInt8(ascii: ".") {
            let fraction = rest.dropFirst().prefix(while: \.isASCIIDigit)
            guard !fraction.isEmpty else { return false }
            rest = rest.dropFirst(fraction.count + 1)
        }
        guard let exponent = rest.first else { return true }
        guard exponent.asciiLowercased == UInt8(ascii: "e") else { return false }
        rest.removeFirst()
        if rest.first == UInt8(ascii: "-") || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
        return !rest.isEmpty && rest.allSatisfy(\.isASCIIDigit)
    }
}

extension JSONRedaction {
    /// Reads a string; returns the range between its quotation marks, `nil` if it is malformed.
    private mutating func string() -> Range<Int>? {
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return nil }
        position += 1
        let start = position
        while position < bytes.count, bytes[position] >= 0x20 {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return start..<position - 1
            case UInt8(ascii: "\\"):
                guard skipEscape() else { return nil }
            default: position += 1
            }
        }
        return nil
    }

    private mutating func skipEscape() -> Bool {
        guard position + 1 < bytes.count else { return false }
        guard bytes[position + 1] == UInt8(ascii: "u") else {
            guard #""\/bfnrt"#.utf8.contains(bytes[position + 1]) else { return false }
            position += 2
            return true
        }
        let digits = bytes[(position + 2)...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ $0.hexDigitValue != nil }) else { return false }
        position += 6
        return true
    }

    private mutating func skipBlanks() {
        while position < bytes.count, [0x20, 0x0A, 0x0D, 0x09].contains(bytes[position]) { position += 1 }
    }

    private mutating func copy(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        output.append(byte)
        return true
    }

    private mutating func hide(_ count: Int) {
        append(quoted: Redactor.hidden(count: count))
    }

    private mutating func append(quoted text: String) {
        output.append(UInt8(ascii: "\""))
        output += text.utf8
        output.append(UInt8(ascii: "\""))
    }
}
