#if canImport(Darwin)
public import CoreGraphics
import Errand
import Foundation
import ImageIO

// `@unchecked`, because a `CGImage` never changes.
/// What ``ImageDecoder/system`` makes: on Apple's platforms, a decoded image with the header of its bytes.
///
/// Untested.
public struct SystemImage: @unchecked Sendable {
    /// The pixels, upright and scaled down for the target.
    public let cgImage: CGImage
    /// The header of the bytes as the server has sent them, with the size before the image was scaled down.
    public let header: ImageHeader

    /// Creates an image, for example in a processing of ``ImageDecoder/processing(_:by:)``.
    public init(_ cgImage: CGImage, header: ImageHeader) { (self.cgImage, self.header) = (cgImage, header) }

    fileprivate var bytes: Int { cgImage.bytesPerRow * cgImage.height }
}

extension ImageDecoder<SystemImage> {
    /// The default decoder: ImageIO, which decodes the first frame, upright and scaled down for the target.
    ///
    /// Untested. An image that ImageIO does not decode, such as SVG, fails with `decoding`.
    public static var system: Self {
        Self(bytes: \.bytes) { content, target in
            let options: [CFString: Any] = [
                kCGImageSourceCreateThumbnailFromImageAlways: true,
                kCGImageSourceCreateThumbnailWithTransform: true,
                kCGImageSourceShouldCacheImmediately: true,
                kCGImageSourceThumbnailMaxPixelSize: target.longestSide(of: content.header),
            ]
            let uncached = [kCGImageSourceShouldCache: false] as CFDictionary
            guard let source = CGImageSourceCreateWithData(content.data as CFData, uncached),
                case let index = CGImageSourceGetPrimaryImageIndex(source),
                let image = CGImageSourceCreateThumbnailAtIndex(source, index, options as CFDictionary)
            else { throw APIError(.decoding, reason: "ImageIO does not decode this \(content.header.format) image") }
            return SystemImage(image, header: content.header)
        }
    }
}
#endif
