#if os(Linux)
import Foundation

/// The URL of a request, divided into what libcurl needs.
struct CurlURL {
    let text: String
    /// Requests share a connection only when these are equal.
    let origin: String
    /// RFC 9112 section 3.2.1; never empty.
    let target: String
    let isSecure: Bool

    init(_ url: URL) {
        text = url.absoluteString
        isSecure = text.utf8.dropFirst("http".utf8.count).first != UInt8(ascii: ":")
        let authority = text.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst("://".utf8.count)
        // RFC 3986 section 3.2.
        let rest = authority.drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        origin = String(text[..<rest.startIndex])
        let target = String(Substring(rest.prefix { $0 != UInt8(ascii: "#") }))
        self.target = target.hasPrefix("/") ? target : "/" + target
    }
}

/// The header lines of a request in libcurl's list layout, in one allocation that is freed with this value.
struct CurlHeaderList: ~Copyable {
    /// `struct curl_slist`.
    private struct Node {
        let text: UnsafeMutableRawPointer
        var next: UnsafeMutablePointer<Node>?
    }

    /// libcurl reads the list until the transfer ends.
    let first: UnsafeRawPointer?

    /// Prevents libcurl from adding `Expect` and `Content-Type` to a request with a body.
    ///
    /// libcurl searches the list about a dozen times for each request, so it contains no needless lines.
    init(_ headers: HTTPHeaders, hasBody: Bool) {
        var lines = headers.filter { !$0.isWrittenByTransport }.map(\.curlLine)
        for name in ["Expect", "Content-Type"] where hasBody && headers[name] == nil {
            // libcurl then omits its own line.
            lines.append(Array("\(name):".utf8) + [0])
        }
        first = Self.layOut(lines)
    }

    deinit {
        first?.deallocate()
    }

    private static func layOut(_ lines: [[UInt8]]) -> UnsafeRawPointer? {
        guard !lines.isEmpty else { return nil }
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: lines.count * MemoryLayout<Node>.stride + lines.reduce(0) { $0 + $1.count },
            alignment: MemoryLayout<Node>.alignment
        )
        let nodes = memory.bindMemory(to: Node.self, capacity: lines.count)
        var text = UnsafeMutableRawPointer(nodes + lines.count)
        for (index, line) in lines.enumerated() {
            text.copyMemory(from: line, byteCount: line.count)
            let isLast = index == lines.count - 1
            (nodes + index).initialize(to: Node(text: text, next: isLast ? nil : nodes + index + 1))
            text += line.count
        }
        return UnsafeRawPointer(memory)
    }
}

extension HTTPField {
    /// With a NUL at the end.
    fileprivate var curlLine: [UInt8] {
        // libcurl omits a header of the form "Name:" or with a blank value, and sends an empty one for "Name;".
        let isBlank = value.utf8.allSatisfy(\.isSpaceOrTab)
        return isBlank ? Array("\(name);".utf8) + [0] : Array("\(name): ".utf8) + bytes + [0]
    }
}
#endif
