import TestSupport
import Testing

@testable import FixtureServer

@Suite("Compression", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CompressionTests {
    @Test(.startsPrograms, arguments: [0, 1, 257, 258, 259, 2322, 2323, 100_000, 100_001] as [Int64])
    func `A bomb is valid gzip and zlib with correct checksums`(count: Int64) throws {
        let zeros = [UInt8](repeating: 0, count: Int(count))
        #expect(try Gunzip.run(DecompressionBomb.gzip(count)) == zeros)
        #expect(CRC32.ofZeros(count) == CRC32.of(zeros))
        #expect(DecompressionBomb.zlib(count).count == DecompressionBomb.gzip(count).count - 12)
    }

    @Test func `A bomb of a gibibyte is small`() {
        #expect(DecompressionBomb.gzip(1 << 30).count < 7 << 20)
    }

    @Test(.startsPrograms, arguments: [0, 1, 2000, 65_535, 65_536, 200_000])
    func `Stored blocks are valid gzip`(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(try Gunzip.run(Gzip.encode(bytes)) == bytes)
    }
}
