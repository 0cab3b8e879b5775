import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
