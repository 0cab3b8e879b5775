#if os(Linux)
import Foundation

/// The header lines of one response, stored as raw bytes and parsed on demand.
struct CurlHeaderBlock {
    private enum Part {
        case statusLine
        case fields
        case trailers
    }

    private var bytes: [UInt8] = []
    /// 0 before a status line and when it does not have one of three digits.
    private(set) var status = 0
    private var part = Part.statusLine
    /// `nil` directly after the status line.
    private var lastField: Int?
    /// Computed for the first fold only, because a server may send many.
    private var isFoldable: Bool?
    /// Of all received lines, those of 1xx responses and trailers included.
    private(set) var receivedBytes = 0
    /// Of the last status line and its header lines, with the empty line at their end.
    private(set) var headBytes = 0

    var isComplete: Bool { part == .trailers }

    /// Whether the last complete block is that of a 1xx response.
    var isInterim: Bool { part == .statusLine && (100..<200).contains(status) }

    var isHTTP2: Bool { bytes.starts(with: "HTTP/2".utf8) }

    /// Throws for a line that recipients interpret differently.
    mutating func append(_ line: UnsafeRawBufferPointer) throws(TransportError) {
        receivedBytes += line.count
        guard part != .trailers else { return }
        headBytes = part == .statusLine ? line.count : headBytes + line.count
        let text = line.withoutEndOfLine
        // RFC 9110 section 5.5: a bare CR is dangerous, because some recipients end the line there.
        guard text.before(Byte.carriageReturn).count == text.count else { throw Self.malformed }
        switch part {
        case .statusLine: begin(line)
        case .fields where text.isEmpty: part = (100..<200).contains(status) ? .statusLine : .trailers
        default: try append(field: line)
        }
    }

    private mutating func begin(_ statusLine: UnsafeRawBufferPointer) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(contentsOf: statusLine)
        status = Self.status(in: statusLine)
        lastField = nil
        part = .fields
    }

    private mutating func append(field line: UnsafeRawBufferPointer) throws(TransportError) {
        if line.first?.isSpaceOrTab == true { return try unfold(line) }
        guard line.first != Byte.colon else { throw Self.malformed }
        lastField = bytes.count
        isFoldable = nil
        bytes.append(contentsOf: line)
    }

    /// A single space replaces the fold (RFC 9112 section 5.2).
    ///
    /// libcurl 8.23 joins the lines itself. A line that defines where the body ends must not be folded: libcurl and this library
    /// could interpret it differently.
    private mutating func unfold(_ line: UnsafeRawBufferPointer) throws(TransportError) {
        guard let lastField else { throw Self.malformed }
        let isFoldable = isFoldable ?? !bytes[lastField...].prefix(while: { $0 != Byte.colon }).isFramingName
        guard isFoldable else { throw Self.malformed }
        self.isFoldable = true
        while bytes.last?.isBlank == true || bytes.last == Byte.lineFeed { bytes.removeLast() }
        bytes.append(Byte.space)
        bytes.append(contentsOf: line.drop(while: \.isBlank))
    }

    private static let malformed = TransportError(.badResponse, "a header line is malformed")

    private static func status(in line: UnsafeRawBufferPointer) -> Int {
        let digits = line.after(Byte.space).prefix(while: \.isASCIIDigit)
        guard digits.count == 3 else { return 0 }
        return digits.reduce(0) { $0 * 10 + Int($1) - Int(UInt8(ascii: "0")) }
    }

    /// Duplicates included, without lines whose name is not a token (RFC 9110 section 5.1).
    func headers() -> HTTPHeaders {
        var fields: [HTTPField] = []
        forEachField { name, value in
            let name = name.trimmed
            guard !name.isEmpty, name.allSatisfy(\.isToken) else { return }
            fields.append(HTTPField(String(decoding: name, as: UTF8.self), bytes: value))
        }
        return HTTPHeaders(fields)
    }

    /// Throws when a line that defines where the body ends has a blank before its colon, which libcurl ignores, and when two
    /// `Location` lines differ.
    func framing() throws(TransportError) -> BodyFraming {
        var framing = BodyFraming()
        var locations: Set<[UInt8]> = []
        var isMalformed = false
        forEachField { name, value in
            framing.add(name: name, value: value)
            if name.last?.isBlank == true, name.trimmed.isFramingName { isMalformed = true }
            if name.equalsIgnoringCase("location") { locations.insert(Array(value)) }
        }
        guard !isMalformed else { throw Self.malformed }
        guard locations.count <= 1 else { throw TransportError(.badResponse, "the response has two locations") }
        return framing
    }

    /// Blanks between a name and its colon are part of the name.
    private func forEachField(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes.after(Byte.lineFeed)
            while !rest.isEmpty {
                let line = rest.before(Byte.lineFeed)
                let name = line.before(Byte.colon)
                if name.count < line.count { body(name, line.after(Byte.colon).trimmed) }
                rest = rest.after(Byte.lineFeed)
            }
        }
    }
}

private enum Byte {
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let space = UInt8(ascii: " ")
    static let colon = UInt8(ascii: ":")
}

extension UInt8 {
    fileprivate var isBlank: Bool { isSpaceOrTab || self == Byte.carriageReturn }
}

extension Collection<UInt8> {
    /// Such lines define where the body ends.
    fileprivate var isFramingName: Bool {
        equalsIgnoringCase("content-length") || equalsIgnoringCase("transfer-encoding")
    }
}

extension UnsafeRawBufferPointer {
    /// All bytes when there is no `byte`.
    fileprivate func before(_ byte: UInt8) -> Self {
        Self(rebasing: prefix { $0 != byte })
    }

    /// No bytes when there is no `byte`.
    fileprivate func after(_ byte: UInt8) -> Self {
        Self(rebasing: drop { $0 != byte }.dropFirst())
    }

    fileprivate var withoutEndOfLine: Self {
        let text = last == Byte.lineFeed ? dropLast() : self[...]
        return Self(rebasing: text.last == Byte.carriageReturn ? text.dropLast() : text)
    }

    fileprivate var trimmed: Self {
        var text = drop(while: \.isBlank)
        while text.last?.isBlank == true { text.removeLast() }
        return Self(rebasing: text)
    }
}
#endif
