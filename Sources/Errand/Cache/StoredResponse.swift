import Foundation

/// What is stored of a response, without its body, and what it was the response to.
struct StoredResponse: Sendable {
    var status: Int
    /// Without the lines that belong to a connection.
    var headers: HTTPHeaders
    /// The URL that sent it, after redirects.
    var url: URL
    /// The lines of its request that it varies by, in the order of their names.
    let selection: CacheSelection
    var requestDate: Date
    var responseDate: Date
    /// Whether response adapters have changed it already.
    var isAdapted = false
    var bodyLength: Int64 = 0

    var isSuccess: Bool { (200..<300).contains(status) }

    /// Whether it does not vary by a line in which the request differs.
    func matches(_ request: HTTPRequest) -> Bool {
        selection.matches(request, language: headers["Content-Language"])
    }

    /// Whether its request was sent later; false if the clock was set back since.
    func isNewer(than other: StoredResponse) -> Bool {
        requestDate > other.requestDate && responseDate <= other.responseDate
    }

    // MARK: Age and freshness

    /// RFC 9111 section 4.2.3; `nil` when the clock shows an earlier date than that of the response, so that it is not known.
    func age(at date: Date) -> Duration? {
        let resident = date.timeIntervalSince(responseDate)
        guard resident >= 0 else { return nil }
        return .seconds(initialAge + resident)
    }

    private var initialAge: TimeInterval {
        let apparent = responseDate.timeIntervalSince(self.date)
        let sent = headers.listElements(of: "Age").first.map { String(decoding: $0, as: UTF8.self) }
        let age = TimeInterval(CacheControl.seconds(sent) ?? 0)
        return max(0, apparent, age + max(0, responseDate.timeIntervalSince(requestDate)))
    }

    /// RFC 9111 section 4.2.1; 0 for an invalid date, and `nil` if the server says nothing.
    func explicitLifetime(_ control: CacheControl) -> Duration? {
        if let seconds = control.seconds("max-age") { return .seconds(seconds) }
        let lines = headers.values("Expires")
        guard let first = lines.first else { return nil }
        guard lines.allSatisfy({ $0 == first }), let end = HTTPDate.parse(first) else { return .zero }
        return .seconds(max(0, end.timeIntervalSince(self.date)))
    }

    /// A tenth of the time since the last change, at most a day (RFC 9111 section 4.2.2).
    func heuristicLifetime(_ control: CacheControl) -> Duration {
        guard isHeuristicallyCacheable(control), let modified else { return .zero }
        let age = date.timeIntervalSince(modified)
        return .seconds(min(max(0, age / 10), 86_400))
    }

    /// RFC 9110 section 15.1, and what is said to be cacheable.
    func isHeuristicallyCacheable(_ control: CacheControl) -> Bool {
        [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501].contains(status) || control.contains("public")
    }

    /// When the server made it; without `Date`, when it arrived (RFC 9110 section 6.6.1).
    var date: Date { headers["Date"].flatMap(HTTPDate.parse) ?? responseDate }
    var modified: Date? { headers["Last-Modified"].flatMap(HTTPDate.parse) }

    // MARK: Validation

    /// Returns the lines that ask whether it is still valid; `nil` without a validator (RFC 9111 section 4.3.1).
    var conditions: HTTPHeaders? {
        let (tag, modified) = (headers["ETag"], headers["Last-Modified"])
        let lines: HTTPHeaders = [
            "If-None-Match": tag?.isPrintableASCII == true ? tag : nil,
            "If-Modified-Since": modified?.isPrintableASCII == true ? modified : nil,
        ]
        return lines.isEmpty ? nil : lines
    }

    /// Returns this response with the lines of a 304, or of a response to `HEAD`; `nil` if that is of another version (RFC 9111
    /// sections 3.2, 4.3.4 and 4.3.5).
    func updated(by lines: HTTPHeaders, requestDate: Date, responseDate: Date) -> StoredResponse? {
        if let tag = lines["ETag"] {
            let own = headers["ETag"]
            let isSame =
                tag.hasPrefix("\"") ? own == tag : own.map { $0.withoutWeakMark == tag.withoutWeakMark } != false
            guard isSame else { return nil }
        }
        var updated = self
        let new = lines.storable.without(["Content-Length", "Content-Encoding", "Content-Range", "Content-Type"])
        updated.headers = HTTPHeaders(Array(headers.without(new.map(\.name))) + new)
        // The age is that of the new message.
        if new["Age"] == nil { updated.headers.remove("Age") }
        if lines["Date"] == nil { updated.headers.remove("Date") }
        (updated.requestDate, updated.responseDate) = (requestDate, responseDate)
        return updated
    }

    /// Returns whether a response to `HEAD` is one of this representation (RFC 9111 section 4.3.5).
    func isSameRepresentation(as lines: HTTPHeaders) -> Bool {
        ["ETag", "Last-Modified", "Content-Length"].allSatisfy { lines[$0] == nil || lines[$0] == headers[$0] }
    }

    /// Returns whether the request's own conditions say that its sender has this response (RFC 9110 section 13.2.2).
    func isNotModified(for request: HTTPRequest) -> Bool {
        guard status == 200 else { return false }
        let tags = request.headers.listElements(of: "If-None-Match").map { String(decoding: $0, as: UTF8.self) }
        guard tags.isEmpty else {
            guard let tag = headers["ETag"] else { return false }
            return tags.contains { $0 == "*" || $0.withoutWeakMark == tag.withoutWeakMark }
        }
        guard let since = request.headers["If-Modified-Since"].flatMap(HTTPDate.parse) else { return false }
        return (modified ?? date) <= since
    }
}

extension StoredResponse {
    /// `nil` for a response that varies by what no request can repeat.
    init?(
        _ response: APIResponse,
        to request: HTTPRequest,
        requestDate: Date,
        responseDate: Date
    ) {
        guard let selection = CacheSelection(request, by: response.headers) else { return nil }
        (status, headers) = (response.status, response.headers.storable)
        (url, self.selection) = (response.url, selection)
        (self.requestDate, self.responseDate) = (requestDate, responseDate)
        bodyLength = Int64(response.body.count)
    }
}

extension String {
    /// RFC 9110 section 8.8.3.2.
    fileprivate var withoutWeakMark: Substring { hasPrefix("W/") ? dropFirst(2) : self[...] }
}

extension HTTPHeaders {
    /// Without what RFC 9111 section 3.1 excludes: lines of a connection, and those that `no-cache` or `Connection` names.
    var storable: HTTPHeaders {
        let named = listElements(of: "Connection").map { String(decoding: $0, as: UTF8.self) }
        let excluded = Self.ofConnection + named + (CacheControl(self).names(in: "no-cache") ?? [])
        return without(excluded)
    }

    /// In linear time, because a server may send thousands of names and lines.
    fileprivate func without(_ names: [String]) -> HTTPHeaders {
        let names = Set(names.map { $0.lowercased() })
        return HTTPHeaders(filter { !names.contains($0.name.lowercased()) })
    }

    private static let ofConnection = [
        "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
        "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
    ]
}

/// A range of the bytes of a representation, and its length (RFC 9110 section 14).
struct StoredRange: Equatable {
    var first: Int64
    var last: Int64
    let length: Int64

    var contentRange: String { "bytes \(first)-\(last)/\(length)" }
    var isWhole: Bool { first == 0 && last == length - 1 }
}

extension StoredRange {
    /// From the `Content-Range` of a 206.
    init?(contentRange text: String) {
        guard let match = text.wholeMatch(of: /bytes (\d+)-(\d+)\/(\d+)/.ignoresCase()), let first = Int64(match.1),
            let last = Int64(match.2), let length = Int64(match.3), first <= last, last < length
        else { return nil }
        (self.first, self.last, self.length) = (first, last, length)
    }

    /// From the one range of a `Range`; `nil` if there is no such range in a representation of this length.
    init?(range text: String, length: Int64) {
        guard text.hasPrefix("bytes="), length > 0 else { return nil }
        let ends = text.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy(\.isASCIIDigit) }) else { return nil }
        switch (Int64(ends[0]), Int64(ends[1])) {
        case (nil, let count?) where ends[0].isEmpty && count > 0: (first, last) = (max(0, length - count), length - 1)
        case (let first?, nil) where ends[1].isEmpty: (self.first, last) = (first, length - 1)
        case (let first?, let last?): (self.first, self.last) = (first, min(last, length - 1))
        default: return nil
        }
        self.length = length
        guard first <= last else { return nil }
    }
}

extension StoredResponse {
    /// The bytes that are stored of the representation; `nil` unless they are known to be those of its form on the wire.
    var storedRange: StoredRange? {
        guard bodyLength > 0, headers["Content-Encoding"] == nil else { return nil }
        guard status == 206 else {
            guard status == 200 else { return nil }
            return StoredRange(first: 0, last: bodyLength - 1, length: bodyLength)
        }
        guard var range = headers["Content-Range"].flatMap(StoredRange.init(contentRange:)) else { return nil }
        // The server may have sent less than it has said.
        range.last = range.first + min(range.last - range.first, bodyLength - 1)
        return range
    }

    /// Whether it is one of the same part of the representation that the request asks for.
    func answers(_ request: HTTPRequest) -> Bool {
        guard request.headers["If-Match"] == nil, request.headers["If-Unmodified-Since"] == nil else { return false }
        // It would have to be followed.
        guard !request.mayFollow(status) else { return false }
        guard let range = request.headers["Range"] else { return status != 206 }
        guard request.method == .get, part(for: range) != nil else { return false }
        guard let validator = request.headers["If-Range"] else { return true }
        return validator.hasPrefix("\"") && validator == headers["ETag"]
    }

    /// Returns what is requested, if all of it is stored.
    func part(for range: String) -> StoredRange? {
        guard let stored = storedRange, let part = StoredRange(range: range, length: stored.length),
            stored.first <= part.first, part.last <= stored.last
        else { return nil }
        return part
    }
}

/// The dates of header lines (RFC 9110 section 5.6.7), read more strictly than ``CookieDate``: what is no date means stale.
enum HTTPDate {
    static func parse(_ text: String) -> Date? {
        let bytes = Array(text.utf8)
        // After the name of the day.
        let rest = bytes.drop(while: \.isASCIILetter)
        let isDate =
            hasShape(bytes[...], "aaa aaa _0 00:00:00 0000")
            || rest.startIndex == 3 && hasShape(rest, ", 00 aaa 0000 00:00:00 GMT")
            || rest.startIndex > 3 && hasShape(rest, ", 00-aaa-00 00:00:00 GMT")
        return isDate ? CookieDate.parse(bytes) : nil
    }

    /// In a shape, `a` is a letter, `0` a digit, and `_` a digit or a space.
    private static func hasShape(_ bytes: ArraySlice<UInt8>, _ shape: String) -> Bool {
        guard bytes.count == shape.utf8.count else { return false }
        return zip(bytes, shape.utf8).allSatisfy { byte, kind in
            switch kind {
            case UInt8(ascii: "a"): byte.isASCIILetter
            case UInt8(ascii: "0"): byte.isASCIIDigit
            case UInt8(ascii: "_"): byte.isASCIIDigit || byte == UInt8(ascii: " ")
            default: byte.asciiLowercased == kind.asciiLowercased
            }
        }
    }
}
