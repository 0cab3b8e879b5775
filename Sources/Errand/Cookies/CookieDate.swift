package import Foundation

/// Parses the dates of `Expires` (RFC 6265bis section 5.1.1), in which fields may have any order and separators.
package enum CookieDate {
    package static func parse(_ bytes: some Collection<UInt8>) -> Date? {
        var fields = Fields()
        for token in bytes.split(whereSeparator: isDelimiter) { fields.assign(token) }
        return fields.date
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }
}

private struct Fields {
    var time: (hour: Int, minute: Int, second: Int)?
    var day: Int?
    var month: Int?
    var year: Int?

    /// Assigns the token to the first missing field whose syntax it has.
    mutating func assign(_ token: some Collection<UInt8>) {
        if time == nil, let found = Self.time(token) {
            time = found
        } else if day == nil, let found = Self.number(token, digits: 1...2) {
            day = found
        } else if month == nil, let found = Self.month(token) {
            month = found
        } else if year == nil, let found = Self.number(token, digits: 2...4) {
            year = found
        }
    }

    var date: Date? {
        guard let time, let day, let month, var year else { return nil }
        if (70...99).contains(year) { year += 1900 }
        if (0...69).contains(year) { year += 2000 }
        guard year >= 1601, time.hour <= 23, time.minute <= 59, time.second <= 59 else { return nil }
        let first = Self.days(before: year, month)
        let length = Self.days(before: month == 12 ? year + 1 : year, month % 12 + 1) - first
        guard (1...length).contains(day) else { return nil }
        let seconds = time.hour * 3_600 + time.minute * 60 + time.second
        return Date(timeIntervalSince1970: Double(first + day - 1) * 86_400 + Double(seconds))
    }

    /// Returns the number of days from 1970 to the first of a month, in the Gregorian calendar; not by `timegm`, which has no later
    /// time than that of 2038 on a device of 32 bits.
    private static func days(before year: Int, _ month: Int) -> Int {
        // In years that begin in March.
        let (year, month) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
        return 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 - 719_468
    }

    private static func time(_ token: some Collection<UInt8>) -> (hour: Int, minute: Int, second: Int)? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].allSatisfy(\.isASCIIDigit), parts[1].allSatisfy(\.isASCIIDigit),
            let hour = number(parts[0], digits: 1...2), let minute = number(parts[1], digits: 1...2),
            let second = number(parts[2], digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    private static func month(_ token: some Collection<UInt8>) -> Int? {
        guard token.count >= 3 else { return nil }
        let name = token.prefix(3).map(\.asciiLowercased)
        return months.firstIndex(of: name).map { $0 + 1 }
    }

    /// The number at the beginning of a token.
    private static func number(_ token: some Collection<UInt8>, digits: ClosedRange<Int>) -> Int? {
        let leading = token.prefix(while: \.isASCIIDigit)
        guard digits.contains(leading.count) else { return nil }
        return leading.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ].map { Array($0.utf8) }
}
