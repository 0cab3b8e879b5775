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
        return response.endsUpload && response.isWhole
    }

    @Test(arguments: [401, 307, 413])
    func `A response without a body is complete after its head`(_ status: Int) throws {
        #expect(try isWhole("HTTP/2 \(status)", "content-length: 0", ""))
        #expect(try !isWhole("HTTP/2 \(status)", "content-length: 0"))
        #expect(try isWhole("HTTP/1.1 \(status) X", "Content-Length: 0", ""))
    }

    @Test func `A response with a body is complete after the body`() throws {
        #expect(try !isWhole("HTTP/2 413", "content-length: 3", ""))
        #expect(try !isWhole("HTTP/2 413", "content-length: 3", "", body: "no"))
        #expect(try isWhole("HTTP/2 413", "content-length: 3", "", body: "no!"))
        #expect(try !isWhole("HTTP/2 413", "", body: "no!"))
        #expect(try isWhole("HTTP/2 204", ""))
    }

    @Test func `After a success over HTTP 1, the server may read on`() throws {
        #expect(try !isWhole("HTTP/1.1 200 OK", "Content-Length: 0", ""))
        #expect(try isWhole("HTTP/2 200", "content-length: 0", ""))
    }

    /// A request whose body has its first bytes, and then none until `feed` has more.
    private func upload(to server: FixtureServer) -> (request: HTTPRequest, feed: AsyncStream<Data>.Continuation) {
        let (bytes, feed) = AsyncStream<Data>.makeStream()
        feed.yield(Data("first".utf8))
        return (HTTPRequest(.post, to: server, body: .stream { bytes }), feed)
    }

    @Test(arguments: [
        Response.text("refused", status: 401), Response.text("refused", status: 413).closing(),
        Response.status(303, headers: ["Location": "/other"]),
        Response.chunked([Array("ref".utf8), Array("used".utf8)], status: 401),
    ])
    func `A refusal is the response while the body has no more bytes`(_ response: Response) async throws {
        let server = try FixtureServer.start { _, _ in .onHead { _ in response } }
        var (request, feed) = upload(to: server)
        request.redirectPolicy = .refuse
        (request.timeout, request.deadline) = (nil, nil)
        let received = try await TransportKind.curl.send(request)
        #expect([401, 413, 303].contains(received.status))
        #expect(received.status == 303 || received.body == Data("refused".utf8))
        feed.finish()
    }
}
#endif
