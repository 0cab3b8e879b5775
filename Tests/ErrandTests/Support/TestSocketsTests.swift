#if os(Linux) && !THREAD_SANITIZER
import FixtureServer
import Foundation
import TestSockets
import TestSupport
import Testing

@testable import Errand

@Suite("The sockets of the test process", .timeLimit(.minutes(10)))
struct TestSocketsTests {
    @Test(.startsLate) func `Child processes inherit no socket of URLSession, unless a test asks for it`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .text("ok") }
            let transports = (URLSessionTransport(), URLSessionTransport())
            let before = try Self.inheritedSockets()
            _ = try await transports.0.send(HTTPRequest(.get, server.url("/")))
            #expect(try Self.inheritedSockets() == before)
            test_sockets_stay_as_requested()
            _ = try await transports.1.send(HTTPRequest(.get, server.url("/")))
            // Without this, the first half would not show what makes the difference.
            #expect(try Self.inheritedSockets().count > before.count)
            // A released transport closes its connections, at any time.
            withExtendedLifetime(transports) {}
        }
    }

    /// The numbers of the sockets that a child process would have.
    private static func inheritedSockets() throws -> Set<Int32> {
        let numbers = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        return Set(
            numbers.filter { number in
                var status = stat()
                let flags = fcntl(number, F_GETFD)
                return flags >= 0 && flags & FD_CLOEXEC == 0 && fstat(number, &status) == 0
                    && status.st_mode & S_IFMT == S_IFSOCK
            }
        )
    }
}
#endif
