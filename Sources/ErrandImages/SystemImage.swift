import Foundation

#if !canImport(Darwin)
/// What ``ImageDecoder/system`` makes: on Linux, where the system decodes no images, their bytes with their header.
public typealias SystemImage = ImageContent

extension ImageDecoder<SystemImage> {
    /// The default decoder: the bytes of the image with their header, undecoded and whatever the size of the target.
    ///
    /// On Apple's platforms, it makes decoded images, scaled down for the target.
    public static var system: Self { Self(bytes: \.data.count) { content, _ in content } }
}
#endif
