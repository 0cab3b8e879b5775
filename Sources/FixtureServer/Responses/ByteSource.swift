import Foundation

/// Bytes that are read piece by piece while they are sent, because there may be too many for memory.
package enum ByteSource: Sendable {
    /// The bytes of a file.
    case file(URL)
    /// Bytes that are a function of their position, called with any range below the length.
    case generated(length: Int64, @Sendable (Range<Int64>) -> [UInt8])

    /// Bytes in memory.
    package static func bytes(_ bytes: [UInt8]) -> ByteSource {
        .generated(length: Int64(bytes.count)) { Array(bytes[Int($0.lowerBound)..<Int($0.upperBound)]) }
    }

    /// The bytes `0, 1, … 255, 0, …`, of which any range can be computed without the rest.
    package static func counting(_ length: Int64) -> ByteSource {
        .generated(length: length) { range in
            let first = Int(range.lowerBound & 255)
            return [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
                while count < range.count {
                    let start = (first + count) & 255
                    let piece = countingPiece[start..<min(countingPiece.count, start + range.count - count)]
                    _ = buffer[count...].initialize(fromContentsOf: piece)
                    count += piece.count
                }
            }
        }
    }

    /// The number of bytes; 0 for a file that cannot be read.
    package var length: Int64 {
        switch self {
        case .file(let url):
            let attributes = try? FileManager.default.attributesOfItem(atPath: url.path)
            return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
        case .generated(let length, _):
            return length
        }
    }

    private static let countingPiece = (0..<65_536).map { UInt8($0 & 255) }
}

/// Reads a ``ByteSource``; keeps a file open until the reader is released.
final class ByteSourceReader {
    private enum Origin: ~Copyable {
        case file(Descriptor)
        case generator(@Sendable (Range<Int64>) -> [UInt8])
    }

    private let origin: Origin

    /// Opens the source; one that cannot be opened has no bytes.
    init(_ source: ByteSource) {
        switch source {
        case .file(let url): origin = .file(Descriptor(open(url.path, O_RDONLY | O_CLOEXEC)))
        case .generated(_, let bytes): origin = .generator(bytes)
        }
    }

    /// Returns the bytes at `range`; fewer where the source ends early.
    func read(_ range: Range<Int64>) -> [UInt8] {
        switch origin {
        case .generator(let bytes):
            return bytes(range)
        case .file(let descriptor):
            return [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
                count = max(0, pread(descriptor.number, buffer.baseAddress, range.count, off_t(range.lowerBound)))
            }
        }
    }
}
