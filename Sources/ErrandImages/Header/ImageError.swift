/// The reason why an image is refused; contains nothing of its bytes.
public enum ImageError: Error, Sendable, Hashable {
    /// The bytes have the signature of no ``ImageHeader/Format``.
    case unknownFormat
    /// The header contradicts its format, as the text says.
    case damaged(ImageHeader.Format, String)
    /// The bytes end within the header, or before the format is certain.
    case truncated(ImageHeader.Format?)
    /// A frame has more pixels than ``ImageLimits/pixels``.
    case tooManyPixels(width: Int, height: Int, limit: Int)
    /// The image has at least `count` bytes, which is more than ``ImageLimits/bytes``.
    case tooManyBytes(count: Int, limit: Int)
}

extension ImageError: CustomStringConvertible {
    /// What is wrong, for the developer.
    public var description: String {
        switch self {
        case .unknownFormat: "no image of a known format; the response may be a page, or an error in text"
        case .damaged(let format, let reason): "damaged \(format) image: \(reason)"
        case .truncated(let format): "the \(format.map { "\($0) " } ?? "")image ends within its header"
        case .tooManyPixels(let width, let height, let limit):
            "\(width) × \(height) pixels, which is more than ImageLimits.pixels, \(limit)"
        case .tooManyBytes(let count, let limit):
            "at least \(count) bytes, which is more than ImageLimits.bytes, \(limit)"
        }
    }
}
