import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Headers of an authorization")
struct AuthorizationTests {
    @Test func `A bearer token is one line, and no token none`() {
        #expect(HTTPHeaders.authorization(bearer: "t0")["Authorization"] == "Bearer t0")
        #expect(HTTPHeaders.authorization(bearer: nil).isEmpty)
    }

    @Test func `A user and a password are the example of RFC 7617, in UTF 8`() throws {
        let headers = try HTTPHeaders.authorization(user: "Aladdin", password: "open sesame")
        #expect(headers["Authorization"] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        #expect(
            try HTTPHeaders.authorization(user: "test", password: "123£")["Authorization"] == "Basic dGVzdDoxMjPCow=="
        )
    }

    @Test func `A user with a colon is refused, whose password would begin there`() {
        let error = #expect(throws: TransportError.self) { try HTTPHeaders.authorization(user: "a:b", password: "c") }
        #expect(error?.kind == .invalidRequest)
    }
}

@Suite("Methods")
struct HTTPMethodTests {
    @Test func `Exactly the methods that RFC 9110 section 9.2.2 lists are idempotent`() {
        let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "trace"]
        let idempotent = methods.filter { HTTPMethod(rawValue: $0).isIdempotent }
        #expect(Set(idempotent) == ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])
    }

    @Test(arguments: ["CONNECT", "PRI"])
    func `A method that makes a connection is refused, and its name is in the reason`(_ method: String) {
        let request = HTTPRequest(HTTPMethod(rawValue: method), URL("https://api.example/"))
        let error = #expect(throws: TransportError.self) { try request.validate() }
        #expect(error?.kind == .invalidRequest && error?.reason.contains(method) == true)
    }

    @Test(arguments: ["GET", "TRACE", "PROPFIND", "connect", "PRIORITY", "RECONNECT"])
    func `Other methods are sent`(_ method: String) throws {
        try HTTPRequest(HTTPMethod(rawValue: method), URL("https://api.example/")).validate()
    }
}

@Suite("The validation of requests")
struct RequestValidationTests {
    private static let changes: [(String, @Sendable (inout HTTPRequest) -> Void)] = [
        ("method", { $0.method = HTTPMethod(rawValue: "GET /") }),
        ("URL", { $0.url = URL("ftp://a.example/") }),
        ("headers", { $0.headers = ["X-A": "1\r\nX-B: 2"] }),
        ("added header", { $0.headers.append("X A", "1") }),
        ("body of a HEAD request", { ($0.method, $0.body) = (.head, .data(Data())) }),
        ("changed header", { $0.headers["X-A"] = "\u{0}" }),
    ]

    @Test(arguments: changes.indices)
    func `A request that has been validated ahead is validated again after a change`(_ index: Int) throws {
        var request = HTTPRequest(.get, URL("http://a.example/"))
        request.validateAhead()
        #expect(request.isValidated)
        var changed = request
        Self.changes[index].1(&changed)
        #expect(throws: TransportError.self, "\(Self.changes[index].0)") { try changed.validate() }
        changed.validateAhead()
        #expect(!changed.isValidated)
        #expect(throws: TransportError.self) { try changed.validate() }
        try request.validate()
    }
}
