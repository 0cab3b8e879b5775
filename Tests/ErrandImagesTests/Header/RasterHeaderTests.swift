import Foundation
import Testing

@testable import ErrandImages

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

    @Test(arguments: [
        tiff(0), tiff(9), tiff(6, type: 4), tiff(6, count: 2), Array(tiff(6).prefix(30)), [], Array("II*\0".utf8),
        Array("XX*\0".utf8) + tiff(6).dropFirst(4), Array(tiff(6).prefix(4)) + be32(4) + tiff(6).dropFirst(8),
        Array(tiff(6).prefix(4)) + be32(0xFFFF_FFFF) + tiff(6).dropFirst(8),
        Array(tiff(6).prefix(8)) + be16(0xFFFF) + be16(0x010F),
    ]) func `Broken EXIF is upright`(_ tiff: [UInt8]) throws {
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
