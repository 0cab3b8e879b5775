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
