import Testing

@testable import Errand

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
