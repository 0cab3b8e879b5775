#if os(Linux)
import Foundation
import TestSupport
import Testing

@testable import FixtureServer

@Suite("Accepting connections", .limitedConcurrency, .timeLimit(.minutes(10)))
struct AcceptingTests {
    @Test func `A server set not to accept does not, even after it has run out of descriptors`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .text("ok") }
            await server.setAccepting(false)
            let client = try RawClient(port: server.port)
            // More descriptors than this process has inherited from the test process.
            var limit = rlimit(rlim_cur: 4_096, rlim_max: 4_096)
            #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            // The first timer of Dispatch opens some, and traps where it cannot.
            try await Task.sleep(for: .nanoseconds(1))
            var hoard: [CInt] = []
            while case let number = dup(0), number >= 0 { hoard.append(number) }
            await server.setAccepting(true)
            // Measured by the server's thread, which has tried to accept when this time has passed.
            #expect(await !server.waitForTotalConnections(1, timeout: .milliseconds(50)))
            await server.setAccepting(false)
            for number in hoard { close(number) }
            #expect(await !server.waitForTotalConnections(1, timeout: .milliseconds(200)))
            await server.setAccepting(true)
            #expect(await server.waitForTotalConnections(1))
            client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(await server.waitForTotalRequests(1))
        }
    }
}
#endif
