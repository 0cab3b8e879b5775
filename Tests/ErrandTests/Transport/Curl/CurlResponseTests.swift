import FixtureServer
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing
@testable import Errand
@testable import ErrandTestSupport

@Suite("Responses that libcurl receives", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CurlResponseTests {
    private let transport: CurlTransport

    init() throws {
        transport = try CurlTransport()
    }

    @Test func `Many folded lines are joined without reading a long name for each`() throws {
        var block = CurlHeaderBlock()
        // Otherwise two billion bytes are read.
        let lines = ["HTTP/1.1 200 OK", String(repeating: "n", count: 100_000) + ": v"]
        for line in lines + Array(repeating: " x", count: 20_000) + ["Content-Length: 3", ""] {
            try Array("\(line)\r\n".utf8).withUnsafeBytes { try block.append($0) }
        }
        #expect(block.headers().map(\.value.utf8.count) == [40_001, 1])
    }

    @Test(arguments: ["Content-Length: 3", "Transfer-Encoding: chunked"])
    func `A line that defines the end of the body is not folded, also after another that is`(_ line: String) throws {
        var block = CurlHeaderBlock()
        for line in ["HTTP/1.1 200 OK", "X: y", " z", " z", line] {
            try Array("\(line)\r\n".utf8).withUnsafeBytes { try block.append($0) }
        }
        #expect(throws: TransportError.self) { try Array(" 1\r\n".utf8).withUnsafeBytes { try block.append($0) } }
    }

    /// A server that plays `steps` once on each connection and then closes it, and a request to it.
    private func start(
        _ steps: [Response.Step],
        _ prepare: (inout HTTPRequest) -> Void
    ) throws -> (FixtureServer, HTTPRequest) {
        let response = Response(steps: steps + [.close])
        let server = try FixtureServer.start { _ in response }
        var request = HTTPRequest(.get, server.url("/"))
        request.deadline = .seconds(10)
        prepare(&request)
        return (server, request)
    }

    private func send(_ steps: Response.Step..., prepare: (inout HTTPRequest) -> Void = { _ in }) async throws
        -> HTTPResponse
    {
        let (server, request) = try start(steps, prepare)
        defer { server.stop() }
        return try await transport.send(request)
    }

    private func failure(
        _ steps: Response.Step...,
        prepare: (inout HTTPRequest) -> Void = { _ in }
    ) async throws -> TransportError.Kind? {
        let (server, request) = try start(steps, prepare)
        defer { server.stop() }
        return await transport.ending(of: request)
    }

    // MARK: Header lines

    @Test func `Header lines keep their order, case, duplicates and bytes`() async throws {
        let response = try await send(
            .write("HTTP/1.1 200 OK\r\nSet-Cookie: a=1, b\r\nset-cookie: c=2\r\nX-A:1\r\nX-E:\r\nX-Latin: caf"),
            .write([0xE9]),
            .write(" \r\nX-A: \t2 \r\nContent-Length: 2\r\n\r\nok")
        )
        #expect(
            response.headers.map(\.name) == [
                "Set-Cookie", "set-cookie", "X-A", "X-E", "X-Latin", "X-A", "Content-Length",
            ]
        )
        #expect(response.headers.map(\.value) == ["a=1, b", "c=2", "1", "", "café", "2", "2"])
        #expect(response.headers.fields(named: "X-Latin").first?.bytes == [0x63, 0x61, 0x66, 0xE9])
        #expect(response.body == Data("ok".utf8))
    }

    @Test func `Informational responses are ignored`() async throws {
        let response = try await send(
            .write("HTTP/1.1 100 Continue\r\nX-A: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"),
            .write("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok")
        )
        #expect(response.status == 201)
        #expect(response.headers.map(\.name) == ["Content-Length"])
    }

    @Test func `Trailers are not header lines`() async throws {
        let response = try await send(
            .write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n2\r\nok\r\n"),
            .write("0\r\nX-T: 1\r\nContent-Length: 9\r\n\r\n")
        )
        #expect(response.headers.map(\.name) == ["Transfer-Encoding", "Trailer"])
        #expect(response.body == Data("ok".utf8))
    }

    @Test func `A folded line is one line`() async throws {
        let response = try await send(
            .write("HTTP/1.1 200 OK\r\nX-F: a\r\n Content-Length: 1\r\n\tb\r\nContent-Length: 2\r\n\r\nok")
        )
        #expect(response.headers["X-F"] == "a Content-Length: 1 b")
        #expect(response.headers.count == 2)
        #expect(response.body == Data("ok".utf8))
    }

    @Test func `A single space replaces a fold, whatever blanks it consists of`() async throws {
        var generator = SplitMix(seed: 52)
        let blanks = ["", " ", "\t", "  ", " \t ", "\t\t"]
        var (head, expected) = ("HTTP/1.1 200 OK\r\n", [String]())
        for number in 0..<200 {
            let words = (0..<Int.random(in: 1...4, using: &generator)).map { "w\($0)" }
            let folds = words.dropFirst().map { word in
                let around = (0..<3).map { _ in blanks.randomElement(using: &generator) ?? "" }
                return "\(around[0])\r\n\(number % 2 == 0 ? " " : "\t")\(around[1])\(word)\(around[2])"
            }
            head += "X-\(number): \(words[0])\(folds.joined())\r\n"
            expected.append(words.joined(separator: " "))
        }
        let response = try await send(.write(head + "Content-Length: 2\r\n\r\nok"))
        for (number, value) in expected.enumerated() { #expect(response.headers["X-\(number)"] == value) }
    }

    @Test(arguments: [
        "HTTP/1.1 200\r\nX:1\r\n\r\nok", "HTTP/1.1 200 OK\nX: 1\n\nok", "HTTP/1.0 200 OK\r\nX: 1\r\n\r\nok",
    ])
    func `Irregular but unambiguous heads are accepted`(_ text: String) async throws {
        let response = try await send(.write(text))
        #expect(response.headers["X"] == "1")
        #expect(response.body == Data("ok".utf8))
    }

    @Test(arguments: [204, 304])
    func `A response without a body may have a length`(_ status: Int) async throws {
        let response = try await send(.write("HTTP/1.1 \(status) X\r\nContent-Length: 5\r\n\r\n"))
        #expect(response.status == status)
        #expect(response.body.isEmpty)
    }

    @Test func `A response to HEAD may have a length above the limit`() async throws {
        let response = try await send(.write("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")) {
            $0.method = .head
        }
        #expect(response.headers["Content-Length"] == "99999999999")
    }

    // MARK: Invalid responses

    @Test(
        .fault(9),
        arguments: [
            "hello\r\n\r\n", "\u{0}\u{1}\u{2}", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 99 X\r\n\r\n",
            "HTTP/1.1 1000 X\r\n\r\n",
            "HTTP/9.9 200 OK\r\n\r\n", "ICY 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: a\u{0}b\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        ]
    )
    func `A response that is not HTTP is a bad response`(_ text: String) async throws {
        #expect(try await failure(.write(text), .hang) == .badResponse)
    }

    @Test(
        .fault(9),
        arguments: [
            "3\r\nContent-Length: 5", "5\r\nContent-Length: 3", "3, 5", "5abc", "-5", "", "9999999999999999999999",
        ]
    )
    func `A response with contradictory lengths is a bad response`(_ length: String) async throws {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\nabcde"
        #expect(try await failure(.write(text)) == .badResponse)
    }

    @Test func `Equal lengths are one length`() async throws {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nok"
        #expect(try await send(.write(text)).body == Data("ok".utf8))
    }

    @Test(
        .fault(9),
        arguments: [
            "zz\r\nok\r\n0\r\n\r\n", "-2\r\nok\r\n0\r\n\r\n", "fffffffffffffffff\r\nok\r\n0\r\n\r\n",
            "2\r\nok0\r\n\r\n",
        ]
    )
    func `A bad chunk is no lost connection`(_ chunks: String) async throws {
        let kind = try await failure(.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks))
        #expect(kind == .badResponse)
    }

    private static let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: 1\r\n\r\n"

    @Test(.fault(7)) func `A connection that closes anywhere before the end is lost`() async throws {
        let text = Array((Self.head + "abcde").utf8)
        for count in 0..<text.count {
            #expect(try await failure(.write(Array(text[..<count]))) == .connectionLost, "after \(count) bytes")
        }
    }

    @Test(.fault(5)) func `A connection that is reset anywhere before the end is lost`() async throws {
        let text = Array((Self.head + "abcde").utf8)
        for count in stride(from: 0, to: text.count, by: 7) {
            #expect(try await failure(.write(Array(text[..<count])), .reset) == .connectionLost, "after \(count) bytes")
        }
    }

    @Test(.fault(12)) func `A response may be split at every byte`() async throws {
        let text = Array((Self.head + "abcde").utf8)
        for count in 0...text.count {
            let response = try await send(
                .write(Array(text[..<count])),
                .wait(.milliseconds(1)),
                .write(Array(text[count...]))
            )
            #expect(response.body == Data("abcde".utf8))
            #expect(response.headers["X-A"] == "1")
        }
    }

    @Test(.fault(8), arguments: ["2\r\nok\r\n", "5\r\nok"])
    func `A truncated chunked body is an error`(_ chunks: String) async throws {
        let kind = try await failure(.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks))
        #expect(kind == .connectionLost)
    }

    // MARK: Limits

    @Test(.fault(53)) func `A head has a limit`() async throws {
        let line = Response.Step.repeatForever(Array("X-More: and more and more\r\n".utf8), every: .zero)
        #expect(try await failure(.write("HTTP/1.1 200 OK\r\n"), line) == .responseTooLarge)
        let hints = Response.Step.repeatForever(Array("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".utf8), every: .zero)
        #expect(try await failure(hints) == .responseTooLarge)
    }

    @Test(.fault(53)) func `A hundred thousand header lines are too many`() async throws {
        let lines = (0..<100_000).map { "X-\($0): 1\r\n" }.joined()
        #expect(try await failure(.write("HTTP/1.1 200 OK\r\n" + lines + "\r\n")) == .responseTooLarge)
    }

    @Test(.fault(53)) func `A header line of ten megabytes is too large`() async throws {
        let line = "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 10_000_000)
        #expect(try await failure(.write(line)) == .responseTooLarge)
    }

    @Test func `A head may be large within its limit`() async throws {
        let line = "X-More: " + String(repeating: "m", count: 90) + "\r\n"
        let lines = String(repeating: line, count: 2_500)
        let response = try await send(.write("HTTP/1.1 200 OK\r\n" + lines + "Content-Length: 0\r\n\r\n"))
        #expect(response.headers.count == 2_501)
    }

    @Test(.fault(53)) func `A body in memory has a limit, with or without a known length`() async throws {
        let head = "HTTP/1.1 200 OK\r\n"
        let announced = try await failure(.write(head + "Content-Length: 1000000000\r\n\r\nabc")) {
            $0.limits.bodyBytes = 1_000
        }
        #expect(announced == .responseTooLarge)
        let endless = try await failure(
            .write(head + "\r\n"),
            .repeatForever(Array(repeating: 42, count: 4_096), every: .zero)
        )
        #expect(endless == .responseTooLarge)
    }

    @Test func `A body of the size of the limit is accepted`() async throws {
        let response = try await send(
            .write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
            .write(Array(repeating: 42, count: 1_000))
        ) {
            $0.limits.bodyBytes = 1_000
        }
        #expect(response.body.count == 1_000)
    }
}
#endif

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
