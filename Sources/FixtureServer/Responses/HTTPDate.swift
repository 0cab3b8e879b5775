import Foundation

/// The dates of header lines, such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
enum HTTPDate {
    /// The current date.
    static var now: String { text(time(nil)) }

    /// Returns the date that is this many seconds after 1970.
    static func text(_ seconds: Int) -> String {
        var (time, parts) = (time_t(seconds), tm())
        gmtime_r(&time, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress,
                strftime(start, buffer.count, "%a, %d %b %Y %H:%M:%S GMT", &parts) > 0
            else { return "" }
            return String(cString: start)
        }
    }
}
