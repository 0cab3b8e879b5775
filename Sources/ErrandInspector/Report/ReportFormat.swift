import Foundation

/// Formats the numbers of the report, in the same way on every system.
enum ReportFormat {
    /// A time with at most three significant digits, for example `0.42 ms`, `12.3 ms` or `1.20 s`.
    static func time(_ microseconds: Int64) -> String {
        let milliseconds = Double(microseconds) / 1_000
        return switch milliseconds {
        case 0: "0 ms"
        case ..<10: "\(fixed(milliseconds, digits: 2)) ms"
        case ..<100: "\(fixed(milliseconds, digits: 1)) ms"
        case ..<1_000: "\(fixed(milliseconds, digits: 0)) ms"
        case ..<60_000: "\(fixed(milliseconds / 1_000, digits: 2)) s"
        default: "\(fixed(milliseconds / 60_000, digits: 1)) min"
        }
    }

    /// A number of bytes in decimal units, as Apple's systems show it.
    static func bytes(_ count: Int64) -> String {
        switch count {
        case ..<1_000: "\(count) B"
        case ..<100_000: "\(fixed(Double(count) / 1_000, digits: 1)) kB"
        case ..<1_000_000: "\(fixed(Double(count) / 1_000, digits: 0)) kB"
        default: "\(fixed(Double(count) / 1_000_000, digits: 1)) MB"
        }
    }

    static func fixed(_ number: Double, digits: Int) -> String {
        String(format: "%.\(digits)f", number)
    }
}
