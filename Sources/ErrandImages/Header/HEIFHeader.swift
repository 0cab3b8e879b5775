/// HEIC and AVIF: HEIF, ISO/IEC 23008-12:2022, in boxes of ISO/IEC 14496-12.
extension HeaderReader {
    private static let heifFormats: [String: ImageHeader.Format] = [
        "avif": .avif, "avis": .avif, "heic": .heic, "heix": .heic, "heim": .heic, "heis": .heic, "hevc": .heic,
        "hevx": .heic,
    ]
    private static let heifSequences: [String] = ["avis", "hevc", "hevx", "msf1"]
    /// In anti-clockwise quarter turns; left and right are exchanged after them.
    private static let heifTurns: (plain: [ImageHeader.Orientation], mirrored: [ImageHeader.Orientation]) = (
        [.up, .left, .down, .right], [.upMirrored, .rightMirrored, .downMirrored, .leftMirrored]
    )

    /// Of the major brand, else of the first compatible brand that has one.
    func heifFormat() throws(HeaderFailure) -> ImageHeader.Format {
        var reader = self
        var brands = try reader.box().content
        var found = Self.heifFormats[try brands.code()]
        // The version.
        try brands.skip(4)
        while found == nil, !brands.isAtEnd { found = Self.heifFormats[try brands.code()] }
        guard let found else { throw .refused(.unknownFormat) }
        return found
    }

    mutating func heif(_ format: ImageHeader.Format) throws(HeaderFailure) -> ImageHeader {
        var brands = try box().content
        let isSequence = Self.heifSequences.contains(try brands.code())
        var meta = try firstBox("meta")
        // The version and flags, as of other boxes below.
        try meta.skip(4)
        var primary = try meta.firstBox("pitm")
        let item = try primary.uint32() >> 24 == 0 ? try primary.uint16() : try primary.uint32()
        var header = try meta.firstBox("iprp").heifProperties(of: item, format)
        if isSequence { header.frames = nil }
        return header
    }

    private mutating func box() throws(HeaderFailure) -> (type: String, content: HeaderReader) {
        try countStep()
        let start = position
        var (size, type) = (try uint32(), try code())
        if size == 1 { size = try integer(UInt64.self) }
        // 0 is to the end of what contains it.
        return (type, try part(size == 0 ? nil : size - (position - start)))
    }

    private func firstBox(_ type: String) throws(HeaderFailure) -> HeaderReader {
        var reader = self
        while !reader.isAtEnd {
            let box = try reader.box()
            if box.type == type { return box.content }
        }
        throw .invalid("it lacks one of the boxes meta, pitm, iprp, ipco and ipma")
    }

    private func heifProperties(
        of item: Int,
        _ format: ImageHeader.Format
    ) throws(HeaderFailure) -> ImageHeader {
        var (container, properties) = (try firstBox("ipco"), [(type: String, content: HeaderReader)]())
        // Others could not be referred to.
        while !container.isAtEnd, properties.count < 0x7FFF { properties.append(try container.box()) }
        var (header, quarters, isMirrored) = (ImageHeader?.none, 0, false)
        // From 1; 0 is none.
        for index in try heifAssociations(of: item) where index > 0 {
            guard index <= properties.count else { throw .invalid("its primary item has an unknown property") }
            var (type, content) = properties[index - 1]
            switch type {
            case "ispe":
                try content.skip(4)
                header = try self.header(format, try content.uint32(), try content.uint32())
            case "clap":
                // Encoders store whole blocks, and crop them.
                if let width = header?.width { header?.width = try content.croppedSide(of: width) }
                if let height = header?.height { header?.height = try content.croppedSide(of: height) }
            case "irot": quarters += (try content.uint8() & 3) * (isMirrored ? -1 : 1)
            case "imir":
                // To exchange top and bottom is to exchange left and right after half a turn.
                quarters += try content.uint8() & 1 == 0 ? 2 : 0
                isMirrored.toggle()
            default: break
            }
        }
        guard var header else { throw .invalid("its primary item has no size") }
        header.orientation = (isMirrored ? Self.heifTurns.mirrored : Self.heifTurns.plain)[quarters & 3]
        return header
    }

    /// A fraction; never larger, so that it stays within the limits.
    private mutating func croppedSide(of side: Int) throws(HeaderFailure) -> Int {
        let (numerator, denominator) = (try uint32(), try uint32())
        return min(side, max(1, numerator / max(1, denominator)))
    }

    /// The indices of its properties, in the order in which they apply; none without associations.
    private func heifAssociations(of item: Int) throws(HeaderFailure) -> [Int] {
        var boxes = self
        while !boxes.isAtEnd {
            var (type, content) = try boxes.box()
            if type == "ipma", let indices = try content.heifIndices(of: item) { return indices }
        }
        return []
    }

    private mutating func heifIndices(of item: Int) throws(HeaderFailure) -> [Int]? {
        let flags = try uint32()
        let isWide = flags & 1 != 0
        for _ in 0..<(try uint32()) {
            try countStep()
            let id = flags >> 24 == 0 ? try uint16() : try uint32()
            var entry = try part(try uint8() * (isWide ? 2 : 1))
            guard id == item else { continue }
            var indices: [Int] = []
            // The first bit says whether the property is essential.
            while !entry.isAtEnd { indices.append(isWide ? try entry.uint16() & 0x7FFF : try entry.uint8() & 0x7F) }
            return indices
        }
        return nil
    }
}
