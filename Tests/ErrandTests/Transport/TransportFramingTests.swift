import Errand
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

@Suite("Unusual responses", .limitedConcurrency, .timeLimit(.minutes(10)))
struct TransportFramingTests {
    @Test("a contradictory response is one error", .fault(9), arguments: TransportKind.allCases, BadResponse.allCases)
    func bad(kind: TransportKind, response: BadResponse) async throws {
        let server = try FixtureServer.start { _ in .script(.write(response.rawValue), .close) }
        let error = try await kind.failure(of: HTTPRequest(to: server))
        #expect([.badResponse, .connectionLost].contains(error.kind))
    }

    @Test("an unusual response is accepted", .fault(9), arguments: TransportKind.allCases, OddResponse.allCases)
    func odd(kind: TransportKind, odd: OddResponse) async throws {
        let server = try FixtureServer.start { _ in .script(.write(odd.bytes), .close) }
        let isRefused = odd.isRefusedByURLSession
        try await (isRefused ? KnownFault.headerSyntax : nil).known(for: kind) {
            let response = try await kind.send(HTTPRequest(to: server))
            #expect(response.status == odd.status)
            #expect(response.body == Data("abc".utf8))
        }
    }

    @Test("interim responses are ignored", .fault(10), arguments: TransportKind.allCases)
    func interim(kind: TransportKind) async throws {
        let early = "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\nSet-Cookie: early=1\r\n\r\n"
        let interim = "HTTP/1.1 100 Continue\r\n\r\n" + String(repeating: early, count: 500)
        let server = try FixtureServer.start { _ in
            .raw(interim + "HTTP/1.1 200 OK\r\nX-Late: 1\r\nContent-Length: 3\r\n\r\nabc")
        }
        let response = try await kind.send(HTTPRequest(to: server))
        #expect(response.status == 200 && response.body == Data("abc".utf8))
        #expect(response.headers["X-Late"] == "1" && response.headers["X-Early"] == nil)
        #expect(response.headers["Set-Cookie"] == nil)
    }

    @Test(
        "endless interim responses end at the deadline",
        .fault(10),
        arguments: TransportKind.supportingInterruptedHeads
    )
    func endlessInterim(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in
            .script(.repeatForever(Array("HTTP/1.1 103 Early Hints\r\nX-A: 1\r\n\r\n".utf8), every: .milliseconds(5)))
        }
        var request = HTTPRequest(to: server)
        request.deadline = .milliseconds(500)
        #expect(try await kind.failure(of: request).kind == .timeout)
        #expect(await server.waitForOpenConnections(0))
    }

    @Test("responses on one connection are separated", arguments: TransportKind.allCases)
    func surplus(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _, turn in
            .onRequest(.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\(turn)surplus"))
        }
        let transport = try kind.make()
        for _ in 0..<3 {
            let response = try await transport.send(HTTPRequest(to: server), progress: nil)
            #expect(response.body == Data("1".utf8))
        }
    }
}

/// Responses that a client must not accept.
enum BadResponse: String, CaseIterable {
    case garbage = "hello there\r\n\r\n"
    case version = "HTTP/9.9 200 OK\r\nContent-Length: 3\r\n\r\nabc"
    case status = "HTTP/1.1 abc OK\r\nContent-Length: 3\r\n\r\nabc"
    case smallStatus = "HTTP/1.1 042 OK\r\nContent-Length: 3\r\n\r\nabc"
    case noColon = "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 3\r\n\r\nabc"
    case nulInValue = "HTTP/1.1 200 OK\r\nX-A: a\u{0}b\r\nContent-Length: 3\r\n\r\nabc"
    case lengths = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 2\r\n\r\nabc"
    case listedLengths = "HTTP/1.1 200 OK\r\nContent-Length: 3, 2\r\n\r\nabc"
    case negativeLength = "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc"
    case wordLength = "HTTP/1.1 200 OK\r\nContent-Length: three\r\n\r\nabc"
    case chunkSize = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n"
    case negativeChunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n"
    case hugeChunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc\r\n0\r\n\r\n"
}

/// Responses that are legal, or that every client accepts.
enum OddResponse: String, CaseIterable {
    case plain = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"
    case old = "HTTP/1.0 200 OK\r\n\r\nabc"
    case noLength = "HTTP/1.1 299 Odd\r\n\r\nabc"
    case surplus = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef"
    case sameLengths = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc"
    case folded = "HTTP/1.1 200 OK\r\nX-A: a\r\n b\r\nContent-Length: 3\r\n\r\nabc"
    case bothFramings =
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    case chunkExtension = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=\"b\"\r\nabc\r\n0\r\n\r\n"
    case noBlank = "HTTP/1.1 200 OK\r\nX-A:1\r\nContent-Length:3\r\n\r\nabc"
    case noReason = "HTTP/1.1 200\r\nContent-Length: 3\r\n\r\nabc"
    case bareLineFeed = "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc"
    case latin1 = "HTTP/1.1 200 OK\r\nX-A: \u{FF}\r\nContent-Length: 3\r\n\r\nabc"

    /// The bytes, one for each scalar.
    var bytes: [UInt8] { rawValue.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }

    var status: Int { self == .noLength ? 299 : 200 }

    var isRefusedByURLSession: Bool {
        [.noBlank, .noReason, .bareLineFeed, .latin1].contains(self)
    }
}
