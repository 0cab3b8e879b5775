import Testing

@testable import Errand
@testable import ErrandTestSupport

#if os(Linux)
import FixtureServer
import Foundation
import Testing
@testable import Errand
@testable import ErrandTestSupport

@Suite("The decoder of a body", .timeLimit(.minutes(10)))
struct BodyDecoderTests {
    /// The decoded bytes, and the most that were decoded within one budget.
    private struct Outcome {
        var bytes: [UInt8] = []
        var largestTurn = 0
        var turns = 1
    }

    private static let turnLimit = (1 << 20) + (1 << 16)

    /// Decodes `bytes` in pieces of generated sizes, with a new budget whenever one is spent.
    private func decode(
        _ bytes: [UInt8],
        _ codings: [ContentCoding],
        limit: Int? = nil,
        seed: UInt64 = 0
    ) throws(TransportError) -> Outcome {
        let decoder = try BodyDecoder(codings, limit: limit)
        var outcome = Outcome()
        var random = SplitMix(seed: seed)
        var rest = bytes[...]
        while !rest.isEmpty || decoder.isBusy {
            var budget = DecodingBudget()
            var count = 0
            let piece = rest.prefix(Int.random(in: 1...16_384, using: &random))
            let used = try piece.withUnsafeBytes { buffer in
                Result { () throws(TransportError) in
                    var input = buffer
                    _ = try decoder.decode(&input, within: &budget) { part in
                        count += part.count
                        if outcome.bytes.count < 1 << 25 { outcome.bytes += part }
                        return true
                    }
                    return buffer.count - input.count
                }
            }.get()
            rest = rest.dropFirst(used)
            outcome.largestTurn = max(outcome.largestTurn, count)
            outcome.turns += 1
        }
        try decoder.finish()
        return outcome
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `NUL bytes after gzip are ignored, and nothing else is`(_ seed: UInt64) throws {
        let body = Zlib.gzip([1, 2]) + Zlib.gzip([3])
        for count in [1, 511, 40_000] {
            let padding = [UInt8](repeating: 0, count: count)
            #expect(try decode(body + padding, [.gzip], seed: seed).bytes == [1, 2, 3])
            #expect(try decode(Zlib.gzip(body + padding), [.gzip, .gzip], seed: seed).bytes == [1, 2, 3])
            for rest in [[1], Zlib.gzip([4]), [0x1F]] as [[UInt8]] {
                let error = #expect(throws: TransportError.self) {
                    try decode(body + padding + rest, [.gzip], seed: seed)
                }
                #expect(error?.kind == .badResponse)
            }
        }
        #expect(throws: TransportError.self) { try decode(StoredCoding.brotli([1]) + [0], [.brotli], seed: seed) }
        #expect(throws: TransportError.self) { try decode([0, 0], [.gzip], seed: seed) }
        let endless = [UInt8](repeating: 0, count: 2 << 20)
        #expect(throws: TransportError.self) { try decode(body + endless, [.gzip], seed: seed) }
    }

    @Test(.fault(86), arguments: 0..<4)
    func `Generated layers decode to their source, or fail as expected`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        for _ in 0..<10 {
            let layering = EncodedBodySample(&random)
            guard layering.codings.count <= BodyFraming.codingLimit else { continue }
            var ending: TransportError.Kind?
            do throws(TransportError) {
                let outcome = try decode(layering.bytes, layering.codings.reversed(), limit: layering.limit, seed: seed)
                #expect(outcome.bytes == layering.content, "\(layering)")
                #expect(outcome.largestTurn <= Self.turnLimit, "\(layering)")
            } catch {
                ending = error.kind
            }
            #expect(layering.endings.contains(ending), "\(layering)")
        }
    }

    @Test(.fault(86), arguments: [1, 2])
    func `A bomb is decoded in small parts`(_ layers: Int) throws {
        let count = 100_000_000
        let bomb = DecompressionBomb.gzip(Int64(count))
        let outcome = try decode(layers == 1 ? bomb : Zlib.gzip(bomb), Array(repeating: .gzip, count: layers))
        #expect(outcome.largestTurn <= Self.turnLimit)
        #expect(outcome.turns > count / Self.turnLimit)
    }

    @Test(.fault(86)) func `Empty streams spend the budget and end`() throws {
        let some = Zlib.emptyMembers(10_000)
        #expect(try decode(some + Zlib.gzip([1]), [.gzip]).bytes == [1])
        #expect(try decode(Zlib.gzip(some), [.gzip, .gzip]).turns > 4)
        let many = Zlib.emptyMembers(60_000)
        for (bytes, count) in [(many, 1), (Zlib.gzip(many), 2)] {
            let error = #expect(throws: TransportError.self) {
                try decode(bytes, Array(repeating: .gzip, count: count))
            }
            #expect(error?.kind == .badResponse)
        }
    }

    @Test(.fault(86)) func `A stream that is flushed at each byte is decoded`() throws {
        let count = 100_000
        let members = repeatElement(Zlib.gzip([7]), count: count)
        #expect(try decode(Array(members.joined()), [.gzip]).bytes == Array(repeatElement(7, count: count)))
    }

    @Test(.fault(86)) func `The limit applies to each layer, and not to a body within it`() throws {
        let random = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* $0 &* 31) }
        let twice = Zlib.gzip(StoredCoding.brotli(random))
        #expect(try decode(twice, [.gzip, .brotli], limit: random.count).bytes == random)
        let bomb = Zlib.gzip([UInt8](repeating: 0, count: 1_000_000))
        for codings in [[ContentCoding.gzip], [.gzip, .gzip]] {
            let error = #expect(throws: TransportError.self) { try decode(bomb, codings, limit: 1_000) }
            #expect([.responseTooLarge, .badResponse].contains(error?.kind))
        }
    }
}
#endif

@Suite("The framing of a body", .timeLimit(.minutes(10)))
struct BodyFramingTests {
    private static func codings(_ headers: HTTPHeaders) throws(TransportError) -> [ContentCoding] {
        try BodyFraming(headers).codings { $0 != .zstd }
    }

    @Test(.fault(82), arguments: 0..<10)
    func `Generated transfer codings are decoded from the last to the first, or refused`(seed: UInt64) {
        var random = SplitMix(seed: seed)
        for _ in 0..<300 {
            let list = GeneratedCodings(&random)
            let found = try? Self.codings(list.headers)
            #expect(found == list.expected, "\(list.headers.map { "\($0.name): \($0.value)" })")
        }
    }

    @Test func `Transfer codings are decoded before content codings`() throws {
        let headers: HTTPHeaders = ["Content-Encoding": "br", "Transfer-Encoding": "gzip, chunked"]
        #expect(try Self.codings(headers) == [.gzip, .brotli])
        #expect(try Self.codings(["content-encoding": "BR, Identity , X-GZIP"]) == [.gzip, .brotli])
    }

    @Test func `An unknown content coding is not decoded, nor are those inside it`() throws {
        #expect(try Self.codings(["Content-Encoding": "foo, gzip"]) == [.gzip])
        #expect(try Self.codings(["Content-Encoding": "gzip, foo"]) == [])
        #expect(try Self.codings(["Content-Encoding": "gzip, zstd"]) == [])
    }

    @Test func `A transfer coding overrides the length`() throws {
        #expect(try BodyFraming(["Content-Length": "3"]).contentLength() == 3)
        #expect(try BodyFraming(["Content-Length": "3", "Transfer-Encoding": "chunked"]).contentLength() == nil)
    }

    @Test(.fault(9), arguments: ["-1", "+1", "1x", "", " ", "1, 2", "1,", "0x1", "99999999999999999999"])
    func `An invalid length is refused`(_ length: String) {
        #expect(throws: TransportError.self) { try BodyFraming(["Content-Length": length]).contentLength() }
    }
}

/// `Transfer-Encoding` lines of generated elements, and the codings that a client has to decode.
private struct GeneratedCodings {
    private static let elements = [
        "gzip", "x-gzip", "deflate", "br", "zstd", "chunked", "chunked", "chunked", "identity", "identityx", "xyz",
        "compress", "chunked;a=b", "gzip;q=1", "",
    ]

    let headers: HTTPHeaders
    /// `nil` when the response must be refused.
    let expected: [ContentCoding]?

    init(_ random: inout SplitMix) {
        let names = (0..<Int.random(in: 0...4, using: &random)).map { _ in
            Self.elements.randomElement(using: &random) ?? ""
        }
        let hasLength = Bool.random(using: &random)
        var lines = HTTPHeaders(hasLength ? [HTTPField("Content-Length", "5")] : [])
        let cut = Int.random(in: 0...names.count, using: &random)
        for part in [names[..<cut], names[cut...]] where !part.isEmpty {
            let blank = Bool.random(using: &random) ? " \t" : ""
            let value = part.joined(separator: "\(blank),\(blank)")
            lines.append("Transfer-Encoding", Bool.random(using: &random) ? value.uppercased() : value)
        }
        headers = lines
        expected = Self.expected(names.filter { !$0.isEmpty }, hasLength: hasLength)
    }

    /// RFC 9112 section 6.1, implemented differently from the library.
    private static func expected(_ names: [String], hasLength: Bool) -> [ContentCoding]? {
        if names.isEmpty || names == ["identity"] || names == ["chunked"] { return [] }
        let isChunked = names.last == "chunked"
        if !isChunked && hasLength { return nil }
        let inner = isChunked ? names.dropLast() : names[...]
        let known = ["gzip": ContentCoding.gzip, "x-gzip": .gzip, "deflate": .deflate, "br": .brotli]
        let codings = inner.compactMap { known[$0] }
        return codings.count == inner.count && codings.count <= 2 ? codings.reversed() : nil
    }
}
