#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
        for _ in 0..<8 {
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
        let authority = try TestAuthority()
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
