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
