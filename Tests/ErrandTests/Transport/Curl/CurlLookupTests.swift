#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

@Suite(
    "A name lookup that hangs",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: CookieProbe.canMount && SilentNameServer() != nil, "cannot mount, or port 53 is not free")
)
struct CurlLookupTests {
    @Test(.fault(89)) func `It holds no other request, and a cancel, a timeout and a deadline end it`() async throws {
        let folder = try TemporaryFolder()
        let names = try #require(SilentNameServer())
        let backend = try FixtureServer.start { _ in .text("response") }
        // A lookup takes 150 seconds.
        let settings = "nameserver \(SilentNameServer.address)\noptions timeout:30 attempts:5\n"
        try Data(settings.utf8).write(to: folder.url.appending(path: "resolv.conf"))
        try Data("127.0.0.1 backend.example\n".utf8).write(to: folder.url.appending(path: "hosts"))
        let script = """
            mount --bind "$0/resolv.conf" /etc/resolv.conf && mount --bind "$0/hosts" /etc/hosts && exec "$1" lookup "$2"
            """
        let url = "http://backend.example:\(backend.port)/"
        let outcome = try await TestProgram.run(
            ["unshare", "-m", "sh", "-c", script, folder.url.path, CookieProbe.path, url],
            deadline: .seconds(100)
        )
        let responses = Array(repeating: "response", count: 40), cancels = Array(repeating: "cancelled", count: 40)
        #expect(outcome.lines == responses + ["timeout", "timeout"] + cancels, "\(outcome.standardError)")
        #expect(backend.totalRequests == 40)
        #expect(names.hasQuery)
    }
}

/// A name server on loopback that never responds.
private final class SilentNameServer {
    /// An address that name servers of the machine do not use.
    static let address = "127.53.53.53"

    private let socket: CInt

    /// Returns `nil` when this process may not use the port of name servers.
    init?() {
        socket = Foundation.socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(53).bigEndian
        address.sin_addr.s_addr = inet_addr(Self.address)
        let isBound = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isBound else { return nil }
    }

    deinit { close(socket) }

    /// Whether a query has arrived.
    var hasQuery: Bool {
        var byte: UInt8 = 0
        return recv(socket, &byte, 1, Int32(MSG_DONTWAIT)) > 0
    }
}
#endif
