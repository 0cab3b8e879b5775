/// A line of a log, which is built from its parts without text between them: most of the cost of a line was growing it.
struct LogLine {
    private var bytes: [UInt8] = []

    init() {
        bytes.reserveCapacity(160)
    }

    /// The line.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    mutating func append(_ text: String, number: Int) {
        append(text)
        append(digitsOf: Int64(number))
    }

    /// Appends milliseconds, or seconds from ten seconds on, with one decimal.
    mutating func append(_ text: String, duration: Duration) {
        append(text)
        let (seconds, attoseconds) = duration.components
        let limited = min(max(seconds, 0), 1_000_000_000)
        let microseconds = limited * 1_000_000 + (seconds < 0 ? 0 : attoseconds / 1_000_000_000_000)
        if limited < 10 {
            append(tenths: microseconds / 100, " ms")
        } else {
            append(tenths: microseconds / 100_000, " s")
        }
    }

    /// Appends a number of bytes in a unit of 1, 1,000 or 1,000,000 bytes.
    mutating func append(_ text: String, size: Int64) {
        append(text)
        switch size {
        case ..<1_000:
            append(digitsOf: size)
            append(" B")
        case ..<1_000_000: append(tenths: size / 100, " KB")
        default: append(tenths: size / 100_000, " MB")
        }
    }

    /// Returns a duration as text.
    static func duration(_ duration: Duration) -> String {
        var line = LogLine()
        line.append("", duration: duration)
        return line.text
    }

    /// Returns a number of bytes as text.
    static func size(_ bytes: Int64) -> String {
        var line = LogLine()
        line.append("", size: bytes)
        return line.text
    }

    private mutating func append(tenths count: Int64, _ unit: String) {
        append(digitsOf: count / 10)
        append(".")
        append(digitsOf: count % 10)
        append(unit)
    }

    private mutating func append(digitsOf number: Int64) {
        guard number > 9 else { return number < 0 ? append(String(number)) : bytes.append(UInt8(0x30 + number)) }
        append(digitsOf: number / 10)
        bytes.append(UInt8(0x30 + number % 10))
    }
}
