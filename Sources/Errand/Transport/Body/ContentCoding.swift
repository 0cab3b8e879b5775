/// A coding of HTTP that can be undone here (RFC 9110 section 8.4.1), also as a transfer coding (RFC 9112 section 7.2).
enum ContentCoding: String, CaseIterable {
    case gzip
    case deflate
    case brotli = "br"
    case zstd

    /// Finds the coding that a server names, in lower case.
    init?(named name: String) {
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    /// Whether another coded stream may follow the first one (RFC 1952 section 2.2, RFC 8878 section 3).
    var allowsMembers: Bool { self == .gzip || self == .zstd }
}
