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
