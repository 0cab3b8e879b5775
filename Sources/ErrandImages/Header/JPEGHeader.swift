/// JPEG, ITU-T T.81 annex B.
extension HeaderReader {
    mutating func jpeg() throws(HeaderFailure) -> ImageHeader {
        var orientation = ImageHeader.Orientation.up
        while true {
            let marker = try jpegMarker()
            // Those without a segment, and zeros after a byte 0xFF that is none.
            if [0x00, 0x01].contains(marker) || (0xD0...0xD8).contains(marker) { continue }
            guard marker != 0xD9, marker != 0xDA else { throw .invalid("its pixels or end precede its frame header") }
            let length = try uint16()
            guard length >= 2 else { throw .invalid("a segment has the length \(length)") }
            var segment = try part(length - 2)
            switch marker {
            // Huffman tables, a reserved marker, and conditions for arithmetic coding.
            case 0xC4, 0xC8, 0xCC: break
            case 0xC0...0xCF: return try segment.jpegFrame(orientation)
            case 0xE1 where orientation == .up: orientation = try segment.exifOrientation()
            default: break
            }
        }
    }

    /// Skips what is between segments, as decoders do; any number of bytes 0xFF may precede a marker.
    private mutating func jpegMarker() throws(HeaderFailure) -> Int {
        skip(to: 0xFF)
        var marker = 0xFF
        while marker == 0xFF {
            try countStep()
            marker = try uint8()
        }
        return marker
    }

    private mutating func jpegFrame(_ orientation: ImageHeader.Orientation) throws(HeaderFailure) -> ImageHeader {
        // The precision of the samples.
        try skip(1)
        let (height, width) = (try uint16(), try uint16())
        // Otherwise it is in a DNL segment after the pixels, which hardly any decoder reads.
        guard height > 0 else { throw .invalid("its height is not in its frame header") }
        var header = try header(.jpeg, width, height)
        header.orientation = orientation
        return header
    }
}
