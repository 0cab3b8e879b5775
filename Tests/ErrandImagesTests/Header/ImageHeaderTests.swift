import Foundation
import Testing

@testable import ErrandImages

@Suite("Image headers", .timeLimit(.minutes(5)))
struct ImageHeaderTests {
    @Test(arguments: ImageSamples.all.indices) func `A valid header is read`(_ index: Int) throws {
        let (name, bytes, header) = ImageSamples.all[index]
        #expect(try ImageHeader(of: Data(bytes)) == header, "\(name)")
        guard case .header(let probed) = try ImageHeader.probe(bytes) else {
            Issue.record("\(name) needs bytes")
            return
        }
        #expect(probed.agrees(with: header), "\(name)")
    }

    @Test(arguments: ImageSamples.all.indices) func `No cut is read otherwise than the whole`(_ index: Int) {
        let (name, bytes, _) = ImageSamples.all[index]
        #expect(HeaderChecks.violation(byCutsOf: bytes) == nil, "\(name)")
    }

    @Test func `There are samples of all formats`() {
        #expect(Set(ImageSamples.all.map(\.header.format)) == Set(ImageHeader.Format.allCases))
    }

    @Test(arguments: [
        "", "G", "<", "<!-- no image -->", "\u{FEFF}", " \n", "<?xml version='1.0'?>\n",
    ]) func `What could still become an image is truncated`(_ text: String) throws {
        #expect(throws: ImageError.truncated(nil)) { try ImageHeader(of: Data(text.utf8)) }
        guard case .needsBytes(let count) = try ImageHeader.probe(text.utf8) else {
            Issue.record("a header")
            return
        }
        #expect(count > text.utf8.count)
    }

    @Test(arguments: [
        "Not Found", "{\"error\": 404}", "<!DOCTYPE html><html><body><svg width='1' height='1'/></body></html>",
        "<html>", "<p>", "<svgs/>", "<:svg/>", "<SVG/>", "%PDF-1.7", "GIF90a", "RIFF\0\0\0\0WAVE",
        "\0\0\0\u{14}ftypmp42\0\0\0\0isom",
    ]) func `What is no image has an unknown format`(_ text: String) {
        #expect(throws: ImageError.unknownFormat) { try ImageHeader(of: Data(text.utf8)) }
        #expect(throws: ImageError.unknownFormat) { try ImageHeader.probe(text.utf8) }
    }

    @Test(arguments: [
        Array(png(ihdr(50_000, 50_000)).prefix(33)), Array(jpeg(frame: frame(0xC0, 50_000, 50_000)).prefix(25)),
        Array(gif(50_000, 50_000, frames: 1).prefix(10)), webP(vp8X(flags: 2, 50_000, 50_000)), bmp(50_000, 50_000),
        Array(heif(size: ispe(50_000, 50_000)).dropLast(11)), Array("<svg width='50000' height='50000' >".utf8),
    ]) func `Too many pixels are refused before the pixels arrive`(_ beginning: [UInt8]) {
        let error = ImageError.tooManyPixels(width: 50_000, height: 50_000, limit: 100_000_000)
        #expect(throws: error) { try ImageHeader.probe(beginning) }
        #expect(throws: error) { try ImageHeader(of: Data(beginning)) }
        #expect(throws: Never.self) { try ImageHeader.probe(beginning, limits: ImageLimits(pixels: 2_500_000_000)) }
    }

    @Test(arguments: [
        png(ihdr(0x7FFF_FFFF, 0x7FFF_FFFF)), bmp(0x7FFF_FFFF, -0x8000_0000),
        heif(size: ispe(0xFFFF_FFFF, 0xFFFF_FFFF)),
    ]) func `The largest sizes do not overflow`(_ bytes: [UInt8]) {
        let error = #expect(throws: ImageError.self) {
            try ImageHeader(of: Data(bytes), limits: ImageLimits(pixels: 1 << 32))
        }
        guard case .tooManyPixels = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `Bytes beyond the limit are refused, also those that a length announces`() {
        let limits = ImageLimits(bytes: 1000)
        let large = Data(ImageSamples.sample(.bmp) + [UInt8](repeating: 0, count: 1000))
        #expect(throws: ImageError.tooManyBytes(count: large.count, limit: 1000)) {
            try ImageHeader(of: large, limits: limits)
        }
        let announced = pngSignature + ihdr() + be32(5000) + Array("iCCP".utf8)
        #expect(throws: ImageError.tooManyBytes(count: 33 + 12 + 5000 + 4, limit: 1000)) {
            try ImageHeader.probe(announced, limits: limits)
        }
    }

    @Test func `The displayed size has its sides exchanged from the fifth orientation`() {
        for orientation in ImageHeader.Orientation.allCases {
            let header = ImageHeader.sample(.jpeg, orientation)
            #expect(orientation.swapsSides == (orientation.rawValue >= 5))
            #expect((header.displayWidth, header.displayHeight) == (orientation.rawValue >= 5 ? (37, 61) : (61, 37)))
        }
    }

    @Test func `Errors name the format, the limit and the reason, and no bytes`() {
        let errors: [ImageError: String] = [
            .damaged(.png, "a reason"): "damaged png image: a reason",
            .truncated(.webP): "the webP image ends within its header",
            .truncated(nil): "the image ends within its header",
            .tooManyPixels(width: 2, height: 3, limit: 5): "2 × 3 pixels, which is more than ImageLimits.pixels, 5",
            .tooManyBytes(count: 2, limit: 1): "at least 2 bytes, which is more than ImageLimits.bytes, 1",
        ]
        for (error, description) in errors { #expect(error.description == description) }
    }
}

@Suite("Headers of HEIC and AVIF", .timeLimit(.minutes(5)))
struct HEIFHeaderTests {
    private static func read(_ bytes: [UInt8]) throws -> ImageHeader { try ImageHeader(of: Data(bytes)) }

    private static func isDamaged(_ bytes: [UInt8]) -> Bool {
        let error = #expect(throws: ImageError.self) { try ImageHeader(of: Data(bytes)) }
        guard case .damaged(.heic, _) = error else { return false }
        return true
    }

    @Test(
        arguments: [
            ("avif", .avif), ("avis", .avif), ("heic", .heic), ("heix", .heic), ("heim", .heic), ("heis", .heic),
            ("hevc", .heic), ("hevx", .heic),
        ] as [(String, ImageHeader.Format)]
    ) func `Each brand has its format, also as a compatible one`(
        _ brand: String,
        _ format: ImageHeader.Format
    ) throws {
        let isSequence = ["avis", "hevc", "hevx"].contains(brand)
        #expect(try Self.read(heif(brand)) == .sample(format, frames: isSequence ? nil : 1))
        #expect(try Self.read(heif("mif1", compatible: ["miaf", brand])) == .sample(format))
        #expect(try Self.read(heif("msf1", compatible: [brand])) == .sample(format, frames: nil))
    }

    @Test(arguments: ["mif1", "isom", "jpeg"]) func `Another brand is no known format`(_ brand: String) {
        #expect(throws: ImageError.unknownFormat) { try Self.read(heif(brand)) }
    }

    /// ISO/IEC 23008-12:2022, 6.5.10 and 6.5.12; the values are those of libavif.
    @Test(
        arguments: [
            ([irot(0)], .up), ([irot(1)], .left), ([irot(2)], .down), ([irot(3)], .right), ([imir(0)], .downMirrored),
            ([imir(1)], .upMirrored), ([irot(1), imir(0)], .leftMirrored), ([irot(1), imir(1)], .rightMirrored),
            ([irot(2), imir(0)], .upMirrored), ([irot(2), imir(1)], .downMirrored),
            ([irot(3), imir(0)], .rightMirrored),
            ([irot(3), imir(1)], .leftMirrored), ([imir(1), irot(1)], .leftMirrored), ([imir(0), imir(1)], .down),
        ] as [([[UInt8]], ImageHeader.Orientation)]
    ) func `Rotation and mirror are an orientation, in their order`(
        _ turns: [[UInt8]],
        _ orientation: ImageHeader.Orientation
    ) throws {
        #expect(try Self.read(heif(turns: turns)) == .sample(.heic, orientation))
    }

    @Test func `Each version and width of associations is read`() throws {
        for (flags, version) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let bytes = heif(turns: [irot(1)], ipma: flags, version: version)
            #expect(try Self.read(bytes) == .sample(.heic, .left))
            #expect(HeaderChecks.violation(byCutsOf: bytes) == nil)
        }
    }

    @Test func `The clean aperture is the size`() throws {
        let clap = box("clap", be32(61) + be32(1) + be32(74) + be32(2) + be32(0) + be32(1) + be32(0) + be32(1))
        #expect(try Self.read(heif(size: ispe(64, 64), turns: [clap])) == .sample(.heic))
        let invalid = box("clap", be32(0) + be32(0) + be32(500) + be32(1))
        let header = try Self.read(heif(size: ispe(64, 64), turns: [invalid]))
        #expect((header.width, header.height) == (1, 64))
    }

    @Test func `Boxes may have 64-bit sizes, or extend to the end`() throws {
        let bytes = heif()
        let start = ftyp("heic").count + 9
        // Between `free` and `meta`.
        let large = be32(1) + Array("free".utf8) + be32(0) + be32(20) + be32(0)
        #expect(try Self.read(Array(bytes[..<start] + large + bytes[start...])) == .sample(.heic))
        let open = Array(bytes[..<start]) + be32(0) + bytes[(start + 4)...].dropLast(11)
        #expect(try Self.read(open) == .sample(.heic))
        #expect(HeaderChecks.violation(byCutsOf: open) == nil)
    }

    @Test(arguments: [
        ftyp("heic"), ftyp("heic") + box("mdat", []), ftyp("heic") + box("meta", be32(0)),
        ftyp("heic") + be32(7) + Array("meta".utf8), ftyp("heic") + be32(1) + Array("meta".utf8) + be32(0) + be32(15),
        ftyp("heic") + be32(1) + Array("meta".utf8) + be32(0xFFFF_FFFF) + be32(0xFFFF_FFFF),
        ftyp("heic") + be32(0) + Array("mdat".utf8), heif(size: ispe(0, 37)), heif(size: box("free", [1])),
        ftyp("heic") + box("meta", be32(0) + be32(100) + Array("pitm".utf8)), heif(size: box("ispe", [0])),
        heif(size: []),
    ]) func `A HEIC whose boxes are missing or too long is damaged`(_ bytes: [UInt8]) {
        #expect(Self.isDamaged(bytes))
    }
}

@Suite("Headers of PNG, JPEG, GIF, WebP and BMP", .timeLimit(.minutes(5)))
struct RasterHeaderTests {
    private static func isDamaged(_ bytes: [UInt8], _ format: ImageHeader.Format) -> Bool {
        let error = #expect(throws: ImageError.self) { try ImageHeader(of: Data(bytes)) }
        guard case .damaged(format, _) = error else { return false }
        return true
    }

    private static func read(_ bytes: [UInt8]) throws -> ImageHeader { try ImageHeader(of: Data(bytes)) }

    // MARK: PNG

    @Test(arguments: [
        png(ihdr(0, 37)), png(ihdr(61, 0)), png(ihdr(0x8000_0000, 1)), png(ihdr(61, 37, [3, 2, 0, 0, 0])),
        png(ihdr(61, 37, [16, 3, 0, 0, 0])), png(ihdr(61, 37, [8, 1, 0, 0, 0])), png(ihdr(61, 37, [8, 2, 1, 0, 0])),
        png(ihdr(61, 37, [8, 2, 0, 1, 0])), png(ihdr(61, 37, [8, 2, 0, 0, 2])), png(chunk("IDAT")),
        png(chunk("IHDR", [1])), png(ihdr().dropLast() + [0]), png(chunks: be32(0x8000_0000) + Array("tEXt".utf8)),
        png(chunks: chunk("tE t")), pngSignature + ihdr() + chunk("IEND"),
    ]) func `A PNG with an invalid start or chunk is damaged`(_ bytes: [UInt8]) {
        #expect(Self.isDamaged(bytes, .png))
    }

    @Test func `Each legal bit depth of PNG is accepted, and no other`() {
        let legal = [0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16]]
        for color in 0...UInt8.max {
            for depth in 0...UInt8(17) {
                let header = try? Self.read(png(ihdr(61, 37, [depth, color, 0, 0, 1])))
                #expect((header != nil) == (legal[Int(color)]?.contains(Int(depth)) ?? false))
            }
        }
    }

    @Test func `An animation without frames is a still PNG`() throws {
        #expect(try Self.read(png(chunks: chunk("acTL", be32(0) + be32(0)))).frames == 1)
    }

    @Test func `A header of very many parts is damaged, so that it takes little time`() {
        let fill = [UInt8](repeating: 0xFF, count: 1 << 20)
        #expect(Self.isDamaged([0xFF, 0xD8] + fill, .jpeg))
        let chunks = Array(repeatElement(chunk("teST"), count: 100_001).joined())
        #expect(Self.isDamaged(png(chunks: chunks), .png))
    }

    // MARK: EXIF

    @Test(arguments: 1...8) func `The orientation is read in both byte orders`(_ value: Int) throws {
        let orientation = ImageHeader.Orientation(rawValue: value)
        for isLittleEndian in [true, false] {
            let tiff = tiff(value, isLittleEndian: isLittleEndian)
            #expect(try Self.read(jpeg(segments: exif(tiff))).orientation == orientation)
            #expect(try Self.read(png(chunks: chunk("eXIf", tiff))).orientation == orientation)
            #expect(try Self.read(webP(vp8X(flags: 8) + vp8() + riff("EXIF", tiff))).orientation == orientation)
        }
    }

    private static let brokenEXIF: [[UInt8]] = {
        let whole = tiff(6)
        let (start, magic) = (Array(whole.prefix(8)), Array(whole.prefix(4)))
        return [
            tiff(0), tiff(9), tiff(6, type: 4), tiff(6, count: 2), Array(whole.prefix(30)), [], Array("II*\0".utf8),
            Array("XX*\0".utf8) + whole.dropFirst(4), magic + be32(4) + whole.dropFirst(8),
            magic + be32(0xFFFF_FFFF) + whole.dropFirst(8), start + be16(0xFFFF) + be16(0x010F),
        ]
    }()

    @Test(arguments: brokenEXIF) func `Broken EXIF is upright`(_ tiff: [UInt8]) throws {
        #expect(try Self.read(jpeg(segments: exif(tiff))) == .sample(.jpeg))
        #expect(try Self.read(png(chunks: chunk("eXIf", tiff))) == .sample(.png))
        #expect(try Self.read(webP(vp8X(flags: 8) + vp8() + riff("EXIF", tiff))) == .sample(.webP))
    }

    // MARK: JPEG

    @Test(arguments: (0xC0...0xCF).map(UInt8.init).filter { ![0xC4, 0xC8, 0xCC].contains($0) })
    func `Each kind of JPEG frame has the size`(_ marker: UInt8) throws {
        #expect(try Self.read(jpeg(frame: frame(marker))) == .sample(.jpeg))
    }

    @Test(arguments: [
        [0xFF, 0xFF, 0xFF], [0xFF, 0x01], [0xFF, 0xD0], segment(0xC8, [1, 2, 3, 4, 5, 6]),
        segment(0xCC, [1, 2, 3, 4, 5, 6]), segment(0xE1, Array("http://ns.adobe.com/xap/1.0/\0".utf8)),
        segment(0xE2, [0xFF, 0xC0, 0, 11, 8, 0, 1, 0, 1]), [1, 2, 3],
    ]) func `What is not a frame is skipped`(_ bytes: [UInt8]) throws {
        #expect(try Self.read(jpeg(segments: bytes)) == .sample(.jpeg))
    }

    @Test(arguments: [
        jpeg(frame: []), [0xFF, 0xD8, 0xFF, 0xD9], jpeg(frame: frame(0xC0, 61, 0)), jpeg(frame: frame(0xC0, 0, 37)),
        jpeg(segments: [0xFF, 0xE0, 0, 1]), jpeg(segments: [0xFF, 0xE0, 0, 0]), jpeg(frame: segment(0xC0, [8, 0, 1])),
    ]) func `A JPEG without a size is damaged`(_ bytes: [UInt8]) {
        #expect(Self.isDamaged(bytes, .jpeg))
    }

    @Test func `The first orientation of a JPEG that is not upright counts`() throws {
        #expect(try Self.read(jpeg(segments: exif(tiff(3)) + exif(tiff(6)))).orientation == .down)
    }

    // MARK: GIF

    @Test func `The frames of a GIF that ends early are those that have begun`() throws {
        let bytes = gif(frames: 4)
        #expect(try Self.read(Array(bytes.dropLast(20))).frames == 3)
        #expect(try Self.read(bytes.dropLast() + [0x99]).frames == 4)
    }

    @Test(arguments: [gif(0, 37, frames: 1), gif(61, 0, frames: 1), gif(frames: 0), gif(frames: 0).dropLast() + [0x99]])
    func `A GIF without size or frames is damaged`(_ bytes: [UInt8]) {
        #expect(Self.isDamaged(bytes, .gif))
    }

    @Test func `A frame of a GIF that is larger than the limit is refused`() {
        let bytes = gif(frames: 1).dropLast() + gifFrame(50_000, 50_000)
        #expect(throws: ImageError.tooManyPixels(width: 50_000, height: 50_000, limit: 100_000_000)) {
            try Self.read(bytes)
        }
    }

    // MARK: WebP

    @Test func `The largest sizes of WebP are read`() throws {
        let limits = ImageLimits(pixels: 1 << 48)
        for (bytes, side) in [(vp8(16383, 16383), 16383), (vp8L(16384, 16384), 16384)] {
            let header = try ImageHeader(of: Data(webP(bytes)), limits: limits)
            #expect((header.width, header.height) == (side, side))
        }
        let header = try ImageHeader(of: Data(webP(vp8X(flags: 0, 1 << 24, 1 << 24))), limits: limits)
        #expect((header.width, header.height, header.frames) == (1 << 24, 1 << 24, 1))
    }

    @Test(arguments: [
        webP(riff("VP8 ", [0x11, 0, 0, 0x9D, 1, 0x2A, 1, 0, 1, 0])),
        webP(riff("VP8 ", [0, 0, 0, 0x9D, 1, 0x2B, 1, 0, 1, 0])),
        webP(vp8(0, 37)), webP(vp8L(version: 1)), webP(riff("VP8L", [0x2E, 0, 0, 0, 0])), webP(riff("ALPH", [])),
        webP(riff("VP8X", [2])), webP(vp8X(flags: 2)), riff("RIFF", Array("WEBP".utf8)),
        Array("RIFF".utf8) + le32(20) + Array("WEBPVP8 ".utf8) + le32(100) + vp8().dropFirst(8),
    ]) func `A WebP with an invalid first chunk or no frame is damaged`(_ bytes: [UInt8]) {
        #expect(Self.isDamaged(bytes, .webP))
    }

    @Test func `The orientation of a WebP counts only with its flag`() throws {
        let (plain, prefixed) = (riff("EXIF", tiff(6)), riff("EXIF", Array("Exif\0\0".utf8) + tiff(6)))
        #expect(try Self.read(webP(vp8X(flags: 8) + vp8() + plain)).orientation == .right)
        #expect(try Self.read(webP(vp8X(flags: 8) + vp8() + prefixed)).orientation == .right)
        #expect(try Self.read(webP(vp8X(flags: 0) + vp8() + plain)).orientation == .up)
    }

    @Test func `The last byte of padding of a WebP may be missing`() throws {
        let chunks = vp8X(flags: 2) + anmf() + riff("ANMF", [UInt8](repeating: 0, count: 17)).dropLast()
        #expect(try Self.read(webP(chunks)).frames == 2)
    }

    // MARK: BMP

    @Test(arguments: [12, 16, 40, 52, 56, 64, 108, 124]) func `Each header of BMP is read`(_ size: Int) throws {
        #expect(try Self.read(bmp(size: size)) == .sample(.bmp))
    }

    @Test func `The rows of a BMP may be stored from top to bottom`() throws {
        #expect(try Self.read(bmp(61, -37)) == .sample(.bmp))
    }

    @Test(arguments: [bmp(size: 41), bmp(size: 0), bmp(0, 37), bmp(61, 0), bmp(-61, 37), bmp(-0x8000_0000, 1)])
    func `A BMP with an unknown header or no size is damaged`(_ bytes: [UInt8]) {
        #expect(Self.isDamaged(bytes, .bmp))
    }
}

@Suite("Headers of SVG", .timeLimit(.minutes(5)))
struct SVGHeaderTests {
    private static func size(_ text: String) throws -> [Int] {
        let header = try ImageHeader(of: Data(text.utf8))
        #expect(header.format == .svg && header.frames == 1 && header.orientation == .up)
        return [header.width, header.height]
    }

    @Test(arguments: [
        ("width='61' height=\"37\"", [61, 37]), ("width = '61px'\n\theight='37PX'", [61, 37]),
        ("width='2.54cm' height='25.4mm'", [96, 96]), ("width='1in' height='101.6Q'", [96, 96]),
        ("width='72pt' height='6pc'", [96, 96]), ("width='1e2' height='+.5E1px'", [100, 5]),
        ("width='10.2' height='0.1'", [11, 1]), ("width=' 61 ' height='37'", [61, 37]),
        ("width='61' height='37' viewBox='0 0 1 1'", [61, 37]), ("viewBox='0 0 61 37'", [61, 37]),
        ("viewBox='-5,-5, 61.0,37'", [61, 37]), ("width='100%' height='100%' viewBox='0 0 61 37'", [61, 37]),
        ("width='10em' viewBox='0 0 61 37'", [61, 37]), ("width='122' viewBox='0 0 61 37'", [122, 74]),
        ("height='74' viewBox='0 0 61 37'", [122, 74]), ("width=' auto' height='37' viewBox='0 0 61 37'", [61, 37]),
        ("", [300, 150]), ("width='61'", [61, 150]), ("height='37'", [300, 37]), ("viewBox='0 0 61'", [300, 150]),
        ("viewBox='0 0 0x10 0x10'", [300, 150]), ("stroke-width='1' data-height='2' x:width='3'", [300, 150]),
        ("title='width=\"5\" > >' width='61' height='37'", [61, 37]), ("width='10 20' height='37'", [300, 37]),
    ]) func `Lengths and the view box are the size`(_ attributes: String, _ size: [Int]) throws {
        #expect(try Self.size(svg(attributes)) == size)
    }

    @Test(arguments: [
        "\u{FEFF}", " \r\n\t", "<?xml version=\"1.0\" encoding='UTF-8'?>\n", "<!-- <svg width='1'> - -- > -->",
        "<!---->",
        "<?xml-stylesheet href='a>b'?>",
        "<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd\">",
        "<!DOCTYPE svg [ <!ENTITY a \"]>\"> <!-- don't ]> --> <?p ' ?> <!ENTITY b 'c'> ]>",
        "\u{FEFF}<?xml version='1.0'?><!-- a --><!DOCTYPE svg><!-- b -->\n",
    ]) func `What precedes the first element is skipped`(_ start: String) throws {
        let text = svg("width='61' height='37'", before: start)
        #expect(try Self.size(text) == [61, 37])
        #expect(HeaderChecks.violation(byCutsOf: Array(text.utf8)) == nil)
    }

    @Test func `The element may have a prefix, no attributes and no content`() throws {
        #expect(try Self.size("<s:svg width='61' height='37'/>") == [61, 37])
        #expect(try Self.size("<svg/>") == [300, 150])
        #expect(try Self.size("<svg>") == [300, 150])
    }

    @Test(arguments: [
        "width='0'", "width='-1'", "width='1e999'", "width='2147483648'", "width='1e9in'", "viewBox='0 0 0 0'",
        "viewBox='0 0 -1 5'", "width='5' viewBox='0 0 0 1'", "width=5", "width", "width='5' =", "'5'",
    ]) func `A size that is not positive, too large or malformed is damaged`(_ attributes: String) {
        let error = #expect(throws: ImageError.self) { try Self.size(svg(attributes)) }
        guard case .damaged(.svg, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `A start tag that does not end within 64 KiB is refused`() throws {
        let long = svg("width='61' height='37'", before: "<!--" + String(repeating: "-", count: 65_000) + "-->")
        #expect(try Self.size(long) == [61, 37])
        let comment = svg("", before: "<!--" + String(repeating: "a", count: 65_536) + "-->")
        #expect(throws: ImageError.unknownFormat) { try Self.size(comment) }
        #expect(throws: ImageError.unknownFormat) { try ImageHeader.probe(comment.utf8) }
        let attribute = "a='\(String(repeating: "a", count: 65_536))'"
        let error = #expect(throws: ImageError.self) { try Self.size(svg(attribute)) }
        guard case .damaged(.svg, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `A slow start at least doubles`() throws {
        let bytes = Array(svg("", before: "<!--" + String(repeating: "a", count: 60_000)).utf8)
        for count in [0, 1, 300, 1000, 30_000] {
            guard case .needsBytes(let needed) = try ImageHeader.probe(bytes.prefix(count)) else {
                Issue.record("\(count)")
                continue
            }
            #expect(needed >= 2 * count)
        }
    }
}

/// Mutated images from a fixed seed, for ten minutes with `ERRAND_SLOW_TESTS=1` and for a second otherwise.
@Suite(.timeLimit(.minutes(15)))
struct ImageFuzzTests {
    private static let duration: Duration =
        ProcessInfo.processInfo.environment["ERRAND_SLOW_TESTS"] == "1" ? .seconds(600) : .seconds(1)

    @Test func `No mutated image traps or violates an invariant`() async throws {
        var random = Mutations(seed: 2026)
        let samples = ImageSamples.all.map(\.bytes)
        let end = ContinuousClock.now + Self.duration
        while ContinuousClock.now < end {
            for sample in samples {
                let bytes = random.mutated(sample)
                let pixels = random.isTrue ? 100_000_000 : Int.max
                let limits = ImageLimits(pixels: pixels, bytes: random.isTrue ? 32 << 20 : 1000)
                let violation = HeaderChecks.violation(byReading: bytes, limits: limits)
                try #require(violation == nil, "\(Data(bytes).base64EncodedString())")
                let cutViolation = bytes.count < 300 ? HeaderChecks.violation(byCutsOf: bytes) : nil
                try #require(cutViolation == nil, "\(Data(bytes).base64EncodedString())")
            }
            // Other tests need the thread.
            await Task.yield()
        }
    }
}

/// Changes that keep most of a header, so that they reach all of its reader.
private struct Mutations {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// SplitMix64.
    private mutating func next(below bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(max(1, bound)))
    }

    var isTrue: Bool { mutating get { next(below: 2) == 0 } }

    mutating func mutated(_ sample: [UInt8]) -> [UInt8] {
        var bytes = sample
        for _ in 0..<1 + next(below: 4) { mutate(&bytes) }
        // So that a mutation of IHDR is not always stopped by its checksum.
        if bytes.count > 33, isTrue { bytes.replaceSubrange(29..<33, with: chunk("", Array(bytes[12..<29])).suffix(4)) }
        return bytes
    }

    private mutating func mutate(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        let position = next(below: bytes.count)
        let extremes: [UInt8] = [0, 1, 0x7F, 0x80, 0xFF, 0xFE, 0x20, 0x3C, 0x22]
        switch next(below: 7) {
        case 0: bytes[position] ^= 1 << UInt8(next(below: 8))
        case 1: bytes[position] = extremes[next(below: extremes.count)]
        case 2: for index in bytes[position...].indices.prefix(4) { bytes[index] = isTrue ? 0xFF : 0 }
        case 3: bytes.removeSubrange(position..<min(bytes.count, position + 1 + next(below: 8)))
        case 4: bytes.insert(contentsOf: bytes[position...].prefix(next(below: 40)), at: position)
        case 5: bytes.removeSubrange(position...)
        default: bytes.insert(contentsOf: [UInt8](repeating: bytes[position], count: next(below: 3000)), at: position)
        }
    }
}

/// The files of PngSuite, where the corrupt ones are named `x…`.
@Suite("PngSuite", .enabled(if: PNGSuite.exists, "no ../shared/data/pngsuite"), .timeLimit(.minutes(5)))
struct PNGSuiteTests {
    @Test func `The suite is complete`() {
        #expect(PNGSuite.names.count == 175)
        #expect(PNGSuite.names.filter { $0.hasPrefix("x") }.count == 14)
    }

    @Test(arguments: PNGSuite.names.filter { !$0.hasPrefix("x") || $0 == "xcsn0g01" })
    func `A valid header is read as the name of its file says`(_ name: String) throws {
        let header = try ImageHeader(of: PNGSuite.data(name))
        let (width, height) = PNGSuite.size(name)
        #expect(header.format == .png && header.width == width && header.height == height)
        #expect(header.frames == 1)
        // Also what `IHDR` says at its place.
        let bytes = try [UInt8](PNGSuite.data(name))
        #expect(Array(bytes[16..<24]) == be32(header.width) + be32(header.height))
    }

    @Test func `The orientation in EXIF is read`() throws {
        #expect(try ImageHeader(of: PNGSuite.data("exif2c08")).orientation == .up)
    }

    @Test(arguments: PNGSuite.names.filter { $0.hasPrefix("x") && $0 != "xcsn0g01" })
    func `A corrupt header is refused`(_ name: String) throws {
        let data = try PNGSuite.data(name)
        // The signature itself is damaged.
        let isUnknown = name.hasPrefix("xs") || name.hasPrefix("xcr") || name.hasPrefix("xlf")
        let error = try #require(throws: ImageError.self) { try ImageHeader(of: data) }
        #expect((error == .unknownFormat) == isUnknown)
        #expect(throws: error) { try ImageHeader.probe(data) }
    }

    @Test(arguments: PNGSuite.names) func `No cut is read otherwise than the whole`(_ name: String) throws {
        #expect(try HeaderChecks.violation(byCutsOf: [UInt8](PNGSuite.data(name))) == nil)
    }
}

/// Conformance data outside the package.
enum PNGSuite {
    private static let folder = URL(filePath: #filePath).appending(path: "../../../../../shared/data/pngsuite")
        .standardizedFileURL

    static let names: [String] = {
        let files = try? FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
        return (files ?? []).filter { $0.hasSuffix(".png") }.map { String($0.dropLast(4)) }.sorted()
    }()

    static var exists: Bool { !names.isEmpty }

    static func data(_ name: String) throws -> Data { try Data(contentsOf: folder.appending(path: name + ".png")) }

    /// By the conventions of the suite.
    static func size(_ name: String) -> (width: Int, height: Int) {
        switch name.prefix(3) {
        case "cdf": (8, 32)
        case "cdh": (32, 8)
        case "cds": (8, 8)
        default: name.hasPrefix("s") ? square(name) : (32, 32)
        }
    }

    private static func square(_ name: String) -> (width: Int, height: Int) {
        let side = Int(name.dropFirst().prefix(2)) ?? 0
        return (side, side)
    }
}
