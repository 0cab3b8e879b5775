import Errand

/// Why there is no header.
enum HeaderFailure: Error {
    /// In total, from the first byte.
    case needs(Int)
    case invalid(String)
    case refused(ImageError)

    /// The error of an image that has no further bytes.
    func imageError(in format: ImageHeader.Format?) -> ImageError {
        switch self {
        case .needs: .truncated(format)
        case .invalid(let reason): format.map { .damaged($0, reason) } ?? .unknownFormat
        case .refused(let error): error
        }
    }
}

/// Reads numbers in order, never beyond the bytes that are there, nor beyond the end of the part that it reads.
struct HeaderReader {
    let bytes: UnsafeRawBufferPointer
    /// Whether ``bytes`` is the whole image.
    let isComplete: Bool
    let limits: ImageLimits
    var isLittleEndian = false
    /// At most ``end``, but maybe beyond the bytes that are there.
    private(set) var position = 0
    /// The end of the chunk, segment or box; none for the whole image, so that it ends with ``HeaderFailure/needs(_:)``.
    private(set) var end = Int.max

    init(_ bytes: UnsafeRawBufferPointer, isComplete: Bool, limits: ImageLimits = ImageLimits()) {
        (self.bytes, self.isComplete, self.limits) = (bytes, isComplete, limits)
    }

    /// How many parts a header may have, so that one that was made for it does not take long.
    private static let mostSteps = 100_000
    private var steps = 0

    mutating func countStep() throws(HeaderFailure) {
        steps += 1
        guard steps <= Self.mostSteps else { throw .invalid("its header has more than \(Self.mostSteps) parts") }
    }

    var isAtEnd: Bool { position == end || end == .max && isComplete && position == bytes.count }

    /// Needs none of the bytes.
    mutating func skip(_ count: Int) throws(HeaderFailure) {
        guard count >= 0, count <= end - position else {
            throw .invalid("its header does not end as it should, at byte \(position)")
        }
        position += count
    }

    mutating func take(_ count: Int) throws(HeaderFailure) -> UnsafeRawBufferPointer {
        let start = position
        try skip(count)
        guard position <= bytes.count else { throw .needs(position) }
        return UnsafeRawBufferPointer(rebasing: bytes[start..<position])
    }

    /// Returns a reader of the next bytes alone, and skips them; of all that are left without `count`.
    mutating func part(_ count: Int? = nil) throws(HeaderFailure) -> HeaderReader {
        var part = self
        try skip(count ?? end - position)
        part.end = position
        return part
    }

    /// Moves to the next such byte, or to the end of those that are there.
    mutating func skip(to byte: UInt8) {
        let last = max(position, min(end, bytes.count))
        position = bytes.firstIndex(of: byte, from: position, to: last) ?? last
    }

    mutating func uint8() throws(HeaderFailure) -> Int { try integer(UInt8.self) }
    mutating func uint16() throws(HeaderFailure) -> Int { try integer(UInt16.self) }
    mutating func uint32() throws(HeaderFailure) -> Int { try integer(UInt32.self) }
    /// The type of a chunk, box or brand: four characters.
    mutating func code() throws(HeaderFailure) -> String { String(decoding: try take(4), as: UTF8.self) }

    mutating func integer<N: FixedWidthInteger & BitwiseCopyable>(_ type: N.Type) throws(HeaderFailure) -> Int {
        let number = try take(MemoryLayout<N>.size).loadUnaligned(as: N.self)
        return Int(clamping: isLittleEndian ? N(littleEndian: number) : N(bigEndian: number))
    }

    /// Returns a header without orientation, of one frame.
    func header(_ format: ImageHeader.Format, _ width: Int, _ height: Int) throws(HeaderFailure) -> ImageHeader {
        guard width > 0, height > 0 else { throw .invalid("its size is \(width) × \(height)") }
        let (pixels, overflow) = width.multipliedReportingOverflow(by: height)
        guard !overflow, pixels <= limits.pixels else {
            throw .refused(.tooManyPixels(width: width, height: height, limit: limits.pixels))
        }
        return ImageHeader(format: format, width: width, height: height)
    }
}
