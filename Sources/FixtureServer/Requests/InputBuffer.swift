/// Bytes that have arrived and have not been read.
struct InputBuffer {
    private static let keptCapacity = 16 << 10
    private var bytes: [UInt8] = []
    private var start = 0

    /// The number of unread bytes.
    var count: Int { bytes.count - start }

    /// Adds bytes at the end.
    mutating func append(_ new: UnsafeRawBufferPointer) {
        if start > 0, start > bytes.count / 2 {
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(contentsOf: new)
    }

    /// Marks bytes at the start as read.
    mutating func consume(_ count: Int) {
        start += count
        guard start == bytes.count else { return }
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity)
        start = 0
    }

    /// Removes all bytes.
    mutating func removeAll() {
        consume(count)
    }

    /// The unread bytes.
    func withUnread<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try bytes.withUnsafeBufferPointer { buffer throws(Failure) in
            try body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[start...]))
        }
    }

    /// Removes the empty lines that a client may send between requests (RFC 9112 section 2.2).
    mutating func dropEmptyLines() {
        while count > 0, bytes[start] == .carriageReturn || bytes[start] == .lineFeed { consume(1) }
    }

    /// Returns the position after the first empty line from `offset` on.
    ///
    /// Bare line feeds end a line here, and are refused by the parser.
    func endOfHead(from offset: Int) -> Int? {
        withUnread { bytes in
            var search = offset
            while let feed = bytes.firstIndex(of: .lineFeed, from: search) {
                search = feed + 1
                if search < bytes.count, bytes[search] == .lineFeed { return search + 1 }
                if search + 1 < bytes.count, bytes[search] == .carriageReturn, bytes[search + 1] == .lineFeed {
                    return search + 2
                }
            }
            return nil
        }
    }
}
