#if os(Linux)
import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("A response before the end of the request's body", .timeLimit(.minutes(10)))
struct CurlEarlyResponseTests {
    /// Whether the response of these header lines, and then of `body`, is known to be complete.
    private func isWhole(_ lines: String..., body: String = "", to method: HTTPMethod = .post) throws -> Bool {
        var response = CurlResponse(to: HTTPRequest(method, URL("https://a.test/")), progress: nil)
        for line in lines { try Array("\(line)\r\n".utf8).withUnsafeBytes { try response.receive(headerLine: $0) } }
        var budget = DecodingBudget()
        if !body.isEmpty {
            _ = try Array(body.utf8).withUnsafeBytes { try response.receive(body: $0, within: &budget, hasRoom: {}) }
        }
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
}
#endif
