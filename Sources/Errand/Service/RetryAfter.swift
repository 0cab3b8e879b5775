import Foundation

extension HTTPHeaders {
    /// How long the server asks to wait (RFC 9110 section 10.2.3), at most `limit`; `nil` when it says nothing sensible.
    func retryAfter(at date: Date, limit: Duration) -> Duration? {
        guard let text = self["Retry-After"]?.trimmingCharacters(in: .whitespaces), !text.isEmpty else { return nil }
        if text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            // More digits than a number has are too long a wait all the same.
            return Swift.min(Int32(text).map { .seconds($0) } ?? limit, limit)
        }
        guard let moment = CookieDate.parse(text.utf8) else { return nil }
        let seconds = moment.timeIntervalSince(date)
        return Swift.min(.seconds(Swift.min(Swift.max(seconds, 0), 1e9)), limit)
    }
}
