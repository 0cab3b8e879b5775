import Testing

@testable import Errand
@testable import ErrandTestSupport

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
