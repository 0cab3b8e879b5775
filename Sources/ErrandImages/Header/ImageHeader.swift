public import Foundation

/// What the first bytes of an image say about it: format, size, orientation and number of frames.
///
/// The pixels are neither read nor checked, so an image with a valid header may still be undecodable.
public struct ImageHeader: Sendable, Hashable {
    /// The formats, which are recognized by their signatures; media types and names of files do not matter.
    public enum Format: String, Sendable, CaseIterable {
        /// PNG (ISO/IEC 15948), also animated; JPEG (ITU-T T.81); GIF 87a and 89a; WebP (RFC 9649); bitmaps of Windows and
        /// OS/2; HEIF (ISO/IEC 23008-12) with HEVC and with AV1; SVG in UTF-8, not compressed.
        case png, jpeg, gif, webP, bmp, heic, avif, svg
    }

    /// How the stored pixels are turned for display; the values are those of EXIF.
    ///
    /// The names are those of `CGImagePropertyOrientation`.
    public enum Orientation: Int, Sendable, CaseIterable {
        /// For display, the stored pixels of `down`, `right` and `left` are turned by 180°, by 90° clockwise and by 90°
        /// anti-clockwise. For `upMirrored` and `downMirrored`, left and right or top and bottom are exchanged. For
        /// `leftMirrored`, rows and columns are exchanged; for `rightMirrored`, this is turned by 180°.
        case up = 1, upMirrored, down, downMirrored, leftMirrored, right, rightMirrored, left

        /// Whether the stored width is the displayed height.
        public var swapsSides: Bool { rawValue >= Orientation.leftMirrored.rawValue }
    }

    /// The format.
    public internal(set) var format: Format
    /// The width as stored, in pixels, before ``orientation`` is applied.
    ///
    /// That of HEIF is after its crop, the clean aperture; that of SVG is in CSS pixels, and rounded up.
    public internal(set) var width: Int
    /// The height as stored, in pixels, before ``orientation`` is applied; as for ``width``.
    public internal(set) var height: Int
    /// How the pixels are turned for display.
    ///
    /// WebP stores it after the pixels, so that ``probe(_:limits:)`` returns `up` for it.
    public internal(set) var orientation = Orientation.up
    /// The number of frames, at least 1; `nil` if it is unknown.
    ///
    /// It is unknown for HEIF sequences, and in ``probe(_:limits:)`` also for GIF and animated WebP, which do not store it.
    public internal(set) var frames: Int? = 1

    /// The width as displayed, in pixels.
    public var displayWidth: Int { orientation.swapsSides ? height : width }
    /// The height as displayed, in pixels.
    public var displayHeight: Int { orientation.swapsSides ? width : height }
}

extension ImageHeader {
    /// Reads the header of a complete image.
    ///
    /// - Parameters:
    ///   - data: The bytes of the image; nothing after the header is checked.
    ///   - limits: What is refused.
    /// - Throws: ``ImageError``.
    public init(of data: Data, limits: ImageLimits = ImageLimits()) throws(ImageError) {
        self = try data.withUnsafeBytes { bytes in
            Result { () throws(ImageError) in
                var format: Format?
                let reader = HeaderReader(bytes, isComplete: true, limits: limits)
                do throws(HeaderFailure) { return try reader.header(&format) } catch {
                    throw error.imageError(in: format)
                }
            }
        }.get()
    }

    /// Reads the header from the first bytes of an image, while the others arrive.
    ///
    /// Call it again when there are as many bytes as it needs, and read an image that ends before with ``init(of:limits:)``.
    /// The number grows so that all calls together take time in proportion to the bytes.
    ///
    /// - Parameters:
    ///   - beginning: All bytes that are there, from the first.
    ///   - limits: What is refused, as soon as it is known.
    /// - Returns: The header, or how many bytes are needed.
    /// - Throws: ``ImageError``, which further bytes would not change.
    public static func probe(
        _ beginning: UnsafeRawBufferPointer,
        limits: ImageLimits = ImageLimits()
    ) throws(ImageError) -> ImageProbe {
        var format: Format?
        let reader = HeaderReader(beginning, isComplete: false, limits: limits)
        do throws(HeaderFailure) { return .header(try reader.header(&format)) } catch {
            guard case .needs(let count) = error else { throw error.imageError(in: format) }
            guard count <= limits.bytes else { throw .tooManyBytes(count: count, limit: limits.bytes) }
            // In proportion, because each call reads from the first byte; text has no lengths to skip by.
            let step = format == nil || format == .svg ? beginning.count : beginning.count / 8
            return .needsBytes(min(max(count, beginning.count + max(256, step)), limits.bytes))
        }
    }
}

/// What the first bytes of an image are enough for.
public enum ImageProbe: Sendable, Hashable {
    /// The header is complete.
    case header(ImageHeader)
    /// The header needs this many bytes, counted from the first byte of the image; always more than there were.
    case needsBytes(Int)
}
