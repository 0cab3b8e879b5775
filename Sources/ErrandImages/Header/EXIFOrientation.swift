/// The orientation in EXIF (JEITA CP-3451), which is a TIFF file.
extension HeaderReader {
    /// Reads all of this part, with or without the identifier of JPEG; if it is broken, the image is upright.
    mutating func exifOrientation() throws(HeaderFailure) -> ImageHeader.Orientation {
        var tiff = HeaderReader(try take(end - position), isComplete: true)
        return (try? tiff.tiffOrientation()) ?? .up
    }

    private mutating func tiffOrientation() throws(HeaderFailure) -> ImageHeader.Orientation? {
        if bytes.starts(with: "Exif\0\0".utf8) { try skip(6) }
        let order = try code()
        guard order == "II*\0" || order == "MM\0*" else { return nil }
        isLittleEndian = order == "II*\0"
        // From the beginning of the file.
        try skip(try uint32() - 8)
        for _ in 0..<(try uint16()) {
            var entry = try part(12)
            guard try entry.uint16() == 0x0112 else { continue }
            // One SHORT.
            guard try entry.uint16() == 3, try entry.uint32() == 1 else { return nil }
            return ImageHeader.Orientation(rawValue: try entry.uint16())
        }
        return nil
    }
}
