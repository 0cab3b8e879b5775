import Foundation
import Synchronization

/// Writes lines to standard error, each complete before the next one.
///
/// Called on any thread. A closed standard error, or a pipe without a reader, loses the lines and does not end the process.
enum StandardError {
    // Held for a system call, so that lines longer than a pipe accepts at once are not mixed.
    private static let writeLock = Mutex<Void>(())

    /// Writes a line, to which a line feed is added; in tests to another descriptor.
    static func write(line: String, to descriptor: Int32 = STDERR_FILENO) {
        var text = line
        text.append("\n")
        text.withUTF8 { bytes in
            writeLock.withLock { _ in
                withoutSIGPIPE(on: descriptor) { writeAll(UnsafeRawBufferPointer(bytes), to: descriptor) }
            }
        }
    }

    /// Returns whether all bytes were written.
    private static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = writeSome(rest, to: descriptor)
            guard count > 0 || count < 0 && errno == EINTR else { return false }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(max(0, count)))
        }
        return true
    }
}

/// Writes as many bytes as possible at once; returns their number, or -1.
private func writeSome(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}
