import Foundation

/// The printable forms of bodies, by their media type.
struct BodyRedaction {
    let redactor: Redactor
    private let type: String
    private let boundary: String?

    init(redactor: Redactor, contentType: String?) {
        self.redactor = redactor
        let (type, parameters) = HeaderParameter.parse(contentType ?? "")
        self.type = type.lowercased()
        boundary = parameters.first { $0.name.lowercased() == "boundary" }?.value
    }

    private var isJSON: Bool { type == "application/json" || type.hasSuffix("+json") }
    private var isForm: Bool { type == "application/x-www-form-urlencoded" }
    private var isMultipart: Bool { type == "multipart/form-data" }

    /// `nil` if only the size may be shown.
    func text(of body: Data) -> String? {
        guard body.count <= Redactor.bodyLimit else { return nil }
        if isJSON { return JSONRedaction.text(of: body, redactor: redactor) }
        if isMultipart, let boundary {
            return MultipartRedaction(redactor: redactor, boundary: boundary).text(of: body)
        }
        guard isForm, let items = String(validating: body, as: UTF8.self) else { return nil }
        return URLRedaction(redactor: redactor).text(of: items)
    }

    func text(of body: HTTPBody) -> String {
        let data = body.pieces.compactMap(\.data)
        let count = data.reduce(0) { $0 + $1.count }
        if data.count == body.pieces.count {
            guard count <= Redactor.bodyLimit else { return Redactor.hidden(count: count) }
            let whole = Data(data.joined())
            return whole.isEmpty ? "" : text(of: whole) ?? Redactor.hidden(whole)
        }
        if isMultipart, let boundary, count <= Redactor.bodyLimit {
            let multipart = MultipartRedaction(redactor: redactor, boundary: boundary)
            if let text = multipart.text(of: body) { return text }
        }
        return body.pieces.map(\.placeholder).joined()
    }
}

/// The printable form of a `multipart/form-data` body (RFC 7578).
struct MultipartRedaction {
    let redactor: Redactor
    let boundary: String

    /// Files and streams are contents of parts; `nil` if the body is malformed.
    func text(of body: HTTPBody) -> String? {
        let mark = "errand-\(String.uniqueName)"
        var (whole, contents) = (Data(), [Data: String]())
        for (index, piece) in body.pieces.enumerated() {
            let substitute = Data("\(mark)-\(index)".utf8)
            if piece.data == nil { contents[substitute] = piece.placeholder }
            whole += piece.data ?? substitute
        }
        return text(of: whole, contents: contents)
    }

    func text(of body: Data, contents: [Data: String] = [:]) -> String? {
        let delimiter = Data("\r\n--\(boundary)".utf8)
        // RFC 2046 section 5.1.1; the time of a search may grow with the length.
        guard 1...70 ~= boundary.utf8.count else { return nil }
        var sections = (Data("\r\n".utf8) + body).split(separator: delimiter, omittingEmptySubsequences: false)
        // Text before the first delimiter and after the last one is ignored by servers; here it is refused.
        guard sections.count > 1, sections.removeFirst().isEmpty, let end = sections.popLast(), end.isEnd else {
            return nil
        }
        let parts = sections.map { part($0, contents: contents) }
        guard !parts.contains(nil) else { return nil }
        return (parts.compactMap { $0.map { "--\(boundary)\n\($0)\n" } } + ["--\(boundary)--"]).joined()
    }

    private func part(_ section: Data, contents: [Data: String]) -> String? {
        guard section.starts(with: Data("\r\n".utf8)) else { return nil }
        let parts = section.split(separator: Data("\r\n\r\n".utf8), maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let head = String(validating: parts[0].dropFirst(2), as: UTF8.self) else { return nil }
        let fields = head.split(separator: "\r\n").map { line in
            let name = String(line.prefix { $0 != ":" })
            return (name: name, value: String(line.dropFirst(name.count + 1).drop { $0 == " " }))
        }
        let lines = fields.map { field in
            let value = redactor.value(ofHeader: field.name, field.value)
            return "\(redactor.name(ofHeader: field.name)): \(field.value.isEmpty ? "" : value)\n"
        }
        let disposition = fields.first { $0.name.lowercased() == "content-disposition" }?.value ?? ""
        let name = HeaderParameter.parse(disposition).parameters.first { $0.name.lowercased() == "name" }?.value
        return lines.joined() + "\n" + (contents[parts[1]] ?? content(parts[1], name: name ?? ""))
    }

    private func content(_ content: Data, name: String) -> String {
        guard let text = String(validating: content, as: UTF8.self) else { return Redactor.hidden(content) }
        return redactor.value(ofItem: name, text)
    }
}

extension HTTPBody.Piece {
    fileprivate var placeholder: String {
        switch self {
        case .data(let data): Redactor.hidden(data)
        case .file: "<redacted file>"
        case .stream(let stream): stream.length.map { "<redacted stream of \($0) bytes>" } ?? "<redacted stream>"
        }
    }
}

extension Data {
    fileprivate var isEnd: Bool { elementsEqual("--".utf8) || elementsEqual("--\r\n".utf8) }
}

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
