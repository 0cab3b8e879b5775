import Foundation
import Testing

@testable import ErrandImages

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
