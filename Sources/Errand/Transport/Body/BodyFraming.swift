/// How the head of an answer describes the body: its length and the codings around it.
struct BodyFraming {
    /// The most codings that one body may have, content and transfer codings together.
    ///
    /// Each one multiplies what a few bytes may decode to.
    static let codingLimit = 2

    /// The elements of `Content-Length`.
    private var lengths: [String] = []
    /// The elements of `Content-Encoding`, in lower case.
    private var contentCodings: [String] = []
    /// The elements of `Transfer-Encoding`, in lower case.
    private var transferCodings: [String] = []

    /// Creates the framing of a head without lines.
    init() {}

    /// Creates the framing that `headers` describe.
    init(_ headers: HTTPHeaders) {
        for field in headers { add(name: field.name.utf8, value: field.value.utf8) }
    }

    /// Adds a header line, if it describes the body.
    mutating func add(name: some Collection<UInt8>, value: some BidirectionalCollection<UInt8>) {
        switch name.count {
        case 14 where name.isASCII("content-length"): lengths += value.listElements
        case 16 where name.isASCII("content-encoding"): contentCodings += value.listElements
        case 17 where name.isASCII("transfer-encoding"): transferCodings += value.listElements
        default: break
        }
    }

    /// Whether the content is coded.
    var hasContentCoding: Bool { !appliedContentCodings.isEmpty }

    private var appliedContentCodings: [String] { contentCodings.filter { !$0.isEmpty && $0 != "identity" } }

    /// The number of bytes that the head announces; `nil` for none, and where a transfer coding overrides it.
    ///
    /// - Throws: ``TransportError/Kind/badResponse`` when there are several that differ, or one that is no number: the
    ///   body could end anywhere (RFC 9112 section 6.3).
    func contentLength() throws(TransportError) -> Int64? {
        guard let text = lengths.first else { return nil }
        guard let length = Int64(text), text.utf8.first != UInt8(ascii: "+"), length >= 0,
            lengths.allSatisfy({ $0 == text })
        else { throw TransportError(.badResponse, "the answer contradicts itself about its length") }
        return transferCodings.isEmpty ? length : nil
    }

    /// The codings to undo, in that order: the transfer's before the content's, and of each the last one first.
    ///
    /// A content coding that `canDecode` does not know stays, and so do those that it encloses.
    ///
    /// - Throws: ``TransportError/Kind/badResponse`` when there are more than ``codingLimit``, when a transfer coding is
    ///   not known, or when the end of the body is ambiguous.
    func codings(_ canDecode: (ContentCoding) -> Bool) throws(TransportError) -> [ContentCoding] {
        let content = appliedContentCodings
        let transfer = try appliedTransferCodings()
        guard transfer.count + content.count <= Self.codingLimit else {
            throw TransportError(.badResponse, "the body is coded more than \(Self.codingLimit) times")
        }
        let decodable = { (name: String) in ContentCoding(named: name).flatMap { canDecode($0) ? $0 : nil } }
        let transferSteps = transfer.reversed().compactMap(decodable)
        guard transferSteps.count == transfer.count else {
            throw TransportError(.badResponse, "a transfer coding of the body is not known")
        }
        return transferSteps + content.reversed().map(decodable).prefix { $0 != nil }.compactMap(\.self)
    }

    /// The transfer codings without `chunked`, which has to be the last one (RFC 9112 section 6.1).
    ///
    /// `identity`, which RFC 7230 withdrew, may only be alone: libcurl's versions differ on what it means beside others.
    private func appliedTransferCodings() throws(TransportError) -> [String] {
        var codings = transferCodings.filter { !$0.isEmpty }
        if codings == ["identity"] { return [] }
        let isChunked = codings.last == "chunked"
        if isChunked { codings.removeLast() }
        guard !codings.contains("chunked"), isChunked || codings.isEmpty || lengths.isEmpty else {
            throw TransportError(.badResponse, "the answer contradicts itself about where its body ends")
        }
        return codings
    }
}

extension HTTPMethod {
    /// Whether an answer with `status` to this method has a body (RFC 9110 section 6.4.1).
    func isAnsweredWithBody(_ status: Int) -> Bool {
        self != .head && status != 204 && status != 304
    }
}

extension Collection<UInt8> {
    /// Whether these bytes are `text`, which is in lower case, in any case.
    func isASCII(_ text: StaticString) -> Bool {
        count == text.utf8CodeUnitCount
            && zip(self, UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
                .allSatisfy { $0.asciiLowercased == $1 }
    }
}

extension BidirectionalCollection<UInt8> {
    /// The elements of a comma-separated value, without blanks around them and in lower case.
    fileprivate var listElements: [String] {
        split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { element in
            String(decoding: element, as: UTF8.self).trimmingBlanks.lowercased()
        }
    }
}
