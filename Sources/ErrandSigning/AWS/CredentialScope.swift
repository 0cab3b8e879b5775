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

    /// Returns a moment in the basic format of ISO 8601, in UTC and in whole seconds, as far as years have four digits.
    static func text(of date: Date) -> String {
        let seconds = min(max(date.timeIntervalSince1970, -62_167_219_200), 253_402_300_799).rounded(.down)
        let style = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)
        return Date(timeIntervalSince1970: seconds).formatted(style)
    }
}
