/// WebP, RFC 9649 section 2; VP8, RFC 6386 section 9.1.
extension HeaderReader {
    mutating func webP() throws(HeaderFailure) -> ImageHeader {
        isLittleEndian = true
        try skip(4)
        var riff = try part(try uint32())
        try riff.skip(4)
        var (type, chunk) = try riff.webPChunk()
        switch type {
        case "VP8 ":
            guard try chunk.uint24() & 1 == 0, try chunk.uint24() == 0x2A019D else {
                throw .invalid("its VP8 chunk does not begin with a key frame")
            }
            return try header(.webP, try chunk.uint16() & 0x3FFF, try chunk.uint16() & 0x3FFF)
        case "VP8L":
            let (signature, bits) = (try chunk.uint8(), try chunk.uint32())
            guard signature == 0x2F, bits >> 29 == 0 else { throw .invalid("its VP8L chunk has an unknown version") }
            return try header(.webP, bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1)
        case "VP8X":
            let flags = try chunk.uint32()
            var header = try header(.webP, try chunk.uint24() + 1, try chunk.uint24() + 1)
            try riff.completeWebP(&header, isAnimated: flags & 0x02 != 0, hasEXIF: flags & 0x08 != 0)
            return header
        default: throw .invalid("its first chunk is not VP8, VP8L or VP8X")
        }
    }

    private mutating func webPChunk() throws(HeaderFailure) -> (String, HeaderReader) {
        let (type, size) = (try code(), try uint32())
        let content = try part(size)
        // Some writers omit the last byte of padding.
        if !isAtEnd { try skip(size & 1) }
        return (type, content)
    }

    /// Like a decoder, does not mind what is wrong after the first frame.
    private mutating func completeWebP(
        _ header: inout ImageHeader,
        isAnimated: Bool,
        hasEXIF: Bool
    ) throws(HeaderFailure) {
        guard isComplete, isAnimated || hasEXIF else { return header.frames = isAnimated ? nil : 1 }
        var frames = 0
        while !isAtEnd, let (type, chunk) = try? webPChunk() {
            if type == "ANMF" { frames += 1 }
            guard type == "EXIF", hasEXIF else { continue }
            var content = chunk
            header.orientation = (try? content.exifOrientation()) ?? .up
        }
        guard isAnimated else { return }
        guard frames > 0 else { throw .invalid("it is an animation without frames") }
        header.frames = frames
    }

    private mutating func uint24() throws(HeaderFailure) -> Int { try uint16() | uint8() << 16 }
}
