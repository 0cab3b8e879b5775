import Errand
import ErrandSigning
import ErrandTesting
import Foundation
import Synchronization

/// Many loads that are all under way when their session key expires, over a transport that responds at once.
struct KeyStorm: Workload {
    func run(_ order: Order) async throws -> Measurement {
        let network = SealedNetwork(expected: order.requests)
        let exchange = StormKeyExchange(network)
        var service = Scripted.service
        service.seal(with: TrafficSealing(cipher: .aesGCM, keyExchange: exchange, expiredCodes: [4_011]))
        let limits = QueueLimits(perHost: order.requests, total: order.requests)
        let proxy = APIProxy(service: service, transport: network.transport, queueLimits: limits)
        _ = try await GoodsListRequest(proxy: proxy).value()
        network.expireKey()
        let witness = StormWitness(order.requests)
        let requests = (0..<order.requests).map { _ in GoodsListRequest(delegate: witness, proxy: proxy) }
        let meter = Meter()
        for request in requests { request.loadData() }
        await witness.allEnded()
        // An optimized build may release a value after its last use, and releasing a request cancels its load.
        withExtendedLifetime((requests, witness)) {}
        return [
            "requests": Double(order.requests), "exchanges": Double(exchange.count - 1),
            "replays": Double(network.refusals.replays), "endings": Double(witness.endings.count),
            "failures": Double(witness.failures), "seconds": meter.seconds, "peak_rss_mb": Memory.peak,
        ]
    }
}

/// Refuses the first key when the expected number of requests has arrived with it, and accepts the second one.
private final class SealedNetwork: Sendable {
    let refusals: StormRefusals
    private let hasExpired = Atomic(false)

    init(expected: Int) {
        refusals = StormRefusals(expected)
    }

    /// Lets the first key expire.
    func expireKey() { hasExpired.store(true, ordering: .relaxed) }

    var transport: ScriptedTransport {
        ScriptedTransport(keepsRequests: false) { [self] request in
            guard hasExpired.load(ordering: .relaxed) else { return try ScriptedKeys.goods(for: request) }
            guard request.headers["X-Key-ID"] == "1" else {
                refusals.countReplay()
                return try ScriptedKeys.goods(for: request)
            }
            await refusals.refuse()
            return .json(#"{"errcode":4011,"msg":"key expired"}"#)
        }
    }
}

/// Exchanges the second key when all loads wait for it.
private final class StormKeyExchange: KeyExchange {
    private let network: SealedNetwork
    private let exchanges = Atomic<Int>(0)

    init(_ network: SealedNetwork) {
        self.network = network
    }

    /// The number of exchanges.
    var count: Int { exchanges.load(ordering: .relaxed) }

    func sessionKey() async throws -> SessionKey {
        let number = exchanges.add(1, ordering: .relaxed).newValue
        guard number > 1 else { return ScriptedKeys.key("1") }
        try await network.refusals.waitUntilAllAreRefused()
        return ScriptedKeys.key("\(number)")
    }
}
