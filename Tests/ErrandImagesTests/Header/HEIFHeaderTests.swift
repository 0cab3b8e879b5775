import Foundation
import Testing

@testable import ErrandImages

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
