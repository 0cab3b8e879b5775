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
    func `A bad chunk ends the exchange`(_ chunks: String) async throws {
        let kind = try await failure(.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks))
        #expect(kind == .connectionLost || kind == .badResponse)
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
