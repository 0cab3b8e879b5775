/// What the first bytes of an image are enough for.
public enum ImageProbe: Sendable, Hashable {
    /// The header is complete.
    case header(ImageHeader)
    /// The header needs this many bytes, counted from the first byte of the image; always more than there were.
    case needsBytes(Int)
}
