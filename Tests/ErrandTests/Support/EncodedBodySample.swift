#if os(Linux)
import FixtureServer
import Foundation

@testable import Errand

/// A generated body in generated codings, and the result that a client must have.
struct EncodedBodySample: CustomStringConvertible {
    /// A client may refuse `manyMembers` empty members, and must accept `someMembers`.
    private static let manyMembers = 100_000
    private static let someMembers = 5_000

    let content: [UInt8]
    /// The encoded bytes.
    private(set) var bytes: [UInt8]
    /// The codings in the order of `Content-Encoding`.
    private(set) var codings: [ContentCoding] = []
    let limit: Int
    private var hasManyMembers = false

    init(_ random: inout SplitMix) {
        content = Self.content(&random)
        bytes = content
        limit = content.isEmpty || Int.random(in: 0..<4, using: &random) > 0 ? 32 << 20 : content.count - 1
        for _ in 0..<Int.random(in: 1...4, using: &random) { add(&random) }
    }

    /// The permitted endings of the load; `nil` is success with the content.
    var endings: [TransportError.Kind?] {
        if codings.count > 2 { return [.badResponse] }
        if hasManyMembers { return [.badResponse, .responseTooLarge] }
        return [content.count > limit ? .responseTooLarge : nil]
    }

    var description: String { "\(content.count) bytes in \(codings), limit \(limit), to \(bytes.count)" }

    private static func content(_ random: inout SplitMix) -> [UInt8] {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: []
        case 1: Array("hello, layers. ".utf8)
        case 2: [UInt8](repeating: 0, count: 3_000_000)
        default: (0..<10_000).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        }
    }

    private mutating func add(_ random: inout SplitMix) {
        let coding = ContentCoding.allCases.randomElement(using: &random) ?? .gzip
        codings.append(bytes.isEmpty || bytes.count > 60_000 ? .gzip : coding)
        switch codings[codings.count - 1] {
        case .gzip: bytes = gzip(&random)
        case .deflate: bytes = Zlib.deflate(bytes)
        case .brotli: bytes = StoredCoding.brotli(bytes)
        case .zstd: bytes = StoredCoding.zstd(bytes)
        }
    }

    /// Returns the bytes as one or several members, after empty ones.
    private mutating func gzip(_ random: inout SplitMix) -> [UInt8] {
        let counts = [0, 0, 1, Self.someMembers, Self.manyMembers]
        let count = counts.randomElement(using: &random) ?? 0
        if count == Self.manyMembers { hasManyMembers = true }
        let cut = Int.random(in: 0...bytes.count, using: &random)
        let members = Zlib.gzip(Array(bytes[..<cut])) + Zlib.gzip(Array(bytes[cut...]))
        return Zlib.emptyMembers(count) + members
    }
}

/// The uncompressed forms of codings.
enum StoredCoding {
    /// Brotli (RFC 7932) of 1 to 65,536 bytes.
    static func brotli(_ bytes: [UInt8]) -> [UInt8] {
        littleEndian(UInt32(bytes.count - 1) << 4 | 1 << 20, bytes: 3) + bytes + [3]
    }

    /// Zstandard (RFC 8878) of up to 131,072 bytes.
    static func zstd(_ bytes: [UInt8]) -> [UInt8] {
        let count = UInt32(bytes.count)
        let header: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0xA0]
        return header + littleEndian(count, bytes: 4) + littleEndian(count << 3 | 1, bytes: 3) + bytes
    }

    private static func littleEndian(_ number: UInt32, bytes: Int) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}
#endif
