import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Malformed responses", .fault(94), .limitedConcurrency, .timeLimit(.minutes(10)))
struct MalformedResponseTests {
    private static let heads = [
        " X: 1\r\nContent-Length: 2\r\n\r\nok", "\tX: 1\r\nContent-Length: 2\r\n\r\nok",
        "Header\r: 1\r\nContent-Length: 2\r\n\r\nok", "Header\r:\r\nContent-Length: 2\r\n\r\nok",
        ": 1\r\nContent-Length: 2\r\n\r\nok", "\rX: 1\r\nContent-Length: 2\r\n\r\nok",
        "X: a\rb\r\nContent-Length: 2\r\n\r\nok", "X: a\r\r\nContent-Length: 2\r\n\r\nok",
        "X: a\r\n\rb: 1\r\nContent-Length: 2\r\n\r\nok", "no colon\r\n\r\n",
        "Content-Length:\r\n 2\r\n\r\nok", "Transfer-Encoding:\r\n chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "Transfer-Encoding : chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "Content-Length : 2\r\n\r\nok",
        "Location: /a\r\nLocation: /b\r\nContent-Length: 2\r\n\r\nok",
        "Location: /a\r\nX: 1\r\nlocation:\r\nContent-Length: 2\r\n\r\nok",
    ]
    private static let trailers = ["no colon\r\n", " X: 1\r\n", "X\r: 1\r\n", ": 1\r\n"]

    #if os(Linux)
    @Test(arguments: [HTTPMethod.get, .post], heads)
    func `A malformed head is a bad response`(method: HTTPMethod, head: String) async throws {
        let server = try FixtureServer.start { _ in .script(.write("HTTP/1.1 200 OK\r\n\(head)"), .close) }
        let body = method == .post ? HTTPBody.data(Data("order".utf8)) : .empty
        let error = try await TransportKind.curl.failure(of: HTTPRequest(method, to: server, body: body))
        #expect(error.kind == .badResponse, "\(error)")
        #expect(!error.reason.contains("argument"))
    }

    @Test(arguments: stride(from: UInt8(0), to: 255, by: 64).map { $0...($0 | 63) })
    func `No name of a header with another byte than those of a token reaches the app`(
        bytes: ClosedRange<UInt8>
    ) async throws {
        let lines = bytes.map { byte in
            [Array("X-\(byte)".utf8) + [byte] + Array("A: 1\r\n".utf8), [byte] + Array("B-\(byte): 1\r\n".utf8)]
        }
        let transport = try CurlTransport()
        for (byte, lines) in zip(bytes, lines) {
            let head = Array("HTTP/1.1 200 OK\r\nX-First: 1\r\n".utf8) + lines.joined()
            let server = try FixtureServer.start { _ in
                .script(.write(head + Array("X-Last: 1\r\nContent-Length: 2\r\n\r\nok".utf8)), .close)
            }
            let names = Lock<[String]>([])
            var request = HTTPRequest(to: server)
            request.observer = { event in
                if case .head(_, let headers) = event { names.withLock { $0 += headers.map(\.name) } }
            }
            let response = try? await transport.send(request)
            names.withLock { $0 += response?.headers.map(\.name) ?? [] }
            let received = names.withLock(\.self)
            #expect(received.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(\.isToken) }, "\(byte): \(received)")
            if byte.isToken { #expect(received.contains("X-\(byte)\(Unicode.Scalar(byte))A")) }
            guard let response else { continue }
            #expect(response.headers["X-Last"] == "1" && response.headers["X-First"]?.hasPrefix("1") == true)
        }
    }

    @Test(arguments: trailers)
    func `Malformed trailers are a bad response where libcurl checks them`(trailer: String) async throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
        let server = try FixtureServer.start { _ in .script(.write("\(head)\(trailer)\r\n"), .close) }
        let request = HTTPRequest(.post, to: server, body: .data(Data("order".utf8)))
        do throws(TransportError) {
            let transport = try CurlTransport()
            #expect(try await transport.send(request).body == Data("ok".utf8))
        } catch {
            #expect(error.kind == .badResponse, "\(error)")
        }
    }
    #endif

    @Test(arguments: TransportKind.allCases)
    func `The error of a load with a malformed response contains no parameters`(kind: TransportKind) async throws {
        for head in Self.heads.dropLast(2) {
            let server = try FixtureServer.start { _ in .script(.write("HTTP/1.1 200 OK\r\n\(head)"), .close) }
            let request = HTTPRequest(.post, to: server, body: .data(Data("order".utf8)))
            let kind = await Self.ending(of: request, over: kind)
            #expect([nil, .badResponse, .connectionLost].contains(kind), "\(head.debugDescription)")
        }
    }

    private static func ending(of request: HTTPRequest, over kind: TransportKind) async -> TransportError.Kind? {
        do {
            _ = try await kind.send(request)
            return nil
        } catch let error as TransportError {
            return error.kind
        } catch {
            return .cannotConnect
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `Equal Location lines are one`(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in
            .script(
                .write("HTTP/1.1 201 Created\r\nLocation: /a\r\nlocation:/a \r\nContent-Length: 2\r\n\r\nok"),
                .close
            )
        }
        try await KnownFault.headerSyntax.known(for: kind) {
            let response = try await kind.send(HTTPRequest(to: server))
            #expect(response.status == 201)
        }
    }
}

#if os(Linux)
@Suite("Randomly damaged heads", .fault(94), .limitedConcurrency, .timeLimit(.minutes(10)))
struct DamagedHeadTests {
    private static let response = Array(
        """
        HTTP/1.1 200 OK\r\nServer: a\r\nContent-Type: text/plain\r\nLocation: /x\r\nTransfer-Encoding: chunked\r\n\r\n\
        2\r\nok\r\n0\r\nX-Trailer: 1\r\n\r\n
        """.utf8
    )
    private static let splices = [
        "\r", "\n", "\r\n", " ", "\t", ":", "\u{0}", "\u{7F}", "\r\n ", "\r\n\t", "\r:", ",", "",
    ]

    @Test(arguments: 0..<6)
    func `No response of a server is reported as an invalid request`(seed: UInt64) async throws {
        let random = Lock(SplitMix(seed: seed))
        let server = try FixtureServer.start { _ in
            .script(.write(random.withLock { Self.damaged(&$0) }), .close)
        }
        let transport = try CurlTransport()
        for _ in 0..<60 {
            var request = HTTPRequest(.post, to: server, body: .data(Data("order".utf8)))
            request.deadline = .seconds(20)
            let ending = await transport.ending(of: request)
            #expect([nil, .badResponse, .connectionLost].contains(ending), "\(server.totalRequests)")
        }
        // A request on a connection that the server has just closed may be lost, and is never sent twice.
        #expect((30...60).contains(server.totalRequests))
    }

    private static func damaged(_ random: inout SplitMix) -> [UInt8] {
        var bytes = response
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let start = Int.random(in: 0..<bytes.count, using: &random)
            let end = min(bytes.count, start + Int.random(in: 0...2, using: &random))
            bytes.replaceSubrange(start..<end, with: Array((splices.randomElement(using: &random) ?? "").utf8))
        }
        return bytes
    }
}
#endif
