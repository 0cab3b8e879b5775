import Testing

/// What one transport does wrong, so that a test of the contract can name it instead of leaving the transport out.
struct KnownFault {
    /// Whose fault it is.
    let kind: TransportKind
    /// What goes wrong.
    let reason: String

    /// Runs `body`, whose failure is no surprise if `kind` has this fault; a later version of it may pass.
    func known(for kind: TransportKind, _ body: () async throws -> Void) async throws {
        try await withKnownIssue("\(self.kind): \(reason)", isIntermittent: true) {
            try await body()
        } when: {
            kind == self.kind
        }
    }
}

#if !canImport(Darwin)
/// The faults of Foundation's URLSession on Linux that no code above it can put right.
extension KnownFault {
    static let cutHead = urlSession("the process ends when the connection closes inside the header block")
    static let trailers = urlSession("the process ends when an answer has trailers")
    static let location = urlSession(
        "the process ends when a redirect goes to an IPv6 or escaped host without a scheme"
    )
    static let redirectBody = urlSession("the body of a 3xx without a usable Location is lost")
    static let headerSyntax = urlSession("a missing blank or reason, a bare LF and bytes beyond UTF-8 are refused")
    static let joinedLines = urlSession("header lines of one name are joined, and the order of lines is lost")
    static let bodyOfGet = urlSession("a GET with a body is refused")
    static let dotSegments = urlSession("dot segments of a path are resolved before it is sent")
    static let addressLiteral = urlSession("a URL with an IPv6 literal is refused")

    private static func urlSession(_ reason: String) -> KnownFault {
        KnownFault(kind: .urlSession, reason: reason)
    }
}

/// What `CurlTransport` does not do yet.
extension KnownFault {
    static let lengths = KnownFault(kind: .curl, reason: "of two different Content-Length lines the last one counts")
    static let downloadTotal = KnownFault(kind: .curl, reason: "the whole of a download is not told with its progress")
    static let uploadFile = KnownFault(kind: .curl, reason: "the file of a cancelled upload stays open")
}
#endif
