#if os(Linux)
import Foundation

/// The header lines of one answer, collected as raw bytes while they come and parsed once, when somebody asks.
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

    /// Takes one line with its end of line.
    mutating func append(_ line: UnsafeRawBufferPointer) {
        receivedBytes += line.count
        switch part {
        case .statusLine:
            bytes.removeAll(keepingCapacity: true)
            bytes.append(contentsOf: line)
            part = .fields
        case .fields where line.isBlankLine:
            part = isInformational ? .statusLine : .trailers
        case .fields:
            bytes.append(contentsOf: line)
        case .trailers:
            break
        }
    }

    /// The status code, 0 when the status line has none.
    var status: Int {
        guard let space = bytes.firstIndex(of: UInt8(ascii: " ")) else { return 0 }
        return bytes[(space + 1)...].prefix(3).reduce(0) { $0 * 10 + Int($1) - Int(UInt8(ascii: "0")) }
    }

    /// The lines in their order, duplicates kept.
    func headers() -> HTTPHeaders {
        var fields: [HTTPField] = []
        for line in bytes.split(separator: UInt8(ascii: "\n")).dropFirst() {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let name = String(decoding: line[..<colon].trimmed, as: UTF8.self)
            fields.append(HTTPField(name, bytes: line[(colon + 1)...].trimmed))
        }
        return HTTPHeaders(fields)
    }

    private var isInformational: Bool {
        (100..<200).contains(status) && status != 101
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var isBlankLine: Bool {
        first == UInt8(ascii: "\r") || first == UInt8(ascii: "\n")
    }
}

extension ArraySlice<UInt8> {
    /// The bytes without blanks, tabs and carriage returns at both ends.
    fileprivate var trimmed: ArraySlice<UInt8> {
        let isBlank = { (byte: UInt8) in [0x20, 0x09, 0x0D].contains(byte) }
        guard let start = firstIndex(where: { !isBlank($0) }), let end = lastIndex(where: { !isBlank($0) })
        else { return [] }
        return self[start...end]
    }
}
#endif
