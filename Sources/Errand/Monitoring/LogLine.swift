/// A line of a log, which is written into memory of its final size: most of the cost of a line was growing it.
struct LogLine: ~Copyable {
    /// More bytes than five numbers and what is written around them.
    static let roomForNumbers = 192

    private let memory: UnsafeMutableBufferPointer<UInt8>
    private var count = 0

    private init(_ memory: UnsafeMutableBufferPointer<UInt8>) {
        self.memory = memory
    }

    /// Returns the line that `write` appends to; what does not fit is cut.
    static func text(capacity: Int = roomForNumbers, _ write: (inout LogLine) -> Void) -> String {
        String(unsafeUninitializedCapacity: capacity) { memory in
            var line = LogLine(memory)
            write(&line)
            return line.count
        }
    }

    /// Returns a duration as text.
    static func duration(_ duration: Duration) -> String { text { $0.append("", duration: duration) } }

    /// Returns a number of bytes as text.
    static func size(_ bytes: Int64) -> String { text { $0.append("", size: bytes) } }

    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append($0) }
    }

    mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(_ text: StaticString, number: Int) {
        append(text)
        append(digitsOf: Int64(number))
    }

    /// Appends milliseconds, or seconds from ten seconds on, with one decimal.
    mutating func append(_ text: StaticString, duration: Duration) {
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
    mutating func append(_ text: StaticString, size: Int64) {
        append(text)
        switch size {
        case ..<1_000:
            append(digitsOf: size)
            append(" B")
        case ..<1_000_000: append(tenths: size / 100, " KB")
        default: append(tenths: size / 100_000, " MB")
        }
    }

    private mutating func append(tenths count: Int64, _ unit: StaticString) {
        append(digitsOf: count / 10)
        append(".")
        append(digitsOf: count % 10)
        append(unit)
    }

    private mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        let fitting = UnsafeBufferPointer(rebasing: bytes.prefix(memory.count - count))
        count = memory[count...].initialize(fromContentsOf: fitting)
    }

    private mutating func append(digitsOf number: Int64) {
        var (length, rest) = (1, number)
        while rest > 9 { (length, rest) = (length + 1, rest / 10) }
        guard number >= 0, length <= memory.count - count else { return append(String(number)) }
        rest = number
        for index in (count..<count + length).reversed() {
            memory[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        count += length
    }
}
