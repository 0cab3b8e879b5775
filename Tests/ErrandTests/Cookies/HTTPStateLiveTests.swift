import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// The http-state suite over sockets: a redirect sets the cookies, and the request that follows it sends them.
@Suite(
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: SharedData.freshHTTPState.exists, "the conformance data is not here")
)
struct HTTPStateLiveTests {
    /// Cases with invalid header fields, for which a transport may refuse the response.
    static let unsendable: Set = ["DISABLED_CHROMIUM0022", "DISABLED_CHROMIUM0023"]
    static let cases = HTTPStateTests.cases.filter { !unsendable.contains($0.test) }

    #if os(Linux)
    @Test("A case of the suite sends the expected cookies", arguments: cases)
    func sends(_ test: HTTPStateTests.Case) async throws {
        let server = try FixtureServer.start { request in
            guard request.path == "/cookie-parser" else { return .text(request.header("Cookie") ?? "") }
            let target = test.sentTo ?? "/cookie-parser-result"
            return test.received.reduce(.redirect(to: target)) { $0.adding("Set-Cookie", $1) }
        }
        var configuration = TransportConfiguration()
        configuration.proxy = .url(server.baseURL)
        let proxy = APIProxy(transport: try CurlTransport(configuration))
        let response = try await proxy.send(HTTPRequest(.get, URL("http://home.example.org:8888/cookie-parser")))
        let sent = String(decoding: response.body, as: UTF8.self)
        #expect(sent == test.expected ?? "")
    }
    #endif
}
