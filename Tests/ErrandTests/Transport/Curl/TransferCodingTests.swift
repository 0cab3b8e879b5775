#if os(Linux)
@testable import Errand
@testable import ErrandTestSupport
import FixtureServer
import Foundation
import TestSupport
import Testing

@Suite("Transfer codings", .fault(82), .limitedConcurrency, .timeLimit(.minutes(10)))
struct TransferCodingTests {
    private static let text = String(repeating: "hello, coding. ", count: 200)

    /// Responds with `body` under these header lines, in chunks of 100 bytes when they end in "chunked".
    private func server(_ head: String, _ body: [UInt8]) throws -> FixtureServer {
        var bytes = Array("HTTP/1.1 200 OK\r\n\(head)\r\n\r\n".utf8)
        if head.hasSuffix("chunked") {
            for start in stride(from: 0, to: body.count, by: 100) {
                let chunk = body[start...].prefix(100)
                bytes += Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + Array("\r\n".utf8)
            }
            bytes += "0\r\n\r\n".utf8
        } else {
            bytes += body
        }
        return try FixtureServer.start { [bytes] _ in .script(.write(bytes), .close) }
    }

    /// The received text; `nil` for a bad response.
    private func received(_ kind: TransportKind, _ server: FixtureServer) async throws -> String? {
        do throws(TransportError) {
            return String(decoding: try await Self.send(kind, HTTPRequest(to: server)).body, as: UTF8.self)
        } catch {
            #expect(error.kind == .badResponse, "\(error)")
            return nil
        }
    }

    private static func send(_ kind: TransportKind, _ request: HTTPRequest) async throws(TransportError) -> HTTPResponse
    {
        guard let transport = try? kind.make() else { throw TransportError(.cannotConnect, "no transport") }
        return try await transport.send(request, progress: nil)
    }

    @Test(
        arguments: TransportKind.allCases,
        ["gzip, chunked", "gzip\r\nTransfer-Encoding: chunked", "x-gzip", "deflate"]
    )
    func `A known coding is decoded or refused, and never ignored`(kind: TransportKind, codings: String) async throws {
        let bytes = Array(Self.text.utf8)
        let body = codings.hasPrefix("deflate") ? Zlib.deflate(bytes) : Zlib.gzip(bytes)
        let received = try await received(kind, server("Transfer-Encoding: \(codings)", body))
        #expect(received == Self.text || received == nil && !Self.isUndone(by: kind))
    }

    @Test(arguments: TransportKind.allCases)
    func `A transfer coding is decoded before a content coding`(kind: TransportKind) async throws {
        let body = Zlib.deflate(Zlib.gzip(Array(Self.text.utf8)))
        let head = "Content-Encoding: gzip\r\nTransfer-Encoding: deflate, chunked"
        let received = try await received(kind, server(head, body))
        #expect(received == Self.text || received == nil && !Self.isUndone(by: kind))
    }

    @Test(
        arguments: TransportKind.allCases,
        [
            "xyz, chunked", "identityx", "identity, chunked", "chunked, gzip", "chunked, chunked", "gzip, xyz, chunked",
            "chunked;a=b", "gzip, gzip, gzip, chunked", "compress", "gzip\r\nContent-Length: 3",
        ]
    )
    func `An unknown transfer coding is a bad response`(kind: TransportKind, codings: String) async throws {
        let head = "Transfer-Encoding: \(codings)"
        #expect(try await received(kind, server(head, Array(Self.text.utf8))) == nil)
    }

    @Test(arguments: TransportKind.allCases, ["Transfer-Encoding: identity", "Transfer-Encoding: ,CHUNKED ,"])
    func `A transfer coding without effect is accepted`(kind: TransportKind, head: String) async throws {
        let isChunked = head.contains("CHUNKED")
        let text = isChunked ? "2\r\nok\r\n0\r\n\r\n" : "ok"
        let server = try FixtureServer.start { _ in .script(.write("HTTP/1.1 200 OK\r\n\(head)\r\n\r\n\(text)"), .close)
        }
        #expect(try await received(kind, server) == "ok")
    }

    @Test(arguments: TransportKind.allCases)
    func `A response without a body may have any transfer coding`(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in
            .script(.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: xyz\r\n\r\n"), .close)
        }
        #expect(try await kind.send(HTTPRequest(.head, to: server)).status == 200)
    }

    /// URLSession does not report whether it has decoded one; libcurl 8.7 and later ignores or refuses them.
    private static func isUndone(by kind: TransportKind) -> Bool {
        kind == .curl && CurlLibrary.versionNumber < 0x08_0700
    }
}
#endif
