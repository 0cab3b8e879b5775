import Foundation

/// For which day, region and service a signature is valid, and the moment at which it is made.
struct CredentialScope: Sendable {
    /// The moment in UTC, as `20150830T123600Z`.
    let moment: String
    /// The day, the region and the service, as `20150830/us-east-1/iam/aws4_request`.
    let text: String
    /// The day, as `20150830`.
    var day: Substring { moment.prefix(8) }

    init(_ date: Date, region: String, service: String) {
        moment = Self.text(of: date)
        text = "\(moment.prefix(8))/\(region)/\(service)/aws4_request"
    }

    /// Creates the scope of a moment whose day, region and service are known as text.
    init(_ date: Date, text: String) {
        moment = Self.text(of: date)
        self.text = text
    }

    /// Returns the number of days since 1970.
    static func day(of date: Date) -> Int { Int(seconds(of: date).floorDivided(by: 86_400)) }

    /// Returns the whole seconds since 1970, as far as years have four digits.
    private static func seconds(of date: Date) -> Int64 {
        Int64(min(max(date.timeIntervalSince1970, -62_167_219_200), 253_402_300_799).rounded(.down))
    }

    /// Returns a moment in the basic format of ISO 8601, in UTC and in whole seconds.
    static func text(of date: Date) -> String {
        let seconds = seconds(of: date)
        let days = seconds.floorDivided(by: 86_400)
        let (year, month, day) = civil(days: Int(days))
        let time = Int(seconds - days * 86_400)
        return String(unsafeUninitializedCapacity: 16) { buffer in
            buffer.write(year, digits: 4, at: 0)
            buffer.write(month, digits: 2, at: 4)
            buffer.write(day, digits: 2, at: 6)
            buffer[8] = UInt8(ascii: "T")
            buffer.write(time / 3_600, digits: 2, at: 9)
            buffer.write(time / 60 % 60, digits: 2, at: 11)
            buffer.write(time % 60, digits: 2, at: 13)
            buffer[15] = UInt8(ascii: "Z")
            return 16
        }
    }

    /// Returns the date in the Gregorian calendar of a number of days since 1970.
    private static func civil(days: Int) -> (year: Int, month: Int, day: Int) {
        // In years that begin in March, of periods of 400 years that begin in the year 0.
        let shifted = days + 719_468
        let period = shifted.floorDivided(by: 146_097)
        let dayOfPeriod = shifted - period * 146_097
        let year = (dayOfPeriod - dayOfPeriod / 1_460 + dayOfPeriod / 36_524 - dayOfPeriod / 146_096) / 365
        let dayOfYear = dayOfPeriod - (365 * year + year / 4 - year / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        return (year + period * 400 + (month >= 10 ? 1 : 0), month < 10 ? month + 3 : month - 9, day)
    }
}

extension SignedInteger {
    fileprivate func floorDivided(by divisor: Self) -> Self {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}

extension UnsafeMutableBufferPointer<UInt8> {
    fileprivate func write(_ number: Int, digits: Int, at position: Int) {
        var rest = number
        for index in (position..<position + digits).reversed() {
            self[index] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
    }
}
