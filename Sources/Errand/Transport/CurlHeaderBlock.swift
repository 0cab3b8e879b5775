#if os(Linux)
import Foundation

/// The header lines of one answer, collected as raw bytes while they come and parsed when somebody asks.
struct CurlHeaderBlock {
    private enum Part {
        case statusLine
        case fields
        case trailers
    }

    private var bytes: [UInt8] = []
    private var part = Part.statusLine
    /// The bytes of all lines so far, those of 1xx answers and trailers included.
    private(set) var receivedBytes = 0

    /// Whether the final answer's block has come to its end.
    var isComplete: Bool { part == .trailers }

    /// Whether the block that has just ended is a `101`, behind which no HTTP follows.
    var isSwitchingProtocols: Bool { part == .statusLine && status == 101 }

    /// Whether the status line is that of HTTP/2.
    var isHTTP2: Bool { bytes.starts(with: "HTTP/2".utf8) }

    /// Takes one line with its end of line.
    mutating func append(_ line: UnsafeRawBufferPointer) {
        receivedBytes += line.count
        switch part {
        case .statusLine:
            bytes.removeAll(keepingCapacity: true)
            bytes.append(contentsOf: line)
            part = .fields
        case .fields where line.first == Byte.carriageReturn || line.first == Byte.lineFeed:
            part = (100..<200).contains(status) ? .statusLine : .trailers
        case .fields:
            line.first?.isBlank == true ? unfold(line) : bytes.append(contentsOf: line)
        case .trailers:
            break
        }
    }

    /// The status code, 0 when the status line does not have one of three digits.
    var status: Int {
        guard let space = bytes.firstIndex(of: Byte.space) else { return 0 }
        let digits = bytes[(space + 1)...].prefix(while: \.isDigit)
        guard digits.count == 3 else { return 0 }
        return digits.reduce(0) { $0 * 10 + Int($1) - Int(UInt8(ascii: "0")) }
    }

    /// The lines in their order, duplicates kept.
    func headers() -> HTTPHeaders {
        var fields: [HTTPField] = []
        fields.reserveCapacity(16)
        forEachField { name, value in
            fields.append(HTTPField(String(decoding: name, as: UTF8.self), bytes: value))
        }
        return HTTPHeaders(fields)
    }

    /// Every element of the comma-separated values of `name`, in lower case.
    func elements(_ name: StaticString) -> [String] {
        let wanted = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        var elements: [String] = []
        forEachField { name, value in
            guard name.count == wanted.count, zip(name, wanted).allSatisfy({ $0.asciiLowercased == $1 }) else { return }
            for element in value.split(separator: Byte.comma, omittingEmptySubsequences: false) {
                let bytes = UnsafeRawBufferPointer(rebasing: element).trimmed
                elements.append(String(decoding: bytes, as: UTF8.self).lowercased())
            }
        }
        return elements
    }

    /// The number of bytes that the answer announces, `nil` for none.
    ///
    /// - Throws: ``TransportError/Kind/badResponse`` when there are several that differ, or one that is no number: the
    ///   body could end anywhere (RFC 9112 section 6.3).
    func contentLength() throws(TransportError) -> Int64? {
        let texts = elements("content-length")
        guard let text = texts.first else { return nil }
        guard let length = Int64(text), text.utf8.first?.isDigit == true, texts.allSatisfy({ $0 == text }) else {
            throw TransportError(.badResponse, "the answer contradicts itself about its length")
        }
        return length
    }

    /// Continues the last line with a folded one; a single space replaces the fold (RFC 9112 section 5.2), as in libcurl
    /// 8.23, which joins the lines before they come here.
    private mutating func unfold(_ line: UnsafeRawBufferPointer) {
        while bytes.last?.isBlank == true || bytes.last == Byte.lineFeed { bytes.removeLast() }
        bytes.append(Byte.space)
        bytes.append(contentsOf: line.drop(while: \.isBlank))
    }

    private func forEachField(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes.behind(Byte.lineFeed)
            while !rest.isEmpty {
                let line = rest.before(Byte.lineFeed)
                let name = line.before(Byte.colon)
                if name.count < line.count { body(name.trimmed, line.behind(Byte.colon).trimmed) }
                rest = rest.behind(Byte.lineFeed)
            }
        }
    }
}

/// The bytes that give a header block its form.
private enum Byte {
    static let tab = UInt8(ascii: "\t")
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let space = UInt8(ascii: " ")
    static let comma = UInt8(ascii: ",")
    static let colon = UInt8(ascii: ":")
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    fileprivate var isBlank: Bool { self == Byte.space || self == Byte.tab || self == Byte.carriageReturn }
}

extension UnsafeRawBufferPointer {
    /// The bytes before the first `byte`, all of them when there is none.
    fileprivate func before(_ byte: UInt8) -> Self {
        Self(rebasing: self[..<position(of: byte)])
    }

    /// The bytes behind the first `byte`, none when there is none.
    fileprivate func behind(_ byte: UInt8) -> Self {
        Self(rebasing: self[Swift.min(position(of: byte) + 1, count)...])
    }

    /// The bytes without blanks, tabs and carriage returns at both ends.
    fileprivate var trimmed: Self {
        var (start, end) = (startIndex, endIndex)
        while start < end, self[start].isBlank { start += 1 }
        while start < end, self[end - 1].isBlank { end -= 1 }
        return Self(rebasing: self[start..<end])
    }

    private func position(of byte: UInt8) -> Int {
        guard let baseAddress, let found = memchr(baseAddress, Int32(byte), count) else { return count }
        return UnsafeRawPointer(found) - baseAddress
    }
}
#endif
