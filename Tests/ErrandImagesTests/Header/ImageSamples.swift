import Foundation
import TestSupport

@testable import ErrandImages

/// Builds images byte by byte; only what a header reader reads is as in a real one.
enum ImageSamples {
    /// With the header that is expected of each.
    static let all: [(name: String, bytes: [UInt8], header: ImageHeader)] = [
        ("png", png(), .sample(.png)),
        ("apng", png(chunks: chunk("acTL", be32(7) + be32(0))), .sample(.png, frames: 7)),
        ("png with EXIF", png(chunks: chunk("eXIf", tiff(6))), .sample(.png, .right)),
        ("jpeg", jpeg(), .sample(.jpeg)), ("jpeg with EXIF", jpeg(segments: exif(tiff(8))), .sample(.jpeg, .left)),
        ("gif", gif(frames: 1), .sample(.gif)), ("animated gif", gif(frames: 5), .sample(.gif, frames: 5)),
        ("VP8", webP(vp8()), .sample(.webP)), ("VP8L", webP(vp8L()), .sample(.webP)),
        ("VP8X", webP(vp8X(flags: 8) + vp8() + riff("EXIF", tiff(5))), .sample(.webP, .leftMirrored)),
        (
            "animated WebP", webP(vp8X(flags: 2) + anmf() + anmf() + anmf()), .sample(.webP, frames: 3)
        ),
        ("bmp", bmp(), .sample(.bmp)), ("core bmp", bmp(size: 12), .sample(.bmp)),
        ("heic", heif(), .sample(.heic)),
        ("avif", heif("avif", turns: [irot(1), imir(1)]), .sample(.avif, .rightMirrored)),
        ("avif sequence", heif("avis"), .sample(.avif, frames: nil)),
        ("svg", Array(svg(#"width="61" height='37'"#).utf8), .sample(.svg)),
    ]

    static func sample(_ format: ImageHeader.Format) -> [UInt8] {
        all.first { $0.header.format == format }?.bytes ?? []
    }
}

extension ImageHeader {
    /// 61 × 37 pixels.
    static func sample(_ format: Format, _ orientation: Orientation = .up, frames: Int? = 1) -> ImageHeader {
        ImageHeader(format: format, width: 61, height: 37, orientation: orientation, frames: frames)
    }
}

// MARK: Numbers

func be16(_ number: Int) -> [UInt8] { [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)] }
func be32(_ number: Int) -> [UInt8] { be16(number >> 16) + be16(number) }
func le16(_ number: Int) -> [UInt8] { be16(number).reversed() }
func le24(_ number: Int) -> [UInt8] { le16(number) + [UInt8(truncatingIfNeeded: number >> 16)] }
func le32(_ number: Int) -> [UInt8] { be32(number).reversed() }

// MARK: EXIF

/// With one entry before the orientation.
func tiff(_ orientation: Int, isLittleEndian: Bool = false, type: Int = 3, count: Int = 1) -> [UInt8] {
    let (short, long) = isLittleEndian ? (le16, le32) : (be16, be32)
    let make = short(0x010F) + short(2) + long(4) + Array("ACM\0".utf8)
    let entry = short(0x0112) + short(type) + long(count) + short(orientation) + short(0)
    return Array(isLittleEndian ? "II*\0".utf8 : "MM\0*".utf8) + long(8) + short(2) + make + entry + long(0)
}

func exif(_ tiff: [UInt8]) -> [UInt8] { segment(0xE1, Array("Exif\0\0".utf8) + tiff) }

// MARK: PNG

let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

func chunk(_ type: String, _ content: [UInt8] = []) -> [UInt8] {
    be32(content.count) + type.utf8 + content + be32(crc32(Array(type.utf8) + content))
}

/// By its definition, as a division of polynomials.
private func crc32(_ bytes: [UInt8]) -> Int {
    var crc: UInt32 = 0xFFFF_FFFF
    for byte in bytes {
        for bit in 0..<8 {
            let isSet = (crc & 1) != UInt32(byte >> UInt8(bit) & 1)
            crc = crc >> 1
            if isSet { crc ^= 0xEDB8_8320 }
        }
    }
    return Int(crc ^ 0xFFFF_FFFF)
}

func ihdr(_ width: Int = 61, _ height: Int = 37, _ rest: [UInt8] = [8, 2, 0, 0, 0]) -> [UInt8] {
    chunk("IHDR", be32(width) + be32(height) + rest)
}

func png(_ start: [UInt8] = ihdr(), chunks: [UInt8] = []) -> [UInt8] {
    pngSignature + start + chunks + chunk("IDAT", [1, 2, 3]) + chunk("IEND")
}

// MARK: JPEG

func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] { [0xFF, marker] + be16(content.count + 2) + content }

func frame(_ marker: UInt8 = 0xC0, _ width: Int = 61, _ height: Int = 37) -> [UInt8] {
    segment(marker, [8] + be16(height) + be16(width) + [1, 1, 0x11, 0])
}

func jpeg(segments: [UInt8] = [], frame: [UInt8] = frame()) -> [UInt8] {
    [0xFF, 0xD8] + segment(0xE0, Array("JFIF\0".utf8)) + segments + segment(0xC4, [0]) + frame + segment(0xDA, [1])
        + [0, 0xFF, 0xD9]
}

// MARK: GIF

func gifFrame(_ width: Int = 61, _ height: Int = 37, flags: UInt8 = 0) -> [UInt8] {
    let colors = [UInt8](repeating: 0, count: flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1))
    return [0x21, 0xF9, 4, 0, 0, 0, 0, 0, 0x2C] + le16(0) + le16(0) + le16(width) + le16(height) + [flags] + colors
        + [2, 2, 0x4C, 1, 0]
}

func gif(_ width: Int = 61, _ height: Int = 37, frames: Int) -> [UInt8] {
    let body = (0..<frames).flatMap { gifFrame(flags: $0 == 1 ? 0x81 : 0) }
    return Array("GIF89a".utf8) + le16(width) + le16(height) + [0x80, 0, 0] + [0, 0, 0, 9, 9, 9] + body + [0x3B]
}

// MARK: BMP

func bmp(size: Int = 40, _ width: Int = 61, _ height: Int = 37) -> [UInt8] {
    let sides = size == 12 ? le16(width) + le16(height) : le32(width) + le32(height)
    let header = le32(size) + sides + le16(1) + le16(24)
    return Array("BM".utf8) + le32(1000) + le32(0) + le32(14 + size) + header
        + [UInt8](repeating: 0, count: max(0, size - header.count) + 8)
}

// MARK: WebP

func riff(_ type: String, _ content: [UInt8]) -> [UInt8] {
    Array(type.utf8) + le32(content.count) + content + [UInt8](repeating: 0, count: content.count & 1)
}

func webP(_ chunks: [UInt8]) -> [UInt8] { riff("RIFF", Array("WEBP".utf8) + chunks) }

func vp8(_ width: Int = 61, _ height: Int = 37) -> [UInt8] {
    riff("VP8 ", [0x10, 0, 0, 0x9D, 0x01, 0x2A] + le16(width | 0x4000) + le16(height | 0x8000) + [0])
}

func vp8L(_ width: Int = 61, _ height: Int = 37, version: Int = 0) -> [UInt8] {
    riff("VP8L", [0x2F] + le32(width - 1 | (height - 1) << 14 | 1 << 28 | version << 29) + [0])
}

func vp8X(flags: UInt8, _ width: Int = 61, _ height: Int = 37) -> [UInt8] {
    riff("VP8X", [flags, 0, 0, 0] + le24(width - 1) + le24(height - 1))
}

func anmf() -> [UInt8] { riff("ANMF", le24(0) + le24(0) + le24(60) + le24(36) + le24(100) + [0] + vp8()) }

// MARK: HEIF

func box(_ type: String, _ content: [UInt8]) -> [UInt8] { be32(content.count + 8) + type.utf8 + content }

func ispe(_ width: Int = 61, _ height: Int = 37) -> [UInt8] { box("ispe", be32(0) + be32(width) + be32(height)) }
func irot(_ angle: UInt8) -> [UInt8] { box("irot", [angle]) }
func imir(_ axis: UInt8) -> [UInt8] { box("imir", [axis]) }

func ftyp(_ major: String, _ compatible: [String] = ["mif1"]) -> [UInt8] {
    box("ftyp", major.utf8 + be32(0) + compatible.flatMap { Array($0.utf8) })
}

/// The primary item is 2 and has the second size; item 1 is a thumbnail.
func heif(
    _ brand: String = "heic",
    compatible: [String] = ["mif1"],
    size: [UInt8] = ispe(),
    turns: [[UInt8]] = [],
    ipma flags: Int = 0,
    version: Int = 0
) -> [UInt8] {
    func id(_ item: Int) -> [UInt8] { version == 0 ? be16(item) : be32(item) }
    func index(_ number: Int) -> [UInt8] { flags == 0 ? [UInt8(number) | 0x80] : be16(number | 0x8000) }
    let own = (0..<1 + turns.count).flatMap { index(3 + $0) }
    let ipma =
        be32(version << 24 | flags) + be32(2) + id(1) + [2] + index(1) + index(2) + id(2)
        + [UInt8(1 + turns.count)] + own
    let ipco = ispe(8, 8) + box("hvcC", [1, 2, 3]) + size + turns.flatMap(\.self)
    let meta =
        be32(0) + box("hdlr", [0]) + box("pitm", be32(version << 24) + id(2))
        + box("iprp", box("ipco", ipco) + box("ipma", ipma))
    return ftyp(brand, compatible) + box("free", [1]) + box("meta", meta) + box("mdat", [1, 2, 3])
}

// MARK: SVG

func svg(_ attributes: String, before: String = "") -> String {
    "\(before)<svg xmlns=\"http://www.w3.org/2000/svg\" \(attributes)><path stroke-width=\"9\"/></svg>"
}

extension ImageHeader {
    /// Without a copy, because there are many cuts.
    static func probe(_ bytes: some Sequence<UInt8>, limits: ImageLimits = ImageLimits()) throws -> ImageProbe {
        let result = bytes.withContiguousStorageIfAvailable { bytes in
            Result { () throws(ImageError) in try probe(UnsafeRawBufferPointer(bytes), limits: limits) }
        }
        return try result?.get() ?? probe(Array(bytes), limits: limits)
    }

    /// Whether a probe of a beginning may return this header, if `whole` is that of the whole image.
    ///
    /// Frames may be unknown, and the orientation of WebP, which is after the pixels.
    func agrees(with whole: ImageHeader) -> Bool {
        var expected = whole
        if frames == nil { expected.frames = nil }
        if format == .webP, orientation == .up { expected.orientation = .up }
        return self == expected
    }
}

/// What no image and no cut of it may violate; each returns the first violation.
///
/// One expectation for each cut would take most of the time.
enum HeaderChecks {
    /// - Returns: The first violation.
    static func violation(byCutsOf bytes: [UInt8]) -> String? {
        let data = Data(bytes)
        let whole = try? ImageHeader(of: data)
        // In an unoptimized build, every fourth cut.
        let step = 4 / rounds(4)
        for count in 0...bytes.count where count < 100 || count.isMultiple(of: step) {
            let cut = bytes.prefix(count)
            let header = try? ImageHeader(of: data.prefix(count))
            if let header, let whole, (header.width, header.height) != (whole.width, whole.height) {
                return "\(count) bytes are \(header)"
            }
            if let violation = violation(byProbeOf: cut, whole: whole) { return "\(count) bytes: \(violation)" }
        }
        return nil
    }

    private static func violation(byProbeOf cut: ArraySlice<UInt8>, whole: ImageHeader?) -> String? {
        do {
            switch try ImageHeader.probe(cut) {
            case .header(let header):
                return whole.map(header.agrees) == false ? "\(header)" : nil
            case .needsBytes(let count): return count > cut.count ? nil : "needs \(count)"
            }
        } catch {
            return whole == nil ? nil : "\(error)"
        }
    }

    /// The invariants of any bytes, whole and while they arrive.
    ///
    /// - Returns: The first violation.
    static func violation(byReading bytes: [UInt8], limits: ImageLimits) -> String? {
        do {
            let header = try ImageHeader(of: Data(bytes), limits: limits)
            if let violation = violation(by: header, limits: limits) { return violation }
        } catch {
            if error.description.isEmpty { return "no description" }
        }
        var (count, calls) = (0, 0)
        while count <= bytes.count {
            calls += 1
            guard calls <= 4 + bytes.count / 256 else { return "\(calls) calls for \(count) bytes" }
            guard let probe = try? ImageHeader.probe(bytes.prefix(count), limits: limits) else { return nil }
            switch probe {
            case .header(let header): return violation(by: header, limits: limits)
            case .needsBytes(let needed) where needed > count && needed <= limits.bytes: count = needed
            case .needsBytes(let needed): return "needs \(needed) after \(count)"
            }
        }
        return nil
    }

    private static func violation(by header: ImageHeader, limits: ImageLimits) -> String? {
        let (pixels, overflow) = header.width.multipliedReportingOverflow(by: header.height)
        let isValid = header.width > 0 && header.height > 0 && !overflow && pixels <= limits.pixels
        return isValid && header.frames ?? 1 > 0 ? nil : "\(header)"
    }
}
