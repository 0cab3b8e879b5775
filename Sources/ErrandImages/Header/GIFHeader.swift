/// GIF 89a, sections 18 to 27.
extension HeaderReader {
    mutating func gif() throws(HeaderFailure) -> ImageHeader {
        isLittleEndian = true
        try skip(6)
        var header = try header(.gif, try uint16(), try uint16())
        header.frames = isComplete ? try gifFrames() : nil
        return header
    }

    /// Those that have begun; like a decoder, does not mind what is wrong after the first.
    private mutating func gifFrames() throws(HeaderFailure) -> Int {
        var frames = 0
        do throws(HeaderFailure) { try walkGIF(&frames) } catch {
            if case .refused = error { throw error }
            guard frames > 0 else { throw error }
        }
        return frames
    }

    private mutating func walkGIF(_ frames: inout Int) throws(HeaderFailure) {
        try skipGIFColors()
        // The background and the aspect ratio; they precede the colors.
        try skip(2)
        while true {
            switch try uint8() {
            case 0x2C:
                try skip(4)
                // A frame may have no pixels, or be larger than the screen.
                _ = try header(.gif, max(1, try uint16()), max(1, try uint16()))
                frames += 1
                try skipGIFColors()
                // The size of the first codes, and below the label of an extension.
                try skip(1)
            case 0x21: try skip(1)
            case 0x3B where frames > 0: return
            default: throw .invalid("it has no frame, or an unknown block before the first")
            }
            while case let count = try uint8(), count > 0 { try skip(count) }
        }
    }

    /// Reads the flags.
    private mutating func skipGIFColors() throws(HeaderFailure) {
        let flags = try uint8()
        if flags & 0x80 != 0 { try skip(3 << (flags & 7 + 1)) }
    }
}
