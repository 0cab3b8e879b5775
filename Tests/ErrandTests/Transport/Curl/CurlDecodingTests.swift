#if os(Linux)
import FixtureServer
import Foundation
import Testing
import TestSupport
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

@Suite(
    "Bodies that are much larger than the transferred bytes",
    .fault(86),
    .limitedConcurrency,
    .timeLimit(.minutes(10))
)
struct CurlLayeringTests {
    private let transport: CurlTransport

    init() throws {
        transport = try CurlTransport()
    }

    private static func response(_ bytes: [UInt8], _ codings: [ContentCoding]) -> Response {
        .bytes(bytes, headers: ["Content-Encoding": codings.map(\.rawValue).joined(separator: ", ")])
    }

    /// A request for `bytes`, and the server that sends them for every path except `/other`.
    private func start(_ bytes: [UInt8], _ codings: [ContentCoding]) throws -> (FixtureServer, HTTPRequest) {
        let response = Self.response(bytes, codings)
        let server = try FixtureServer.start { $0.path == "/other" ? .text("ok") : response }
        return (server, HTTPRequest(to: server))
    }

    /// Four gigabytes of zeros in two codings; decoding them lasts some seconds.
    private static let bomb = Zlib.gzip(DecompressionBomb.gzip(1 << 32))

    /// A request for ``bomb`` into a file.
    private func startBomb(_ file: URL) throws -> (FixtureServer, HTTPRequest) {
        var (server, request) = try start(Self.bomb, [.gzip, .gzip])
        request.destination = .file(file)
        return (server, request)
    }

    @Test(arguments: 0..<6)
    func `Generated layers end as expected, and do not affect other loads`(seed: UInt64) async throws {
        var random = SplitMix(seed: 100 + seed)
        for _ in 0..<rounds(8) {
            let layering = EncodedBodySample(&random)
            var (server, request) = try start(layering.bytes, layering.codings)
            request.limits.bodyBytes = layering.limit
            async let other = transport.send(HTTPRequest(to: server, "/other"))
            do throws(TransportError) {
                #expect(try await transport.send(request).body == Data(layering.content), "\(layering)")
                #expect(layering.endings == [nil], "\(layering)")
            } catch {
                #expect(layering.endings.contains(error.kind), "\(layering): \(error)")
            }
            #expect(try await other.status == 200)
        }
    }

    @Test(arguments: 2...6)
    func `Empty members inside other members end, however deep`(_ layers: Int) async throws {
        var bytes = Zlib.emptyMembers(500_000)
        for _ in 1..<layers { bytes = Zlib.gzip(bytes) }
        let (server, request) = try start(bytes, Array(repeating: .gzip, count: layers))
        async let other = transport.send(HTTPRequest(to: server, "/other"))
        #expect(await transport.ending(of: request) == .badResponse)
        #expect(try await other.status == 200)
    }

    /// Loads a bomb into a file, and opens the gate when a part of it is decoded.
    private func loadBomb(_ file: URL, _ hasBegun: Gate) throws -> Task<TransportError.Kind?, Never> {
        let (server, request) = try startBomb(file)
        return Task { [transport] in
            defer { server.stop() }
            return await transport.ending(of: request) { if $0.completedBytes > 0 { hasBegun.open() } }
        }
    }

    @Test func `Loads are cancelled while bodies are decoded, and others succeed`() async throws {
        let folder = try TemporaryFolder()
        let gates = (0..<4).map { _ in Gate() }
        let tasks = try gates.enumerated().map { try loadBomb(folder.url.appending(path: "\($0)"), $1) }
        for gate in gates { await gate.opened() }
        let server = try FixtureServer.start { _ in .text("ok") }
        for _ in 0..<3 { #expect(try await transport.send(HTTPRequest(to: server)).status == 200) }
        for task in tasks { task.cancel() }
        for task in tasks { #expect(await task.value == .cancelled, "a small load has waited for a large one") }
    }

    @Test func `A deadline applies while a body is decoded`() async throws {
        let folder = try TemporaryFolder()
        var (server, request) = try startBomb(folder.url.appending(path: "zeros"))
        request.deadline = .milliseconds(100)
        #expect(await transport.ending(of: request) == .timeout)
        #expect(await server.waitForOpenConnections(0))
    }

    // MARK: Large valid bodies

    private static let large = Array(String(repeating: "It is a large body, but a good one. ", count: 400_000).utf8)

    @Test(arguments: ["length", "chunked", "close"])
    func `A large coded body is decoded completely over several turns`(_ framing: String) async throws {
        let coded = Zlib.gzip(Zlib.deflate(Self.large))
        let pieces = stride(from: 0, to: coded.count, by: 1_000).map { Array(coded[$0...].prefix(1_000)) }
        let server = try FixtureServer.start { _ in
            switch framing {
            case "length": Self.response(coded, [.deflate, .gzip])
            case "chunked": .chunked(pieces, headers: ["Content-Encoding": "deflate, gzip"])
            default:
                .script(.write("HTTP/1.1 200 OK\r\nContent-Encoding: deflate, gzip\r\n\r\n"), .write(coded), .close)
            }
        }
        let requests = (0..<6).map { _ in HTTPRequest(to: server) }
        try await withThrowingTaskGroup(of: Data.self) { group in
            for request in requests { group.addTask { [transport] in try await transport.send(request).body } }
            for try await body in group { #expect(body == Data(Self.large)) }
        }
    }

    @Test(.enabled(if: TestAuthority.isAvailable && TLSServer.isAvailable, "openssl is not installed"))
    func `A large coded body is decoded completely over HTTP 2, with others on the same connection`() async throws {
        let authority = try TestAuthority.shared.get()
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        let transport = try CurlTransport(configuration)
        let coded = Zlib.gzip(Zlib.deflate(Self.large))
        let server = try HTTP2Server(authority) { _ in .coded(coded, "deflate, gzip") }
        try await withThrowingTaskGroup(of: Data.self) { group in
            for _ in 0..<6 {
                group.addTask { try await transport.send(HTTPRequest(.get, server.url("/"))).body }
            }
            for try await body in group { #expect(body == Data(Self.large)) }
        }
    }
}
#endif
