#if os(Linux)
import FixtureServer
import Foundation
import Testing

@testable import Errand

@Suite("A process without free descriptors", .takesTurns, .timeLimit(.minutes(1)))
struct CurlScarcityTests {
    @Test(.fault(67)) func `No transport is made that nobody could wake, and a later one works`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .text("ok") }
            _ = try await CurlTransport().send(HTTPRequest(.get, server.url("/")))
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            var hoard: [CInt] = []
            while case let number = dup(0), number >= 0 { hoard.append(number) }
            let error = #expect(throws: TransportError.self) { try CurlTransport() }
            #expect(error?.kind == .cannotConnect)
            for number in hoard { close(number) }
            var request = HTTPRequest(.get, server.url("/"))
            request.timeout = .seconds(20)
            #expect(try await CurlTransport().send(request).status == 200)
        }
    }
}
#endif
