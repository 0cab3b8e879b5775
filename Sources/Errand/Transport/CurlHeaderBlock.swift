#if os(Linux)
import Foundation

/// The header lines of one answer, collected as raw bytes while they come and parsed when somebody asks.
struct CurlHeaderBlock {
    private enum Part {
        case statusLine
        case fields
        case trailers
    }

    private typealias Text = Slice<UnsafeRawBufferPointer>

    private var bytes: [UInt8] = []
    private var part = Part.statusLine
    /// The bytes of all lines so far, those of 1xx answers and trailers included.
    private(set) var receivedBytes = 0

    /// Whether the final answer's block has come to its end.
    var isComplete: Bool { part == .trailers }

    /// Whether the block that has just ended is a `101`, behind which no HTTP follows.
    var isSwitchingProtocols: Bool { part == .statusLine && status == 101 }

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
            if line.first == Byte.space || line.first == Byte.tab { unfold() }
            bytes.append(contentsOf: line)
        case .trailers:
            break
        }
    }

    /// The status code, 0 when the status line has none.
    var status: Int {
        guard let space = bytes.firstIndex(of: Byte.space) else { return 0 }
        return bytes[(space + 1)...].prefix(3).reduce(0) { $0 * 10 + Int($1) - Int(UInt8(ascii: "0")) }
    }

    /// The lines in their order, duplicates kept.
    func headers() -> HTTPHeaders {
        var fields: [HTTPField] = []
        forEachField { name, value in
            fields.append(HTTPField(String(decoding: name, as: UTF8.self), bytes: value))
        }
        return HTTPHeaders(fields)
    }

    /// Every value of `name`, in any case of its letters.
    func values(_ name: StaticString) -> [String] {
        var values: [String] = []
        let wanted = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        forEachField { name, value in
            guard name.count == wanted.count,
                zip(name, wanted).allSatisfy({ $0.asciiLowercased == $1.asciiLowercased })
            else { return }
            values.append(String(decoding: value, as: UTF8.self))
        }
        return values
    }

    /// The number of bytes that the answer announces, `nil` for none.
    ///
    /// - Throws: ``TransportError/Kind/badResponse`` when there are several that differ, or one that is no number: the
    ///   body could end anywhere (RFC 9112 section 6.3).
    func contentLength() throws(TransportError) -> Int64? {
        let texts = values("Content-Length").flatMap { $0.split(separator: ",") }
            .map { $0.trimmingCharacters(in: .whitespaces) }
        guard let text = texts.first else { return nil }
        guard let length = Int64(text), text.utf8.allSatisfy(\.isDigit), texts.allSatisfy({ $0 == text }) else {
            throw TransportError(.badResponse, "the answer contradicts itself about its length")
        }
        return length
    }

    /// Takes the end of line off, so that the next line goes on with this one's value (RFC 9112 section 5.2).
    private mutating func unfold() {
        while bytes.last == Byte.lineFeed || bytes.last == Byte.carriageReturn { bytes.removeLast() }
    }

    private func forEachField(_ body: (_ name: Text, _ value: Text) -> Void) {
        bytes.withUnsafeBytes { bytes in
            var start = bytes.firstIndex(of: Byte.lineFeed).map { $0 + 1 } ?? bytes.endIndex
            while start < bytes.endIndex {
                let end = bytes[start...].firstIndex(of: Byte.lineFeed) ?? bytes.endIndex
                if let colon = bytes[start..<end].firstIndex(of: Byte.colon) {
                    body(bytes[start..<colon].trimmed, bytes[(colon + 1)..<end].trimmed)
                }
                start = end + 1
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
    static let colon = UInt8(ascii: ":")
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    fileprivate var isBlank: Bool { [Byte.space, Byte.tab, Byte.carriageReturn].contains(self) }
}

extension Slice<UnsafeRawBufferPointer> {
    /// The bytes without blanks, tabs and carriage returns at both ends.
    fileprivate var trimmed: Self {
        guard let start = firstIndex(where: { !$0.isBlank }), let last = lastIndex(where: { !$0.isBlank })
        else { return self[startIndex..<startIndex] }
        return self[start...last]
    }
}
#endif
