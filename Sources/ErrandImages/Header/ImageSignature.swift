/// The first bytes that distinguish the formats.
enum ImageSignature {
    /// A scalar stands for the byte of the same value, a question mark for any; without format: HEIF, which has several.
    private static let all: [(format: ImageHeader.Format?, bytes: [UInt8?])] =
        [
            (.png, "\u{89}PNG\r\n\u{1A}\n"), (.jpeg, "\u{FF}\u{D8}\u{FF}"), (.gif, "GIF87a"), (.gif, "GIF89a"),
            (.webP, "RIFF????WEBP"), (.bmp, "BM"), (nil, "\0\0??ftyp"),
        ].map { format, text in (format, text.unicodeScalars.map { $0 == "?" ? nil : UInt8($0.value) }) }

    /// Moves `reader` only if it is SVG, behind the name of the first element.
    static func format(_ reader: inout HeaderReader) throws(HeaderFailure) -> ImageHeader.Format {
        for (format, signature) in all {
            guard zip(reader.bytes, signature).allSatisfy({ $1 == nil || $0 == $1 }) else { continue }
            guard reader.bytes.count >= signature.count else { throw .needs(signature.count) }
            return if let format { format } else { try reader.heifFormat() }
        }
        reader = try reader.part(HeaderReader.longestXMLStart)
        guard try reader.isSVG() else { throw .refused(.unknownFormat) }
        return .svg
    }
}

extension HeaderReader {
    /// Sets `format` as soon as it is certain.
    func header(_ format: inout ImageHeader.Format?) throws(HeaderFailure) -> ImageHeader {
        guard bytes.count <= limits.bytes else {
            throw .refused(.tooManyBytes(count: bytes.count, limit: limits.bytes))
        }
        var reader = self
        let known = try ImageSignature.format(&reader)
        format = known
        return switch known {
        case .png: try reader.png()
        case .jpeg: try reader.jpeg()
        case .gif: try reader.gif()
        case .webP: try reader.webP()
        case .bmp: try reader.bmp()
        case .heic, .avif: try reader.heif(known)
        case .svg: try reader.svg()
        }
    }
}
