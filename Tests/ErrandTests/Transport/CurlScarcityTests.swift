#if os(Linux)
import FixtureServer
import Foundation
import Testing

@testable import Errand

@Suite("A process without free descriptors", .takesTurns, .timeLimit(.minutes(1)))
struct CurlScarcityTests {
    private static var failureToMakeTransport: TransportError.Kind? {
        do throws(TransportError) {
            _ = try CurlTransport()
            return nil
        } catch {
            return error.kind
        }
    }

    @Test(.fault(67)) func `No transport is made that nobody could wake, and a later one works`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .text("ok") }
            _ = try await CurlTransport().send(HTTPRequest(.get, server.url("/")))
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            var hoard: [CInt] = []
            var failure: TransportError.Kind?
            // The transport that has gone gives its descriptors back in its own time.
            try await until {
                while case let number = dup(0), number >= 0 { hoard.append(number) }
                failure = Self.failureToMakeTransport
                return failure != nil
            }
            #expect(failure == .cannotConnect)
            for number in hoard { close(number) }
            var request = HTTPRequest(.get, server.url("/"))
            request.timeout = .seconds(20)
            #expect(try await CurlTransport().send(request).status == 200)
        }
    }
}
#endif
