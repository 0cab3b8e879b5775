#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Content codings", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CurlDecodingTests {
    private static let text = String(repeating: "hello, coding. ", count: 3_000)
    private let transport: CurlTransport

    init() throws {
        transport = try CurlTransport()
    }

    /// A server that responds with `steps` in a coding, and a request to it.
    private func start(
        _ coding: String,
        _ steps: [Response.Step],
        _ prepare: (inout HTTPRequest) -> Void = { _ in }
    ) throws -> (FixtureServer, HTTPRequest) {
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\n\r\n"
        let response = Response(steps: [.write(head)] + steps + [.close])
        let server = try FixtureServer.start { _ in response }
        var request = HTTPRequest(.get, server.url("/"))
        prepare(&request)
        return (server, request)
    }

    private func send(
        _ coding: String,
        _ steps: Response.Step...,
        prepare: (inout HTTPRequest) -> Void = { _ in }
    ) async throws -> HTTPResponse {
        let (server, request) = try start(coding, steps, prepare)
        defer { server.stop() }
        return try await transport.send(request)
    }

    private func failure(_ coding: String, _ bytes: [UInt8]) async throws -> TransportError.Kind? {
        let (server, request) = try start(coding, [.write(bytes)])
        defer { server.stop() }
        return await transport.ending(of: request)
    }

    private static func encode(_ text: String, _ coding: ContentCoding) -> [UInt8] {
        let bytes = Array(text.utf8)
        let count = UInt32(bytes.count)
        switch coding {
        case .gzip: return Gzip.encode(bytes)
        case .deflate: return Array(Gzip.encode(bytes).dropFirst(10).dropLast(8))
        case .brotli: return littleEndian((count - 1) << 4 | 1 << 20, bytes: 3) + bytes + [3]
        case .zstd:
            return [0x28, 0xB5, 0x2F, 0xFD, 0xA0] + littleEndian(count, bytes: 4)
                + littleEndian(count << 3 | 1, bytes: 3)
                + bytes
        }
    }

    private static func littleEndian(_ number: UInt32, bytes: Int) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    @Test func `All codings are offered once`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        _ = try await transport.send(HTTPRequest(.get, server.url("/")))
        let offered = try await server.takeRequest().headers.values("Accept-Encoding")
        #expect(offered == ["gzip, deflate, br, zstd"])
        _ = try await transport.send(HTTPRequest(.get, server.url("/"), headers: ["accept-encoding": "identity"]))
        #expect(try await server.takeRequest().headers.values("Accept-Encoding") == ["identity"])
    }

    @Test(arguments: ContentCoding.allCases)
    func `A coded body is decoded, and the header lines are not changed`(_ coding: ContentCoding) async throws {
        let response = try await send(coding.rawValue.uppercased(), .write(Self.encode(Self.text, coding)))
        #expect(String(decoding: response.body, as: UTF8.self) == Self.text)
        #expect(response.headers["Content-Encoding"] == coding.rawValue.uppercased())
    }

    @Test(arguments: ContentCoding.allCases)
    func `A coded body may be received byte by byte`(_ coding: ContentCoding) async throws {
        let bytes = Self.encode("hello", coding)
        let server = try FixtureServer.start { _ in
            .chunked(bytes.map { [$0] }, headers: ["Content-Encoding": coding.rawValue])
        }
        let response = try await transport.send(HTTPRequest(.get, server.url("/")))
        #expect(response.body == Data("hello".utf8))
    }

    @Test(.fault(8), arguments: ContentCoding.allCases)
    func `A truncated coded body is an error`(_ coding: ContentCoding) async throws {
        let bytes = Self.encode("hello", coding)
        for count in 1..<bytes.count {
            let kind = try await failure(coding.rawValue, Array(bytes[..<count]))
            #expect(kind == .connectionLost, "after \(count) bytes")
        }
    }

    @Test(.fault(8), arguments: ContentCoding.allCases)
    func `A corrupt coded body is a bad response`(_ coding: ContentCoding) async throws {
        let garbage = Array(repeating: UInt8(0xFF), count: 100)
        #expect(try await failure(coding.rawValue, garbage) == .badResponse)
        #expect(try await failure(coding.rawValue, Self.encode("hello", coding) + garbage) == .badResponse)
    }

    @Test func `A wrong checksum is a bad response`() async throws {
        var bytes = Self.encode("hello", .gzip)
        bytes[bytes.count - 8] ^= 1
        #expect(try await failure("gzip", bytes) == .badResponse)
    }

    @Test func `Members of a gzip file are one body`() async throws {
        let response = try await send("x-gzip", .write(Self.encode("hello, ", .gzip) + Self.encode("world", .gzip)))
        #expect(response.body == Data("hello, world".utf8))
    }

    @Test func `Several codings are decoded from the last to the first`() async throws {
        let inner = Gzip.encode(Array("hello".utf8))
        let response = try await send("gzip, identity , br", .write(Self.encodeBytes(inner)))
        #expect(response.body == Data("hello".utf8))
    }

    private static func encodeBytes(_ bytes: [UInt8]) -> [UInt8] {
        littleEndian(UInt32(bytes.count - 1) << 4 | 1 << 20, bytes: 3) + bytes + [3]
    }

    @Test func `A body with many codings is a bad response`() async throws {
        for count in 3...6 {
            let codings = Array(repeating: "gzip", count: count).joined(separator: ", ")
            #expect(try await failure(codings, Gzip.encode([])) == .badResponse)
        }
    }

    @Test func `A body in an unknown coding is not decoded`() async throws {
        #expect(try await send("utf-8", .write("hello")).body == Data("hello".utf8))
    }

    @Test func `An empty body is decoded to an empty body`() async throws {
        #expect(try await send("gzip").body.isEmpty)
    }

    @Test(.fault(52), arguments: ["gzip", "deflate"])
    func `A bomb ends as soon as it exceeds the limit, without further bytes`(_ coding: String) async {
        let limit = 10_000_000
        let zeros = Int64(limit + 10_000)
        let bomb = coding == "gzip" ? DecompressionBomb.gzip(zeros) : DecompressionBomb.zlib(zeros)
        let error = await #expect(throws: TransportError.self) {
            _ = try await send(coding, .write(Array(bomb.dropLast(20))), .hang) { $0.limits.bodyBytes = limit }
        }
        #expect(error?.kind == .responseTooLarge)
    }

    @Test func `A decoded body may be stored in a file`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "text")
        let response = try await send("gzip", .write(Self.encode(Self.text, .gzip))) {
            $0.destination = .file(file)
            $0.limits.bodyBytes = 10
        }
        #expect(response.file == file)
        #expect(response.body.isEmpty)
        #expect(try String(contentsOf: file, encoding: .utf8) == Self.text)
    }

    @Test func `Codings around an unknown one are decoded`() async throws {
        let coded = Self.encode("hello", .gzip)
        #expect(try await send("foo, gzip", .write(coded)).body == Data("hello".utf8))
        #expect(try await send("identity, foo, identity, gzip, identity", .write(coded)).body == Data("hello".utf8))
    }

    @Test func `Codings inside an unknown one are not decoded`() async throws {
        #expect(try await send("gzip, foo", .write("foofoo")).body == Data("foofoo".utf8))
    }
}
#endif
