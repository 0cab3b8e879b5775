import Errand
import ErrandTesting
import TestSupport
import Testing

@testable import ErrandSigning

@Suite("Waits for session keys are events", .hangLimit, .timeLimit(.minutes(10)))
struct KeyEventTests {
    /// Records waits, renewals and further tries.
    private final class Waits: APIMonitor {
        private let recorded = Lock<[String]>([])

        var steps: [String] { recorded.withLock { $0 } }

        func observe(_ event: APIEvent) {
            switch event.kind {
            case .waiting(let reason, _): recorded.withLock { $0.append("waiting \(reason)") }
            case .renewed(let renewal): recorded.withLock { $0.append("renewed \(renewal)") }
            case .tryingAgain: recorded.withLock { $0.append("again") }
            default: break
            }
        }
    }

    @Test func `A load waits for the first key, and for another one when the server refuses its key`() async throws {
        let waits = Waits()
        let scene = SealingScene()
        scene.proxy.monitors = [waits]
        _ = try await scene.send("first")
        let exchange = ["waiting key", "renewed key"]
        #expect(waits.steps == exchange)
        _ = try await scene.send("second")
        #expect(waits.steps == exchange)
        scene.server.expireKeys()
        _ = try await scene.send("third")
        #expect(waits.steps == exchange + exchange + ["waiting adapter", "again"])
        scene.server.expireKeys()
        scene.exchange.fail(with: SampleExchange.Refused())
        _ = await scene.failure()
        #expect(waits.steps == exchange + exchange + ["waiting adapter", "again", "waiting key"])
    }
}
