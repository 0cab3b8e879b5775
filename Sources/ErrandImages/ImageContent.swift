public import Errand
public import Foundation

/// An image as the server has sent it: its bytes and what they say of it.
public struct ImageContent: Sendable, Hashable {
    /// The bytes of the image.
    public let data: Data
    /// The format, the size in pixels, the orientation and the number of frames.
    public let header: ImageHeader

    /// Reads the header of an image.
    ///
    /// - Throws: An ``ImageError`` for bytes that are no image of a known ``ImageHeader/Format``, or one beyond the limits.
    public init(_ data: Data, limits: ImageLimits = ImageLimits()) throws(ImageError) {
        guard data.count <= limits.bytes else { throw .tooManyBytes(count: data.count, limit: limits.bytes) }
        (self.data, header) = (data, try ImageHeader(of: data, limits: limits))
    }
}

extension ImageContent: RedactedDescription {
    /// The format and the sizes, without the bytes.
    public var description: String {
        "ImageContent(\(header.format), \(header.width) × \(header.height), \(data.count) bytes)"
    }
}

extension ResponseSerializer<ImageContent> {
    /// An image, of which no more is received than shows that it is damaged or beyond the limits.
    ///
    /// A response whose envelope contains a failure fails with it. Anything else that is no image fails with `decoding`, and one
    /// beyond the limits with `responseTooLarge`; the underlying error is an ``ImageError``. With adapters of responses, the
    /// image is examined when all of it has arrived.
    public static func image(limits: ImageLimits = ImageLimits()) -> Self {
        Self { bytes throws(APIError) in
            try check(bytes, limits)
        } _: { response, _ in
            do throws(ImageError) {
                return try ImageContent(response.body, limits: limits)
            } catch {
                throw APIError(error)
            }
        }
    }

    /// In bytes; what is no image may be the envelope of a failure.
    private static var longestEnvelope: Int { 1 << 20 }

    private static func check(_ bytes: UnsafeRawBufferPointer, _ limits: ImageLimits) throws(APIError) -> Int? {
        do throws(ImageError) {
            guard bytes.count <= limits.bytes else { throw .tooManyBytes(count: bytes.count, limit: limits.bytes) }
            switch try ImageHeader.probe(bytes, limits: limits) {
            case .header: return limits.bytes < .max ? limits.bytes + 1 : nil
            case .needsBytes(let count): return count
            }
        } catch {
            if case .unknownFormat = error, bytes.count < longestEnvelope {
                return min(longestEnvelope, limits.bytes < .max ? limits.bytes + 1 : .max)
            }
            throw APIError(error)
        }
    }
}

extension APIManager where Response == ImageContent {
    /// The image, with the default limits.
    public var responseSerializer: ResponseSerializer<ImageContent> { .image() }
}

extension APIError {
    init(_ error: ImageError) {
        let type: APIErrorType =
            switch error {
            case .tooManyPixels, .tooManyBytes: .responseTooLarge
            default: .decoding
            }
        self.init(type, reason: error.description, underlying: error)
    }
}
