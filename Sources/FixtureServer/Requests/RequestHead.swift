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
