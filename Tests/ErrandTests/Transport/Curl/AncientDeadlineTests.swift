#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Deadlines in the distant past", .limitedConcurrency, .timeLimit(.minutes(10)))
struct AncientDeadlineTests {
    @Test func `A deadline in the distant past is a timeout`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .hang }
            let transport = try CurlTransport()
            for deadline in [\HTTPRequest.timeout, \.deadline] {
                var request = HTTPRequest(.get, server.url("/"))
                request[keyPath: deadline] = .seconds(Int64.min)
                let error = await #expect(throws: TransportError.self) { try await transport.send(request) }
                #expect(error?.kind == .timeout)
            }
        }
    }
}
#endif
