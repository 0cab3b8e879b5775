import Foundation

/// A range of the bytes of a representation, and its length (RFC 9110 section 14).
struct StoredRange: Equatable {
    var first: Int64
    var last: Int64
    let length: Int64

    var contentRange: String { "bytes \(first)-\(last)/\(length)" }
}

extension StoredRange {
    /// From the `Content-Range` of a 206.
    init?(contentRange text: String) {
        let parts = text.split(whereSeparator: { $0 == " " || $0 == "-" || $0 == "/" })
        guard parts.count == 4, parts[0].lowercased() == "bytes", let first = Int64(parts[1]),
            let last = Int64(parts[2]),
            let length = Int64(parts[3]), 0 <= first, first <= last, last < length
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
