import Foundation

/// Splits bytes into lines as they arrive, wherever they are cut: a line ends with LF or CRLF, the last one also without.
struct LineSplitter {
    private static let lineFeed = UInt8(ascii: "\n")

    /// In bytes, of one line.
    private let limit: Int
    private var line: [UInt8] = []
    /// The number of the newest complete line.
    private var count = 0

    init(limit: Int) { self.limit = limit }

    mutating func split(
        _ bytes: UnsafeRawBufferPointer,
        _ receive: (UnsafeRawBufferPointer, _ number: Int) throws(APIError) -> Void
    ) throws(APIError) {
        var rest = bytes
        while let end = rest.firstIndex(of: Self.lineFeed) {
            let part = UnsafeRawBufferPointer(rebasing: rest[..<end])
            rest = rest.dropping(end + 1)
            guard !line.isEmpty else {
                try checkSize(part.count)
                count += 1
                try receive(part.withoutReturn, count)
                continue
            }
            try keep(part)
            count += 1
            try flush(receive)
        }
        try keep(rest)
    }

    /// For a last line without an end.
    mutating func finish(_ receive: (UnsafeRawBufferPointer, _ number: Int) throws(APIError) -> Void) throws(APIError) {
        guard !line.isEmpty else { return }
        count += 1
        try flush(receive)
    }

    private mutating func keep(_ part: UnsafeRawBufferPointer) throws(APIError) {
        try checkSize(line.count + part.count)
        line += part
    }

    private func checkSize(_ size: Int) throws(APIError) {
        guard size > limit else { return }
        throw APIError(.responseTooLarge, reason: "line \(count + 1) is larger than \(limit) bytes")
    }

    private mutating func flush(
        _ receive: (UnsafeRawBufferPointer, _ number: Int) throws(APIError) -> Void
    ) throws(APIError) {
        let whole = exchange(&line, with: [])
        try whole.withUnsafeBytes { line in
            Result { () throws(APIError) in try receive(line.withoutReturn, count) }
        }.get()
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var withoutReturn: UnsafeRawBufferPointer {
        last == UInt8(ascii: "\r") ? UnsafeRawBufferPointer(rebasing: dropLast()) : self
    }
}
