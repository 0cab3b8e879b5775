import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// A login is sent at once, because the loads that occupy every place and every connection may wait for it.
@MainActor
@Suite("A login among loads that occupy every connection", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct LoginLimitTests {
    /// The limits of a transport and of its proxy.
    struct Limits: Sendable {
        let connectionsPerHost: Int
        let connections: Int
        let requests: Int

        /// The number of `loads` that the proxy sends in addition to one that it has sent before.
        func places(for loads: Int) -> Int {
            min(min(connectionsPerHost, connections, requests) - 1, loads)
        }

        func makeTransport(_ kind: TransportKind) throws -> any HTTPTransport {
            var configuration = TransportConfiguration()
            configuration.connectionsPerHost = connectionsPerHost
            configuration.connections = connections
            return try kind.make(configuration)
        }
    }

    private static let slowLoads = 63

    let screen = Screen()
    let account = Account()

    private func load(_ path: String, _ proxy: APIProxy) -> GoodsRequest {
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.path = path
        request.loadData()
        return request
    }

    private func proxy(_ kind: TransportKind, _ limits: Limits, _ server: FixtureServer) throws -> APIProxy {
        let service = APIService.sample { [account] in
            $0.baseURL = server.baseURL
            $0.reloginHandler = account
            $0.commonHeaders = { ["X-Token": account.token] }
        }
        return APIProxy(
            service: service,
            transport: try limits.makeTransport(kind),
            queueLimits: QueueLimits(perHost: limits.requests)
        )
    }

    @Test(
        .fault(88),
        arguments: TransportKind.allCases,
        [
            Limits(connectionsPerHost: 1, connections: 128, requests: 64),
            Limits(connectionsPerHost: 16, connections: 1, requests: 64),
            Limits(connectionsPerHost: 16, connections: 128, requests: 2),
            Limits(connectionsPerHost: 1, connections: 1, requests: 2),
            Limits(connectionsPerHost: 4, connections: 128, requests: 64),
            Limits(connectionsPerHost: 16, connections: 16, requests: 63),
            Limits(connectionsPerHost: 63, connections: 63, requests: 63),
        ]
    )
    func `A login waits for none of the loads that occupy every connection`(
        _ kind: TransportKind,
        _ limits: Limits
    ) async throws {
        let (refusal, slowness) = (Gate(), Gate())
        let server = try FixtureServer.start { request in
            let response = Response.json(bytes: goodsJSON([]).utf8)
            if request.path == "/slow" { return response.preceded(by: .pass(slowness)) }
            if request.path == "/login" || request.header("X-Token") == "t1" { return response }
            return Response.status(401).preceded(by: .pass(refusal))
        }
        defer { slowness.open() }
        let proxy = try proxy(kind, limits, server)
        let places = limits.places(for: Self.slowLoads)
        account.login = {
            let login = GoodsRequest(proxy: proxy)
            (login.path, login.customLogin) = ("/login", true)
            _ = try await login.value()
        }
        let refused = load("/goods", proxy)
        #expect(await server.waitForTotalRequests(1))
        let requests = (0..<Self.slowLoads).map { _ in load("/slow", proxy) }
        // Loads that are sent later wait for the login.
        #expect(await server.waitForTotalRequests(1 + places))
        refusal.open()
        try await until { server.requests.contains { $0.path == "/login" } }
        slowness.open()
        #expect(await screen.endings(1 + Self.slowLoads).allSatisfy { $0 == .success })
        #expect(account.logins == 1 && account.expiries == 0)
        withExtendedLifetime((refused, requests)) {}
    }

    @Test(.fault(88)) func `A login request does not join an exchange that waits in the queue`() async {
        let gate = Latch()
        let transport = ScriptedTransport { request async throws(TransportError) in
            if request.url.path.hasSuffix("/slow") { try await gate.wait() }
            return .json(goodsJSON([]))
        }
        let proxy = APIProxy(service: .sample(), transport: transport, queueLimits: QueueLimits(perHost: 1))
        let slow = load("/slow", proxy)
        let requests = [false, true].map { isLogin in
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            (request.path, request.method) = ("/session", .get)
            (request.ownOptions.coalescesIdentical, request.customLogin) = (true, isLogin)
            return request
        }
        requests[0].loadData()
        await suspend(while: proxy.queuedCount == 0)
        #expect(await requests[1].outcome() == nil)
        #expect(requests[0].isLoading)
        gate.open()
        #expect(await screen.endings(2).allSatisfy { $0 == .success })
        withExtendedLifetime((slow, requests)) {}
    }
}
