/// A coding of HTTP that the library can decode (RFC 9110 section 8.4.1), also as a transfer coding (RFC 9112 section 7.2).
enum ContentCoding: String, CaseIterable {
    case gzip
    case deflate
    case brotli = "br"
    case zstd

    /// `name` is in lower case.
    init?(named name: String) {
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    /// Whether another coded stream may follow the first one (RFC 1952 section 2.2, RFC 8878 section 3).
    var allowsMembers: Bool { self == .gzip || self == .zstd }
}

/// The length of a response's body, and the codings to decode.
struct BodyLayout {
    /// As it is transferred; `nil` when unknown, and for a response without a body.
    var contentLength: Int64?
    var codings: [ContentCoding] = []
    var decodedLength: Int64? { codings.isEmpty ? contentLength : nil }
}

/// The header lines that describe the body of a response.
struct BodyFraming {
    /// The most codings that one body may have, content and transfer codings together.
    ///
    /// Each one multiplies the size to which a few bytes can be decoded.
    static let codingLimit = 2

    private var lengths: [String] = []
    /// In lower case.
    private var contentCodings: [String] = []
    /// In lower case.
    private var transferCodings: [String] = []

    init() {}

    init(_ headers: HTTPHeaders) {
        for field in headers { add(name: field.name.utf8, value: field.value.utf8) }
    }

    /// Ignores a header line that does not describe the body.
    mutating func add(name: some Collection<UInt8>, value: some BidirectionalCollection<UInt8>) {
        if name.equalsIgnoringCase("content-length") { lengths += value.listElements }
        if name.equalsIgnoringCase("content-encoding") { contentCodings += value.listElements }
        if name.equalsIgnoringCase("transfer-encoding") { transferCodings += value.listElements }
    }

    var hasContentCoding: Bool { !appliedContentCodings.isEmpty }

    private var appliedContentCodings: [String] { contentCodings.filter { !$0.isEmpty && $0 != "identity" } }

    /// A response without a body is not checked for codings.
    func layout(hasBody: Bool, canDecode: (ContentCoding) -> Bool) throws(TransportError) -> BodyLayout {
        let length = try contentLength()
        return hasBody ? BodyLayout(contentLength: length, codings: try codings(canDecode)) : BodyLayout()
    }

    /// `nil` where a transfer coding overrides `Content-Length`.
    ///
    /// Throws when there are different values, or one that is not a number: the end of the body is unknown (RFC 9112 section 6.3).
    func contentLength() throws(TransportError) -> Int64? {
        guard let text = lengths.first else { return nil }
        guard let length = Int64(text), text.utf8.first != UInt8(ascii: "+"), length >= 0,
            lengths.allSatisfy({ $0 == text })
        else { throw TransportError(.badResponse, "the response contradicts itself about its length") }
        return transferCodings.isEmpty ? length : nil
    }

    /// Transfer codings before content codings, and of each the last one first.
    ///
    /// A content coding for which `canDecode` returns `false` is not decoded, and neither are those that it encloses.
    func codings(_ canDecode: (ContentCoding) -> Bool) throws(TransportError) -> [ContentCoding] {
        let content = appliedContentCodings
        let transfer = try appliedTransferCodings()
        guard transfer.count + content.count <= Self.codingLimit else {
            throw TransportError(.badResponse, "the body is coded more than \(Self.codingLimit) times")
        }
        let decodable = { (name: String) in ContentCoding(named: name).flatMap { canDecode($0) ? $0 : nil } }
        let transferSteps = transfer.reversed().compactMap(decodable)
        guard transferSteps.count == transfer.count else {
            throw TransportError(.badResponse, "a transfer coding of the body is unknown")
        }
        return transferSteps + content.reversed().map(decodable).prefix { $0 != nil }.compactMap(\.self)
    }

    /// Returns the transfer codings without `chunked`, which must be the last one (RFC 9112 section 6.1).
    ///
    /// `identity`, which RFC 7230 removed, is allowed only without others: libcurl's versions interpret the combination
    /// differently.
    private func appliedTransferCodings() throws(TransportError) -> [String] {
        var codings = transferCodings.filter { !$0.isEmpty }
        if codings == ["identity"] { return [] }
        let isChunked = codings.last == "chunked"
        if isChunked { codings.removeLast() }
        guard !codings.contains("chunked"), isChunked || codings.isEmpty || lengths.isEmpty else {
            throw TransportError(.badResponse, "the response contradicts itself about where its body ends")
        }
        return codings
    }
}

extension HTTPMethod {
    /// RFC 9110 section 6.4.1.
    package func allowsResponseBody(_ status: Int) -> Bool {
        self != .head && status != 204 && status != 304
    }
}

extension BidirectionalCollection<UInt8> {
    /// In lower case and without surrounding blanks.
    fileprivate var listElements: [String] {
        split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { element in
            String(decoding: element.trimmingBlanks.lazy.map(\.asciiLowercased), as: UTF8.self)
        }
    }
}
