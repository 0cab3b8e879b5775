/// Bitmaps of Windows (`BITMAPCOREHEADER` to `BITMAPV5HEADER`) and OS/2.
extension HeaderReader {
    mutating func bmp() throws(HeaderFailure) -> ImageHeader {
        isLittleEndian = true
        // The header of the file.
        try skip(14)
        let size = try uint32()
        guard [12, 16, 40, 52, 56, 64, 108, 124].contains(size) else { throw .invalid("a header of \(size) bytes") }
        if size == 12 { return try header(.bmp, try uint16(), try uint16()) }
        // The height is negative if the rows are stored from top to bottom.
        let (width, height) = (try integer(Int32.self), try integer(Int32.self))
        return try header(.bmp, width, Int(clamping: height.magnitude))
    }
}
