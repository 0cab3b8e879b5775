#if os(Linux)
import Foundation

/// The header lines of a request in libcurl's list layout, in one piece of memory that lives as long as this value.
struct CurlHeaderList: ~Copyable {
    /// `struct curl_slist`.
    private struct Node {
        let text: UnsafeMutableRawPointer
        var next: UnsafeMutablePointer<Node>?
    }

    /// The list for libcurl, which reads it until the transfer has ended.
    let first: UnsafeRawPointer?

    /// Lays out `headers`, and keeps libcurl from adding an `Expect` or a `Content-Type` of its own to a body.
    ///
    /// libcurl looks through the whole list a dozen times, so that every line less counts.
    init(_ headers: HTTPHeaders, hasBody: Bool) {
        var lines = Lines()
        for field in headers where !field.isFraming {
            lines.append(field)
        }
        for name in ["Expect", "Content-Type"] where hasBody && !headers.contains(where: { $0.isNamed(name) }) {
            lines.append(absent: name)
        }
        first = Self.lay(lines)
    }

    deinit {
        first?.deallocate()
    }

    private static func lay(_ lines: Lines) -> UnsafeRawPointer? {
        guard !lines.starts.isEmpty else { return nil }
        let nodeBytes = lines.starts.count * MemoryLayout<Node>.stride
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: nodeBytes + lines.text.count,
            alignment: MemoryLayout<Node>.alignment
        )
        let text = memory + nodeBytes
        UnsafeMutableRawBufferPointer(start: text, count: lines.text.count).copyBytes(from: lines.text)
        let nodes = memory.bindMemory(to: Node.self, capacity: lines.starts.count)
        for (index, start) in lines.starts.enumerated() {
            let isLast = index == lines.starts.count - 1
            (nodes + index).initialize(to: Node(text: text + start, next: isLast ? nil : nodes + index + 1))
        }
        return UnsafeRawPointer(memory)
    }
}

/// Header lines as libcurl reads them, each with a NUL at its end.
private struct Lines {
    private(set) var text: [UInt8] = []
    private(set) var starts: [Int] = []

    mutating func append(_ field: HTTPField) {
        starts.append(text.count)
        text.append(contentsOf: field.name.utf8)
        // libcurl reads "Name:" and a blank value as "leave this header out", "Name;" as "send it empty".
        guard field.value.utf8.contains(where: { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }) else {
            text.append(contentsOf: [UInt8(ascii: ";"), 0])
            return
        }
        text.append(contentsOf: [UInt8(ascii: ":"), UInt8(ascii: " ")])
        field.appendBytes(to: &text)
        text.append(0)
    }

    mutating func append(absent name: String) {
        starts.append(text.count)
        text.append(contentsOf: name.utf8)
        text.append(contentsOf: [UInt8(ascii: ":"), 0])
    }
}

extension HTTPField {
    /// Whether the line is the transport's to write: a wrong one would let the body be read as another request.
    fileprivate var isFraming: Bool {
        isNamed("Content-Length") || isNamed("Transfer-Encoding") || isNamed("Host")
    }
}
#endif
