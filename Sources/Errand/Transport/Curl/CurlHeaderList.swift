#if os(Linux)
import Foundation

/// The header lines of a request in libcurl's list layout, in one allocation that is freed with this value.
struct CurlHeaderList: ~Copyable {
    /// `struct curl_slist`.
    private struct Node {
        let text: UnsafeMutableRawPointer
        var next: UnsafeMutablePointer<Node>?
    }

    /// The list for libcurl, which reads it until the transfer ends.
    let first: UnsafeRawPointer?

    /// Lays out `headers`, and prevents libcurl from adding `Expect` and `Content-Type` to a request with a body.
    ///
    /// libcurl searches the list about a dozen times for each request, so it contains no needless lines.
    init(_ headers: HTTPHeaders, hasBody: Bool) {
        var lines = Lines()
        for field in headers where !field.isWrittenByTransport {
            lines.append(field)
        }
        for name in ["Expect", "Content-Type"] where hasBody && !headers.contains(where: { $0.isNamed(name) }) {
            lines.append(omitted: name)
        }
        first = Self.layOut(lines)
    }

    deinit {
        first?.deallocate()
    }

    private static func layOut(_ lines: Lines) -> UnsafeRawPointer? {
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

/// Header lines in the form that libcurl reads, each with a NUL at the end.
private struct Lines {
    private(set) var text: [UInt8] = []
    private(set) var starts: [Int] = []

    mutating func append(_ field: HTTPField) {
        starts.append(text.count)
        text.append(contentsOf: field.name.utf8)
        // libcurl omits a header of the form "Name:" or with a blank value, and sends an empty one for "Name;".
        guard field.value.utf8.contains(where: { !$0.isSpaceOrTab }) else {
            text.append(contentsOf: [UInt8(ascii: ";"), 0])
            return
        }
        text.append(contentsOf: [UInt8(ascii: ":"), UInt8(ascii: " ")])
        field.appendBytes(to: &text)
        text.append(0)
    }

    mutating func append(omitted name: String) {
        starts.append(text.count)
        text.append(contentsOf: name.utf8)
        text.append(contentsOf: [UInt8(ascii: ":"), 0])
    }
}
#endif
