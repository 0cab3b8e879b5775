import Errand
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

@Suite("Responses that crash URLSession on Linux", .limitedConcurrency, .timeLimit(.minutes(10)))
struct TransportCrashTests {
    @Test("a header block that is truncated at any byte is one error", .fault(7), arguments: TransportKind.survivors)
    func cutHead(kind: TransportKind) async throws {
        let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-A: b\r\n\r\n".utf8)
        let server = try FixtureServer.start { connection, _ in
            .onRequest(.write(Array(head.prefix(connection))), .close)
        }
        let transport = try kind.make()
        for _ in head {
            let ending = await transport.ending(of: HTTPRequest(to: server))
            #expect([.connectionLost, .badResponse].contains(ending))
        }
    }

    @Test("trailers are ignored", arguments: TransportKind.survivors)
    func trailers(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in
            .chunked([Array("abc".utf8)], trailers: ["X-Trailer": "1", "Set-Cookie": "late=1"])
        }
        #expect(try await kind.send(HTTPRequest(to: server)).body == Data("abc".utf8))
    }

    @Test(
        "a redirect to a strange host is the response",
        .fault(14),
        arguments: TransportKind.survivors,
        ["//[::1]/", "//a%20b/", "//a%2Fb/"]
    )
    func location(kind: TransportKind, location: String) async throws {
        let server = try FixtureServer.start { _ in .redirect(to: location) }
        #expect(try await kind.send(HTTPRequest(to: server)).headers["Location"] == location)
    }

    #if os(Linux)
    @Test func `URLSession and a header block cut short`() async {
        await expectKnownCrash(.cutHead) {
            await #expect(processExitsWith: .success) {
                let server = try FixtureServer.start { _ in .script(.write("HTTP/1.1 200 OK\r\nX-A: "), .close) }
                _ = await URLSessionTransport().ending(of: HTTPRequest(to: server))
            }
        }
    }

    @Test func `URLSession and trailers`() async {
        await expectKnownCrash(.trailers) {
            await #expect(processExitsWith: .success) {
                let server = try FixtureServer.start { _ in .chunked([[1]], trailers: ["X-Trailer": "1"]) }
                _ = await URLSessionTransport().ending(of: HTTPRequest(to: server))
            }
        }
    }

    @Test func `URLSession and a redirect to a strange host`() async {
        await expectKnownCrash(.location) {
            await #expect(processExitsWith: .success) {
                let server = try FixtureServer.start { _ in .redirect(to: "//[::1]/") }
                _ = await URLSessionTransport().ending(of: HTTPRequest(to: server))
            }
        }
    }

    /// Accepts that a process succeeds, as with a later Foundation, or ends by the known trap, and nothing else.
    private func expectKnownCrash(_ fault: KnownFault, _ exit: () async -> Void) async {
        await withKnownIssue("\(fault.reason)", isIntermittent: true) {
            await exit()
        } matching: { issue in
            fault.isShown(by: issue)
        }
    }
    #endif
}

extension TransportKind {
    /// The transports that do not crash for the responses that crash URLSession on Linux.
    fileprivate static var survivors: [TransportKind] {
        #if canImport(Darwin)
        allCases
        #else
        allCases.filter { $0 != .urlSession }
        #endif
    }
}
