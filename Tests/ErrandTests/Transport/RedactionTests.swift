import Foundation
import Testing

@testable import Errand

@Suite("What is printed of a request holds no secrets", .timeLimit(.minutes(1)))
struct RedactionTests {
    static let headers: HTTPHeaders = [
        "Authorization": "Bearer s3cret", "Proxy-Authorization": "s3cret", "Cookie": "s3cret", "Set-Cookie": "s3cret",
        "X-Api-Key": "s3cret", "X-Token": "s3cret", "X-Signature": "s3cret", "Accept": "text/html",
    ]

    private func printed(_ value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return ["\(value)", String(reflecting: value), dumped]
    }

    @Test func `Headers show their names and harmless values`() {
        for text in printed(Self.headers) {
            #expect(!text.contains("s3cret"), "\(text)")
            #expect(text.contains("Authorization: <redacted>"))
            #expect(text.contains("Accept: text/html"))
        }
    }

    @Test func `Requests show neither query nor body, answers no body`() {
        let body = HTTPBody.data(Data("s3cret".utf8))
        let request = HTTPRequest(.post, URL("http://a.test/x?token=s3cret"), headers: Self.headers, body: body)
        let response = HTTPResponse(status: 200, headers: Self.headers, body: Data("s3cret".utf8))
        for text in printed(request) + printed(response) { #expect(!text.contains("s3cret"), "\(text)") }
        #expect("\(request)" == "POST http://a.test/x?<redacted>")
    }
}
