extension Response {
    /// Returns a response that honours `If-None-Match`, `If-Match`, `If-Range` and one `Range` (RFC 9110 sections 13,
    /// 14).
    ///
    /// A request for several ranges is served with the whole source, which RFC 9110 permits.
    package static func representation(
        of source: ByteSource,
        etag: String? = nil,
        headers: HeaderLines = [:],
        to request: RecordedRequest
    ) -> Response {
        let tag = etag.map { HeaderLines([HeaderLine("ETag", $0)]) } ?? [:]
        if let etag, let refusal = precondition(etag, request, tag) { return refusal }
        let headers = headers + tag + ["Accept-Ranges": "bytes"]
        let length = source.length
        let condition = request.header("If-Range")
        let range = condition == nil || condition == etag ? request.header("Range") : nil
        switch ByteRange(range, length: length) {
        case .whole:
            return .stream(source, headers: headers)
        case .part(let range):
            let lines: HeaderLines = [
                "Content-Range": "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)",
                "Content-Length": String(range.count),
            ]
            return Response(status: 206, headers: headers + lines, steps: [.stream(source, range)])
        case .unsatisfiable:
            return .status(416, headers: headers + ["Content-Range": "bytes */\(length)"])
        }
    }

    private static func precondition(_ etag: String, _ request: RecordedRequest, _ tag: HeaderLines) -> Response? {
        if let wanted = request.header("If-Match"), !lists(wanted, etag) { return .status(412, headers: tag) }
        if let known = request.header("If-None-Match"), lists(known, etag) { return .status(304, headers: tag) }
        return nil
    }

    private static func lists(_ header: String, _ etag: String) -> Bool {
        let tags = header.split(separator: ",").map { $0.drop { $0 == " " } }
        return tags.contains { $0 == "*" || $0 == etag || $0 == "W/\(etag)" }
    }
}

/// The value of a `Range` header (RFC 9110 section 14.1.2).
enum ByteRange: Equatable {
    case whole
    case part(Range<Int64>)
    case unsatisfiable

    /// Parses `bytes=first-last`, `bytes=first-` or `bytes=-count`; anything else is a request for the whole.
    init(_ header: String?, length: Int64) {
        self = .whole
        guard let header, header.hasPrefix("bytes=") else { return }
        let ends = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return }
        switch (Int64(ends[0]), Int64(ends[1])) {
        case (let first?, let last?) where first <= last:
            self.init(from: first, to: min(last, length - 1))
        case (let first?, nil) where ends[1].isEmpty:
            self.init(from: first, to: length - 1)
        case (nil, let count?) where ends[0].isEmpty:
            self.init(from: count > 0 ? max(0, length - count) : length, to: length - 1)
        default:
            return
        }
    }

    private init(from first: Int64, to last: Int64) {
        self = first <= last ? .part(first..<last + 1) : .unsatisfiable
    }
}
