import Foundation

/// Wakes the loop out of its wait, from any thread.
struct Waker: ~Copyable, Sendable {
    private let reading: Descriptor
    private let writing: Descriptor

    init() throws {
        let ends = try System.pipe()
        reading = Descriptor(ends.reading)
        writing = Descriptor(ends.writing)
    }

    /// The number of the descriptor that becomes readable, for the poller.
    var number: Int32 { reading.number }

    /// Makes the descriptor readable; a full pipe is readable already.
    func wake() {
        var byte: UInt8 = 1
        _ = write(writing.number, &byte, 1)
    }

    /// Makes the descriptor quiet again.
    func reset() {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { bytes in
            while read(reading.number, bytes.baseAddress, bytes.count) == bytes.count {}
        }
    }
}
