import Foundation

@testable import ErrandImages

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
        for count in 0...bytes.count {
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
