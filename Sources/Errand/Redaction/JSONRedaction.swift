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
        var rule: Rule
        var end: UInt8 { isObject ? UInt8(ascii: "}") : UInt8(ascii: "]") }
    }

    /// The result is longer than a text of many short values.
    private static let outputLimit = 1 << 20
    private static let codeNames: Set = ["errcode", "errno", "errorCode", "error_code"]

    private let redactor: Redactor
    private var scanner: JSONScanner
    private var open: [Container] = []
    private var output: [UInt8] = []

    /// Without blanks; `nil` if the text is malformed or too deep, or its copy too long.
    static func text(of body: Data, redactor: Redactor) -> String? {
        guard String(validating: body, as: UTF8.self) != nil else { return nil }
        return body.withUnsafeBytes { bytes in
            var copy = JSONRedaction(redactor: redactor, scanner: JSONScanner(bytes))
            return copy.run() ? String(decoding: copy.output, as: UTF8.self) : nil
        }
    }

    private init(redactor: Redactor, scanner: JSONScanner) {
        (self.redactor, self.scanner) = (redactor, scanner)
    }

    private mutating func run() -> Bool {
        while output.count <= Self.outputLimit {
            scanner.skipBlanks()
            if copy(UInt8(ascii: "{")) || copy(UInt8(ascii: "[")) {
                guard beginContainer() else { return false }
                if !open.isEmpty, isValueNext { continue }
            } else {
                guard scalar() else { return false }
            }
            guard let isComplete = closeContainers() else { return false }
            if isComplete { return scanner.isAtEnd }
        }
        return false
    }

    private var isValueNext: Bool { output.last != UInt8(ascii: "}") && output.last != UInt8(ascii: "]") }

    private mutating func beginContainer() -> Bool {
        let isObject = output.last == UInt8(ascii: "{")
        let container = Container(isObject: isObject, rule: isObject ? .none : open.last?.rule ?? .none)
        guard open.count < JSONScanner.depthLimit else { return false }
        scanner.skipBlanks()
        if copy(container.end) { return true }
        open.append(container)
        return !isObject || memberName()
    }

    /// Returns whether this is the end of the text; `nil` if it is malformed.
    private mutating func closeContainers() -> Bool? {
        while let container = open.last {
            scanner.skipBlanks()
            if copy(UInt8(ascii: ",")) {
                guard container.isObject else { return false }
                scanner.skipBlanks()
                return memberName() ? false : nil
            }
            guard copy(container.end) else { return nil }
            open.removeLast()
        }
        scanner.skipBlanks()
        return true
    }

    private mutating func memberName() -> Bool {
        guard let (range, isEscaped) = scanner.string() else { return false }
        let name = String(decoding: scanner.bytes[range], as: UTF8.self)
        // A name with an escape sequence is not compared: it is neither usual nor harmless.
        append(quoted: isEscaped ? Redactor.hidden(name.utf8) : redactor.name(name))
        scanner.skipBlanks()
        let isHarmless = !isEscaped && redactor.shownMemberNames.contains(name)
        open[open.count - 1].rule = isHarmless ? .all : Self.codeNames.contains(name) ? .shortIntegers : .none
        return copy(UInt8(ascii: ":"))
    }

    private mutating func scalar() -> Bool {
        let rule = open.last?.rule ?? .none
        let (start, isString, isNull) = (scanner.position, scanner.peek == UInt8(ascii: "\""), scanner.take("null"))
        let isLiteral = isNull || scanner.take("true") || scanner.take("false")
        guard isLiteral || (isString ? scanner.string()?.range : scanner.number()) != nil else { return false }
        let text = scanner.bytes[start..<scanner.position]
        let isShortInteger = text.count <= 6 && text.allSatisfy(\.isASCIIDigit)
        if isNull || rule == .all || rule == .shortIntegers && isShortInteger {
            output += text
        } else {
            append(quoted: Redactor.hidden(count: isString ? text.count - 2 : text.count))
        }
        return true
    }

    private mutating func copy(_ byte: UInt8) -> Bool {
        guard scanner.take(byte) else { return false }
        output.append(byte)
        return true
    }

    private mutating func append(quoted text: String) {
        output.append(UInt8(ascii: "\""))
        output += text.utf8
        output.append(UInt8(ascii: "\""))
    }
}
