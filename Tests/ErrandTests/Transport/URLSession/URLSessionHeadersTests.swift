import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Headers through URLSession", .limitedConcurrency, .timeLimit(.minutes(10)))
struct URLSessionHeadersTests {
    @Test(
        "a joined Set-Cookie is split where a cookie starts",
        arguments: [
            ["a=1"], ["a=1", "b=2"], ["a=1; Expires=Wed, 21 Oct 2037 07:28:00 GMT", "b=2; Path=/"],
            ["a=1; Expires=Wed, 21-Oct-37 07:28:00 GMT", "b=2"], ["a=", "b="], ["a=x,y=z", "b=2"], ["a=1, 2; Path=/"],
            ["__Host-a=1", "[b]=2", "c=\"q, r\""], ["a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], [""], ["a"],
        ]
    )
    func cookies(lines: [String]) {
        let headers = HTTPHeaders(urlSessionFields: ["Set-Cookie": lines.joined(separator: ", ")])
        #expect(headers.values("Set-Cookie") == lines)
    }

    @Test func `A name that is no token is omitted`() {
        let names = ["X-A", "X A", "", "X\"A", "X-\u{0}", "X-A ", "\u{E4}", "X:A", "!#$%&'*+-.^_`|~"]
        let fields = Dictionary(uniqueKeysWithValues: names.map { ($0, "1") })
        #expect(HTTPHeaders(urlSessionFields: fields).map(\.name) == ["!#$%&'*+-.^_`|~", "X-A"])
    }

    @Test("any other field is not split, and the lines are sorted by name")
    func others() {
        let headers = HTTPHeaders(urlSessionFields: ["Vary": "a, b=c", "Age": "1", "Link": "<a>; rel=b, <c>; rel=d"])
        #expect(
            headers.map { "\($0.name): \($0.value)" } == ["Age: 1", "Link: <a>; rel=b, <c>; rel=d", "Vary: a, b=c"]
        )
    }

    @Test("lines of one name are joined, those of a cookie with a semicolon")
    func joined() throws {
        let request = try Self.request(["X-A": "1", "Cookie": "a=1", "x-a": " 2\t", "cookie": "b=2"])
        let fields = try request.urlSessionFields(bodyBytes: 0)
        #expect(fields["x-a"] == "1,2" && fields["X-A"] == nil)
        #expect(fields["cookie"] == "a=1; b=2")
    }

    @Test("the length is that of the body, whatever the request's header is")
    func length() throws {
        let request = try Self.request(["Content-Length": "9", "content-length": "8", "Host": "evil.example"])
        #expect(try request.urlSessionFields(bodyBytes: 3)["Content-Length"] == "3")
        #expect(try request.urlSessionFields(bodyBytes: 0)["Content-Length"] == nil)
        #expect(try request.urlSessionFields(bodyBytes: 0)["Host"] == nil)
    }

    @Test("a value that is not UTF-8 is refused")
    func bytes() throws {
        var request = try Self.request([:])
        request.headers.append(HTTPField("X-A", bytes: [0xFF]))
        let error = #expect(throws: TransportError.self) { try request.urlSessionFields(bodyBytes: 0) }
        #expect(error?.kind == .invalidRequest)
    }

    private static func request(_ headers: HTTPHeaders) throws -> HTTPRequest {
        try HTTPRequest(.post, #require(URL(string: "http://127.0.0.1/")), headers: headers)
    }
}

@Suite("The length of a response", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ResponseLengthTests {
    @Test("equal lengths are one length")
    func equalLengths() throws {
        #expect(try Self.length(["Content-Length": "3"]) == 3)
        #expect(try Self.length(["Content-Length": "3, 3 "]) == 3)
        #expect(try Self.length(["content-length": "3", "Content-Length": "3"]) == 3)
    }

    @Test("different lengths are refused")
    func contradiction() {
        for headers: HTTPHeaders in [["Content-Length": "3, 2"], ["Content-Length": "3", "content-length": "x"]] {
            #expect(throws: TransportError.self) { try Self.length(headers) }
        }
    }

    @Test("the length is unknown without a plain body")
    func noBody() throws {
        #expect(try Self.length(["Content-Length": "3"], to: .head) == nil)
        #expect(try Self.length(["Content-Length": "3"], status: 304) == nil)
        #expect(try Self.length(["Content-Length": "3", "Content-Encoding": "gzip"]) == nil)
        #expect(try Self.length(["Content-Length": "3", "Transfer-Encoding": "chunked"]) == nil)
        #expect(try Self.length([:]) == nil)
    }

    private static func length(
        _ headers: HTTPHeaders,
        status: Int = 200,
        to method: HTTPMethod = .get
    ) throws -> Int64? {
        try URLSessionExchangeState.decodedLength(headers, hasBody: method.allowsResponseBody(status))
    }
}

@Suite("The state of an exchange through URLSession")
struct URLSessionExchangeStateTests {
    @Test func `A second head, as of multipart-x-mixed-replace, is refused`() throws {
        let request = HTTPRequest(.get, URL("http://a.example/"))
        var state = URLSessionExchangeState(request, ExchangeClock())
        #expect(try state.receive(status: 200, headers: ["Content-Length": "3"], for: request) == 3)
        #expect(state.receive(storedBytes: 3, for: request)?.completedBytes == 3)
        let error = #expect(throws: TransportError.self) {
            _ = try state.receive(status: 200, headers: ["Content-Length": "4"], for: request)
        }
        #expect(error?.kind == .badResponse)
        guard case .success(let response) = state.outcome(of: nil) else { return #expect(Bool(false)) }
        #expect(response.headers["Content-Length"] == "3")
    }
}
