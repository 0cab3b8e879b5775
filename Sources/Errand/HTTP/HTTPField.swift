/// One header line: a name, which is not case-sensitive, and a value.
public struct HTTPField: Sendable {
    /// The name in its original case.
    public let name: String
    /// The value as text: decoded as UTF-8 where the bytes are valid UTF-8, as ISO 8859-1 otherwise.
    public let value: String
    private let isLatin1: Bool

    /// Creates a field from text, which is validated before the request is sent.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
        isLatin1 = false
    }

    package init(_ name: String, bytes: some Collection<UInt8>) {
        self.name = name
        if let text = String(validating: bytes, as: UTF8.self) {
            value = text
            isLatin1 = false
        } else {
            value = String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
            isLatin1 = true
        }
    }

    /// As they are sent or were received.
    package var bytes: [UInt8] {
        isLatin1 ? value.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } : Array(value.utf8)
    }

    /// Without regard to case.
    package func isNamed(_ name: String) -> Bool {
        self.name.utf8.equalsIgnoringCase(name.utf8)
    }

    /// Whether the transport writes lines of this name itself: a wrong one would let the body be read as another request.
    package var isWrittenByTransport: Bool {
        isNamed("Content-Length") || isNamed("Transfer-Encoding") || isNamed("Host")
    }
}
