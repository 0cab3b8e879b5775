import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite(
    "For every fault of a server, a load ends once, with the right type",
    .limitedConcurrency,
    .hangLimit,
    .timeLimit(.minutes(10))
)
struct FaultEndingTests {
    /// The faults, numbered as in the fault matrix.
    enum Fault: Int, CaseIterable, Sendable {
        case closedPort = 1
        case neverResponds, bodyDrips, headersDrip, resets, closesAtOnce
        case bodyIsShort = 8

        var type: APIErrorType {
            switch self {
            case .neverResponds, .bodyDrips, .headersDrip: .timeout
            case .closedPort, .resets, .closesAtOnce, .bodyIsShort: .transport
            }
        }

        @MainActor fileprivate func start() throws -> FixtureServer {
            let server = try FixtureServer.start { [self] _ in response }
            if self == .closedPort { server.stop() }
            return server
        }

        private var response: Response {
            switch self {
            case .closedPort, .neverResponds: .hang
            case .bodyDrips: .script(.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"), drip)
            case .headersDrip: .script(.write("HTTP/1.1 200 OK\r\nX-A: "), drip)
            case .resets: .script(.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"), .reset)
            case .closesAtOnce: .script(.close)
            case .bodyIsShort: .script(.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{}}"), .close)
            }
        }

        private var drip: Response.Step { .repeatForever(Array("x".utf8), every: .milliseconds(200)) }
    }

    @Test(
        .fault(1),
        .fault(2),
        .fault(3),
        .fault(5),
        .fault(6),
        .fault(8),
        arguments: TransportKind.allCases,
        Fault.allCases.filter { $0 != .headersDrip }
    )
    func `A load has one ending and no callback after it`(_ kind: TransportKind, _ fault: Fault) async throws {
        try await expectOneEnding(kind, fault)
    }

    @Test(.fault(4), arguments: TransportKind.supportingInterruptedHeads)
    func `A load has one ending inside the header block`(_ kind: TransportKind) async throws {
        try await expectOneEnding(kind, .headersDrip)
    }

    private func expectOneEnding(_ kind: TransportKind, _ fault: Fault) async throws {
        let server = try fault.start()
        let proxy = APIProxy(service: APIService(baseURL: server.baseURL), transport: try kind.make())
        let screen = Screen()
        let indicator = IndicatorSpy()
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        if fault == .neverResponds { request.customTimeout = .milliseconds(500) }
        // A slow body is not idle.
        if [.bodyDrips, .headersDrip].contains(fault) { request.ownOptions.deadline = .milliseconds(500) }
        request.loadData(indicator: indicator)
        #expect(await screen.ending() == .failure(fault.type))
        #expect(screen.errors.first?.message.isEmpty == false)
        await sentinel(proxy)
        #expect(screen.events.count == 1)
        #expect(indicator.isBalanced)
        #expect(proxy.activeRequests.isEmpty)
        withExtendedLifetime(server) {}
    }
}
