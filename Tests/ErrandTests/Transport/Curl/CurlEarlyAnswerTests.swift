#if os(Linux)
import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("An answer before the end of the request's body", .timeLimit(.minutes(10)))
struct CurlEarlyAnswerTests {
    /// Whether the answer of these header lines, and then of `body`, is known to be complete.
    private func isWhole(_ lines: String..., body: String = "", to method: HTTPMethod = .post) throws -> Bool {
        var answer = CurlAnswer(to: HTTPRequest(method, URL("https://a.test/")), progress: nil)
        for line in lines { try Array("\(line)\r\n".utf8).withUnsafeBytes { try answer.receive(headerLine: $0) } }
        var budget = DecodingBudget()
        if !body.isEmpty { _ = try Array(body.utf8).withUnsafeBytes { try answer.receive(body: $0, within: &budget) } }
        return answer.isWholeOverHTTP2
    }

    @Test(arguments: [401, 307, 413])
    func `An answer without a body is complete after its head`(_ status: Int) throws {
        #expect(try isWhole("HTTP/2 \(status)", "content-length: 0", ""))
        #expect(try !isWhole("HTTP/2 \(status)", "content-length: 0"))
        #expect(try !isWhole("HTTP/1.1 \(status) X", "Content-Length: 0", ""))
    }

    @Test func `An answer with a body is complete after the body`() throws {
        #expect(try !isWhole("HTTP/2 413", "content-length: 3", ""))
        #expect(try !isWhole("HTTP/2 413", "content-length: 3", "", body: "no"))
        #expect(try isWhole("HTTP/2 413", "content-length: 3", "", body: "no!"))
        #expect(try !isWhole("HTTP/2 413", "", body: "no!"))
        #expect(try isWhole("HTTP/2 204", ""))
    }
}
#endif
