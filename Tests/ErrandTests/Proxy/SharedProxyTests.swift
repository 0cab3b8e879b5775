import Dispatch
import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite(
    "The shared proxy is configured once, before its first use",
    .limitedConcurrency,
    .hangLimit,
    .timeLimit(.minutes(10))
)
struct SharedProxyTests {
    private struct Configured: Error {}

    /// How a configuration ended; `nil` for success.
    private static func problem(
        _ configuration: SharedProxyConfiguration,
        _ change: (inout APIProxyConfiguration) -> Void = { _ in }
    ) -> APIProxyConfigurationError? {
        var value = APIProxyConfiguration()
        change(&value)
        do throws(APIProxyConfigurationError) {
            try configuration.configure(with: value)
            return nil
        } catch {
            return error
        }
    }

    // Exit tests need child processes.
    #if os(macOS) || os(Linux)
    @Test func `Its transport, its limits and its clock are those of the configuration`() async {
        await #expect(processExitsWith: .success) {
            let clock = ManualClock()
            var configuration = APIProxyConfiguration()
            configuration.transport.connectionsPerHost = 3
            configuration.queueLimits = QueueLimits(perHost: 2, total: 2)
            configuration.clock = clock
            try APIProxy.configureShared(with: configuration)
            #expect(APIProxy.shared.transport.capacity.connectionsPerHost == 3)
            #expect(APIProxy.shared.clock as? ManualClock === clock)
            let lane = QueueLane(host: "a", priority: .normal)
            let admitted = (0..<3).map { _ in APIProxy.shared.queue.enter(.next(lane)) { _ in } }
            #expect(admitted == [true, true, false])
            let again = #expect(throws: APIProxyConfigurationError.self) {
                try APIProxy.configureShared(with: configuration)
            }
            guard case .alreadyConfigured = again else { throw Configured() }
        }
    }

    @Test func `After its first use it cannot be configured`() async {
        await #expect(processExitsWith: .success) {
            let first = await MainActor.run { APIRequest<Void>("/a").proxy }
            let error = #expect(throws: APIProxyConfigurationError.self) {
                try APIProxy.configureShared(with: APIProxyConfiguration())
            }
            guard case .alreadyInUse = error else { throw Configured() }
            #expect(APIProxy.shared === first)
            #expect("\(error as Any)".contains("when the app starts"))
        }
    }
    #endif

    @Test func `A transport of the app sends instead of the platform's`() {
        let (configuration, network) = (SharedProxyConfiguration(), ScriptedTransport())
        #expect(Self.problem(configuration) { $0.customTransport = network } == nil)
        #expect(configuration.use()?.customTransport as? ScriptedTransport === network)
    }

    @Test func `A configuration that is refused changes nothing`() {
        let configuration = SharedProxyConfiguration()
        let refused = Self.problem(configuration) { $0.transport.tls.pinnedPublicKeys["a.test"] = ["no key"] }
        guard case .transport(let error)? = refused else {
            Issue.record("\(refused as Any)")
            return
        }
        #expect(error.kind == .invalidRequest)
        #expect(Self.problem(configuration) == nil)
        #expect(configuration.use() != nil)
    }

    @Test func `Of several configurations and a first use at the same time one is first`() {
        for _ in 0..<20 {
            let configuration = SharedProxyConfiguration()
            let successes = Lock(0)
            let used = Lock<Bool?>(nil)
            DispatchQueue.concurrentPerform(iterations: 4) { number in
                if number == 3 {
                    let isConfigured = configuration.use() != nil
                    used.withLock { $0 = isConfigured }
                } else if Self.problem(configuration) == nil {
                    successes.withLock { $0 += 1 }
                }
            }
            #expect(successes.withLock { $0 } == (used.withLock { $0 } == true ? 1 : 0))
            #expect(Self.problem(configuration) != nil)
        }
    }
}
