#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("A process without free descriptors", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CurlScarcityTests {
    /// Limits the descriptors and opens all remaining ones, or all but the last eight, which are not for sockets.
    private static func takeDescriptors(butEight: Bool = false) throws -> [CInt] {
        try DescriptorLimit.leave(100)
        var hoard: [CInt] = []
        while case let number = dup(0), number >= 0 { hoard.append(number) }
        if butEight {
            for number in hoard.suffix(8) { close(number) }
            hoard.removeLast(8)
        }
        return hoard
    }

    @Test(.fault(95)) func `The platform's transport uses libcurl as soon as there are descriptors`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .text("ok") }
            let hoard = try Self.takeDescriptors()
            let transport = SystemTransport()
            #expect(!(transport.platform is URLSessionTransport))
            let request = HTTPRequest(.get, server.url("/"))
            #expect(await transport.ending(of: request) == .cannotConnect)
            for number in hoard { close(number) }
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 { group.addTask { try await transport.send(request, progress: nil).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == Array(repeating: 200, count: 8))
            let before = server.totalConnections
            #expect(try await transport.send(request, progress: nil).status == 200)
            #expect(server.totalConnections == before, "one transport is kept, with its connections")
        }
    }

    @Test(.fault(95)) func `A socket that cannot be opened is not a missing route, whatever failed before`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .text("ok") }
            let transport = try CurlTransport()
            // The kernel has no route for TCP to a group of hosts.
            #expect(await transport.ending(of: HTTPRequest(.get, URL("http://224.0.0.1:9/"))) == .noNetwork)
            let hoard = try Self.takeDescriptors(butEight: true)
            #expect(await transport.ending(of: HTTPRequest(.get, server.url("/"))) == .cannotConnect)
            for number in hoard { close(number) }
            #expect(await transport.ending(of: HTTPRequest(.get, server.url("/"))) == nil)
        }
    }

    @Test(.fault(67)) func `A transport without a wake-up fails its request, and a later one works`() async {
        await #expect(processExitsWith: .success) {
            let server = try FixtureServer.start { _ in .text("ok") }
            var request = HTTPRequest(.get, server.url("/"))
            request.deadline = .seconds(20)
            _ = try await CurlTransport().send(request)
            try DescriptorLimit.leave(100)
            var hoard: [CInt] = []
            repeat {
                // A released transport closes its descriptors asynchronously.
                while case let number = dup(0), number >= 0 { hoard.append(number) }
            } while try await CurlTransport().ending(of: request) != .cannotConnect
            for number in hoard { close(number) }
            #expect(try await CurlTransport().send(request).status == 200)
        }
    }
}
#endif
