import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
