/// The request line and the header lines of one request, as bytes and parsed.
package struct RequestHead: Sendable {
    /// The positions of a header line's name and value in the bytes.
    struct Line: Sendable {
        let name: Range<Int>
        let value: Range<Int>
    }

    /// How the end of the body is determined.
    enum Framing: Sendable, Equatable {
        case length(Int64)
        case chunked
    }

    /// The exact bytes, including the empty line at their end.
    package let bytes: [UInt8]
    /// Whether the client expects `100 Continue` before it sends the body.
    package internal(set) var expectsContinue = false
    /// Whether the connection may carry another request.
    package internal(set) var keepsAlive = true
    /// Whether the request is an HTTP/1.0 request.
    package internal(set) var isHTTP10 = false

    var methodRange = 0..<0
    var targetRange = 0..<0
    var pathRange = 0..<0
    var lines: [Line] = []
    var framing = Framing.length(0)

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The method as it was written.
    package var method: String { text(methodRange) }

    /// The target as it was written: path and query, or an absolute URL, or an authority.
    package var target: String { text(targetRange) }

    /// The target's path as it was written, without scheme and host.
    package var path: String { text(pathRange) }

    /// The target's query as it was written, without the question mark.
    package var query: String? {
        pathRange.upperBound < targetRange.upperBound ? text(pathRange.upperBound + 1..<targetRange.upperBound) : nil
    }

    /// The header lines in their order, including duplicates.
    package var headers: HeaderLines {
        HeaderLines(lines.map { HeaderLine(text($0.name), bytes: Array(bytes[$0.value])) })
    }

    /// Returns the first value of a header; the name matches in any case.
    package func header(_ name: StaticString) -> String? {
        bytes.withUnsafeBytes { raw in
            lines.first { raw.slice($0.name).isText(name) }.map { String(decoding: raw.slice($0.value), as: UTF8.self) }
        }
    }

    /// Whether the response has no body because the method is `HEAD`.
    var isHEAD: Bool { bytes[methodRange].elementsEqual("HEAD".utf8) }

    private func text(_ range: Range<Int>) -> String {
        bytes.withUnsafeBytes { String(decoding: $0.slice(range), as: UTF8.self) }
    }
}

/// One header line: a name as it was written and the exact bytes of its value.
package struct HeaderLine: Sendable, Equatable {
    /// The name as it was written.
    package let name: String
    /// The value's bytes, without the white space around them.
    package let bytes: [UInt8]

    /// Creates a line from text.
    package init(_ name: String, _ value: String) {
        self.init(name, bytes: Array(value.utf8))
    }

    /// Creates a line from bytes.
    package init(_ name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }

    /// The value as text, with replacement characters where it is not UTF-8.
    package var value: String { String(decoding: bytes, as: UTF8.self) }
}

/// Header lines in order, including duplicates; a dictionary literal keeps both.
package struct HeaderLines: Sendable, Equatable, ExpressibleByDictionaryLiteral, RandomAccessCollection {
    private var lines: [HeaderLine]

    /// Creates headers from lines.
    package init(_ lines: [HeaderLine] = []) {
        self.lines = lines
    }

    /// Creates headers from a literal, in its order.
    package init(dictionaryLiteral elements: (String, String)...) {
        lines = elements.map { HeaderLine($0, $1) }
    }

    /// The position of the first line.
    package var startIndex: Int { 0 }
    /// The position after the last line.
    package var endIndex: Int { lines.count }
    /// The line at `position`.
    package subscript(position: Int) -> HeaderLine { lines[position] }

    /// Returns the first value of `name`, in any case.
    package subscript(name: String) -> String? { values(name).first }

    /// Returns every value of `name`, in any case.
    package func values(_ name: String) -> [String] {
        lines.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// Adds a line at the end.
    package mutating func append(_ line: HeaderLine) {
        lines.append(line)
    }

    /// Returns the lines of both, in order.
    package static func + (left: HeaderLines, right: HeaderLines) -> HeaderLines {
        HeaderLines(left.lines + right.lines)
    }
}
