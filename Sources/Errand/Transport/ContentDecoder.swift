#if os(Linux)
import Foundation

/// A content coding of HTTP that can be undone here (RFC 9110 section 8.4.1).
enum ContentCoding: String, CaseIterable {
    case gzip
    case deflate
    case brotli = "br"
    case zstd

    /// The codings whose library is in the process, as a value of `Accept-Encoding`; empty for none.
    static let accepted = allCases.filter(CurlDecoder.isAvailable).map(\.rawValue).joined(separator: ", ")

    /// Finds the coding that a server names, in lower case.
    init?(named name: String) {
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    /// Whether another coded stream may follow the first one (RFC 1952 section 2.2, RFC 8878 section 3).
    fileprivate var allowsMembers: Bool { self == .gzip || self == .zstd }
}

/// Undoes one content coding and notices a stream that was cut, which libcurl takes for a whole one.
final class ContentDecoder {
    private static let capacity = 65_536

    private let coding: ContentCoding
    private let decoder: CurlDecoder
    private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 1)
    private var step: CurlDecoder.Step?

    /// Makes ready for a stream; `nil` when the coding is not available.
    init?(_ coding: ContentCoding) {
        guard let decoder = CurlDecoder(coding) else { return nil }
        self.coding = coding
        self.decoder = decoder
    }

    deinit {
        decoder.free()
        output.deallocate()
    }

    /// Hands the decoded bytes of `input` on, part by part.
    ///
    /// - Throws: ``TransportError/Kind/badResponse``, or what `receive` throws.
    func decode(
        _ input: UnsafeRawBufferPointer,
        _ receive: (UnsafeRawBufferPointer) throws(TransportError) -> Void
    ) throws(TransportError) {
        var input = input
        var isFull = false
        while !input.isEmpty || isFull {
            guard step != .ended || coding.allowsMembers else { throw failure("has bytes behind its end") }
            let (step, count) = decoder.decode(&input, into: output)
            self.step = step
            guard step != .failed else { throw failure("is corrupt") }
            try receive(UnsafeRawBufferPointer(rebasing: output[..<count]))
            isFull = count == output.count && step == .more
        }
    }

    /// Checks that the stream has come to its end; one without any byte has.
    ///
    /// - Throws: ``TransportError/Kind/connectionLost`` when it was cut.
    func finish() throws(TransportError) {
        guard step != .more else { throw TransportError(.connectionLost, "the \(coding.rawValue) body was cut") }
    }

    private func failure(_ what: String) -> TransportError {
        TransportError(.badResponse, "the \(coding.rawValue) body \(what)")
    }
}
#endif
