/// The largest image that is accepted.
public struct ImageLimits: Sendable, Hashable {
    /// The pixels of one frame, width × height; 100,000,000 by default.
    public var pixels: Int
    /// The bytes of the image as it is stored; 32 MiB by default.
    public var bytes: Int

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - pixels: The pixels of one frame, width × height.
    ///   - bytes: The bytes of the image as it is stored.
    public init(pixels: Int = 100_000_000, bytes: Int = 32 << 20) {
        (self.pixels, self.bytes) = (pixels, bytes)
    }
}
