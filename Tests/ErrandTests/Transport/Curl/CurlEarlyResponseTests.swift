#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("A response before the end of the request's body", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct CurlEarlyResponseTests {
    /// Whether the response of these header lines, and then of `body`, is known to be complete.
    private func isWhole(_ lines: String..., body: String = "", to method: HTTPMethod = .post) throws -> Bool {
        var response = CurlResponse(to: HTTPRequest(method, URL("https://a.test/")), progress: nil)
        for line in lines { try Array("\(line)\r\n".utf8).withUnsafeBytes { try response.receive(headerLine: $0) } }
        var budget = DecodingBudget()
        if !body.isEmpty {
            _ = try Array(body.utf8).withUnsafeBytes { try response.receive(body: $0, within: &budget, hasRoom: {}) }
        }
        #expect(response.isWhole || !response.isWholeOverHTTP2)
        return response.isWholeOverHTTP2
    }

    @Test(arguments: [401, 307, 413])
    func `A response without a body is complete after its head`(_ status: Int) throws {
        #expect(try isWhole("HTTP/2 \(status)", "content-length: 0", ""))
        #expect(try !isWhole("HTTP/2 \(status)", "content-length: 0"))
        #expect(try !isWhole("HTTP/1.1 \(status) X", "Content-Length: 0", ""))
    }

    @Test func `A response with a body is complete after the body`() throws {
        #expect(try !isWhole("HTTP/2 413", "content-length: 3", ""))
        #expect(try !isWhole("HTTP/2 413", "content-length: 3", "", body: "no"))
        #expect(try isWhole("HTTP/2 413", "content-length: 3", "", body: "no!"))
        #expect(try !isWhole("HTTP/2 413", "", body: "no!"))
        #expect(try isWhole("HTTP/2 204", ""))
    }

    @Test(arguments: [(200, false), (204, false), (303, true), (401, true)])
    func `Only a refusal limits the time for the rest of the body`(_ status: Int, _ isLimited: Bool) throws {
        let body = HTTPBody.stream { AsyncStream<Data> { nil } }
        var request = HTTPRequest(.post, URL("https://a.test/"), body: body)
        request.timeout = .seconds(60)
        let exchange = try CurlExchange(request, pins: [], progress: nil)
        for line in ["HTTP/2 \(status)", "content-length: 0", ""] {
            #expect(Array("\(line)\r\n".utf8).withUnsafeBytes { exchange.receive(headerLine: $0) })
        }
        #expect((exchange.deadlines.next < MonotonicClock.now + 30_000_000_000) == isLimited)
    }

    /// Whether the part of a response that has arrived is to be its request's if the server reads no more.
    private func mayBeWhole(_ lines: String..., part: [UInt8], streamed: Bool = false) throws -> Bool {
        var request = HTTPRequest(.post, URL("https://a.test/"))
        if streamed { request.destination = .stream(HTTPBodySink(Ignorer())) }
        var response = CurlResponse(to: request, progress: nil)
        for line in lines { try Array("\(line)\r\n".utf8).withUnsafeBytes { try response.receive(headerLine: $0) } }
        var budget = DecodingBudget()
        _ = try part.withUnsafeBytes { try response.receive(body: $0, within: &budget, hasRoom: {}) }
        return response.mayBeWholeError
    }

    private struct Ignorer: HTTPBodyReceiver {
        var expectation: HTTPBodyExpectation { .usual }
        func begin(status: Int, headers: HTTPHeaders) -> Bool { true }
        func receive(_ bytes: UnsafeRawBufferPointer) {}
        func hasRoom(orCall ready: @escaping @Sendable () -> Void) -> Bool { true }
        func finish() {}
    }

    @Test func `An error over HTTP/2 may be whole unless a part is known to be missing`() throws {
        let part = Array("no".utf8)
        // The header of gzip, and no more.
        let gzip: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
        #expect(try mayBeWhole("HTTP/2 413", "", part: part))
        #expect(try !mayBeWhole("HTTP/2 413", "", part: part, streamed: true))
        #expect(try !mayBeWhole("HTTP/2 413", "content-length: 3", "", part: part))
        #expect(try !mayBeWhole("HTTP/2 413", "content-encoding: gzip", "", part: gzip))
        #expect(try !mayBeWhole("HTTP/2 200", "", part: part))
        #expect(try !mayBeWhole("HTTP/1.1 413 X", "", part: part))
    }

    /// Sends more than the server reads over HTTP/2 before it responds with the status of this entry of HPACK's static table, and
    /// a text without a length.
    private func refusal(status: UInt8, code: UInt8?) async throws -> HTTPResponse {
        let authority = try TestAuthority.shared.get()
        let reading = HTTP2Server.Reading.notAfterResponse(status: status, code: code)
        let server = try HTTP2Server(authority, reading: reading) { _ in .silence }
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        let body = Data(repeating: 1, count: 300_000)
        var request = HTTPRequest(.post, server.url("/"), body: .data(body))
        request.timeout = code == nil ? .seconds(1) : .seconds(60)
        return try await CurlTransport(configuration).send(request)
    }

    /// The codes are none, `NO_ERROR`, `INTERNAL_ERROR` and `CANCEL`.
    @Test(
        .enabled(if: TestAuthority.isAvailable, "openssl is not installed"),
        arguments: [nil, 0, 2, 8] as [UInt8?]
    )
    func `An error over HTTP/2 is the response however the server stops to read`(_ code: UInt8?) async throws {
        let response = try await refusal(status: 14, code: code)
        #expect(response.status == 500)
        #expect(response.body == Data("early".utf8))
    }

    @Test(
        .enabled(if: TestAuthority.isAvailable, "openssl is not installed"),
        arguments: [nil, 2, 8] as [UInt8?]
    )
    func `A success over HTTP/2 without a length is lost when the server stops to read`(_ code: UInt8?) async throws {
        let error = await #expect(throws: TransportError.self) { try await refusal(status: 8, code: code) }
        #expect(error?.kind == (code == nil ? .timeout : .connectionLost))
    }

    /// A body with its first bytes, and then none; `asked` opens when they are sent.
    private func body(_ asked: Gate) -> HTTPBody {
        .stream {
            let parts = Counter()
            return AsyncStream<Data> {
                guard parts.next() > 1 else { return Data("first".utf8) }
                asked.open()
                try? await Latch().wait()
                return nil
            }
        }
    }

    private static let late = Response.Step.wait(.milliseconds(50))

    /// With each end of a body, which may come late.
    private static let refusals: [Response] = [
        .text("refused", status: 401), .text("refused", status: 413).closing(),
        .status(303, headers: ["Location": "/other"]),
        .chunked([Array("ref".utf8), Array("used".utf8)], status: 401), .chunked([], status: 401),
        .chunked([], status: 401).closing(),
        .script(
            .write("HTTP/1.1 401 X\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n7\r\nrefused\r\n"),
            late,
            .lastChunk()
        ),
        .script(.write("HTTP/1.1 413 X\r\n\r\nrefused"), late, .close),
        .script(.write("HTTP/1.1 413 X\r\n\r\n"), .close),
    ]

    @Test(arguments: [true, false])
    func `A whole response is that of a request whose body cannot be sent to its end`(_ closes: Bool) async throws {
        let received = Gate()
        let end: Response.Step = closes ? .reset : .hang
        let script = Response.script(.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone"), .pass(received), end)
        let server = try FixtureServer.start { _, _ in .onHead { _ in script } }
        var request = HTTPRequest(.post, to: server, body: .data(Data(repeating: 1, count: 50_000_000)))
        request.timeout = .seconds(1)
        request.observer = { event in
            if case .head = event { received.open() }
        }
        #expect(try await TransportKind.curl.send(request).body == Data("done".utf8))
    }

    @Test func `A response of which a part is missing is lost with its connection`() async throws {
        let received = Gate()
        let script = Response.script(
            .write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ndone"),
            .pass(received),
            .reset
        )
        let server = try FixtureServer.start { _, _ in .onHead { _ in script } }
        var request = HTTPRequest(.post, to: server, body: .data(Data(repeating: 1, count: 50_000_000)))
        request.observer = { event in
            if case .head = event { received.open() }
        }
        let error = await #expect(throws: TransportError.self) { try await TransportKind.curl.send(request) }
        #expect(error?.kind == .connectionLost)
    }

    @Test(arguments: refusals)
    func `A refusal is the response while the body has no more bytes`(_ response: Response) async throws {
        let asked = Gate()
        let server = try FixtureServer.start { _, _ in .onHead { _ in response.behind(asked) } }
        var request = HTTPRequest(.post, to: server, body: body(asked))
        request.redirectPolicy = .refuse
        (request.timeout, request.deadline) = (nil, nil)
        let received = try await TransportKind.curl.send(request)
        #expect([401, 413, 303].contains(received.status))
        #expect(["", "refused"].contains(String(decoding: received.body, as: UTF8.self)))
    }
}
#endif
