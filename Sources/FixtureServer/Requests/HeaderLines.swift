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
