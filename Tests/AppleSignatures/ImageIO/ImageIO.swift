public import AppleCoreFoundation
public import CoreGraphics
public import Foundation

// A class of Core Foundation, without `Sendable`.
public class CGImageSource {}

public enum CGImageSourceStatus: Int32, Sendable {
    case statusUnexpectedEOF = -5, statusInvalidData = -4, statusUnknownType = -3, statusReadingHeader = -2
    case statusIncomplete = -1, statusComplete = 0
}

public func CGImageSourceCreateWithData(_ data: CFData, _ options: CFDictionary?) -> CGImageSource? { fatalError() }
public func CGImageSourceGetCount(_ isrc: CGImageSource) -> Int { fatalError() }
public func CGImageSourceGetStatus(_ isrc: CGImageSource) -> CGImageSourceStatus { fatalError() }
public func CGImageSourceGetPrimaryImageIndex(_ isrc: CGImageSource) -> Int { fatalError() }
public func CGImageSourceCreateImageAtIndex(
    _ isrc: CGImageSource,
    _ index: Int,
    _ options: CFDictionary?
) -> CGImage? { fatalError() }
public func CGImageSourceCreateThumbnailAtIndex(
    _ isrc: CGImageSource,
    _ index: Int,
    _ options: CFDictionary?
) -> CGImage? { fatalError() }
nonisolated(unsafe) public let kCGImageSourceShouldCache: CFString = ""
nonisolated(unsafe) public let kCGImageSourceShouldCacheImmediately: CFString = ""
nonisolated(unsafe) public let kCGImageSourceCreateThumbnailFromImageIfAbsent: CFString = ""
nonisolated(unsafe) public let kCGImageSourceCreateThumbnailFromImageAlways: CFString = ""
nonisolated(unsafe) public let kCGImageSourceCreateThumbnailWithTransform: CFString = ""
nonisolated(unsafe) public let kCGImageSourceThumbnailMaxPixelSize: CFString = ""
