import Foundation

/// Ends the loop's wait, from any thread.
struct Waker: ~Copyable, Sendable {
    private let reading: Descriptor
    private let writing: Descriptor

    init() throws {
        let ends = try System.pipe()
        reading = Descriptor(ends.reading)
        writing = Descriptor(ends.writing)
    }

    /// The descriptor that becomes readable, for the poller.
    var number: Int32 { reading.number }

    /// Makes the descriptor readable; an error of a full pipe is ignored because the pipe is readable already.
    func wake() {
        var byte: UInt8 = 1
        _ = write(writing.number, &byte, 1)
    }

    /// Makes the descriptor unreadable again.
    func reset() {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { bytes in
            while read(reading.number, bytes.baseAddress, bytes.count) == bytes.count {}
        }
    }
}
