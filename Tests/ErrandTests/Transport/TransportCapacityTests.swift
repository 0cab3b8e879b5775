import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("The capacity of a transport", .limitedConcurrency, .timeLimit(.minutes(10)))
struct TransportCapacityTests {
    @Test("a transport starts every request at once", arguments: TransportKind.allCases)
    func noQueue(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .hang }
        let transport = try kind.make(connectionsPerHost: 1)
        let count = 100
        let tasks = (0..<count).map { _ in Task { await transport.ending(of: HTTPRequest(to: server)) } }
        #expect(await server.waitForTotalRequests(count))
        #expect(server.openConnections == count)
        for task in tasks { task.cancel() }
        for task in tasks { #expect(await task.value == .cancelled) }
        #expect(await server.waitForOpenConnections(0))
    }

    @Test("the capacity is the one with which the transport was created", arguments: TransportKind.allCases)
    func configured(kind: TransportKind) throws {
        #expect(try kind.make().capacity.connectionsPerHost == 16)
        #expect(try kind.make(connectionsPerHost: 3).capacity.connectionsPerHost == 3)
    }

    @Test(arguments: TransportKind.allCases)
    func `A transport reports both limits of its configuration`(_ kind: TransportKind) throws {
        #expect(try kind.make().capacity == TransportCapacity())
        var configuration = TransportConfiguration()
        (configuration.connectionsPerHost, configuration.connections) = (3, 5)
        var expected = TransportCapacity()
        (expected.connectionsPerHost, expected.connections) = (3, 5)
        #expect(try kind.make(configuration).capacity == expected)
    }

    #if os(Linux)
    @Test(.enabled(if: TestAuthority.isAvailable && TLSServer.isAvailable, "openssl is not installed"))
    func `A response over HTTP 2 is multiplexed`() async throws {
        let authority = try TestAuthority.shared.get()
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        let transport = try CurlTransport(configuration)
        let server = try HTTP2Server(authority) { _ in .response("ok") }
        for _ in 0..<2 { #expect(try await transport.send(HTTPRequest(.get, server.url("/"))).isMultiplexed) }
    }
    #endif

    @Test("a response over HTTP/1.1 is not multiplexed", arguments: TransportKind.allCases)
    func http1(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        #expect(try await kind.send(HTTPRequest(to: server)).isMultiplexed == false)
    }
}

extension TransportKind {
    /// A transport of this kind with a limit of connections to one host.
    fileprivate func make(connectionsPerHost: Int) throws -> any HTTPTransport {
        var configuration = TransportConfiguration()
        configuration.connectionsPerHost = connectionsPerHost
        return try make(configuration)
    }
}
