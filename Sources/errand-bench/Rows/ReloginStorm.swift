import Errand
import ErrandTesting
import Foundation
import Synchronization

/// Many loads that are all under way when their login expires, over a transport that responds at once.
struct ReloginStorm: Workload {
    func run(_ order: Order) async throws -> Measurement {
        let network = StormNetwork(expected: order.requests)
        let account = StormAccount(network)
        var service = Scripted.service
        service.reloginHandler = account
        service.commonHeaders = { ["X-Token": account.token] }
        let limits = QueueLimits(perHost: order.requests, total: order.requests)
        let proxy = APIProxy(service: service, transport: network.transport, queueLimits: limits)
        let witness = StormWitness(order.requests)
        let requests = (0..<order.requests).map { _ in GoodsListRequest(delegate: witness, proxy: proxy) }
        let before = Memory.now
        let meter = Meter()
        for request in requests { request.loadData() }
        await witness.allEnded()
        // An optimized build may release a value after its last use, and releasing a request cancels its load.
        withExtendedLifetime((requests, witness)) {}
        let seconds = meter.seconds
        let added = witness.endings.map { account.signedIn.duration(to: $0) / .milliseconds(1) }.sorted()
        return [
            "requests": Double(order.requests), "logins": Double(account.logins),
            "replays": Double(network.refusals.replays),
            "endings": Double(added.count), "failures": Double(witness.failures), "seconds": seconds,
            "p50_added_ms": added[added.count / 2], "p99_added_ms": added[added.count * 99 / 100],
            "bytes_each": (account.memory - before) * 1e6 / Double(order.requests), "peak_rss_mb": Memory.peak,
        ]
    }
}

/// Refuses the old token when the expected number of requests has arrived with it, and accepts the new one.
private final class StormNetwork: Sendable {
    let refusals: StormRefusals

    init(expected: Int) {
        refusals = StormRefusals(expected)
    }

    var transport: ScriptedTransport {
        ScriptedTransport(keepsRequests: false) { [self] request in
            guard request.headers["X-Token"] != "new" else {
                refusals.countReplay()
                return Scripted.goods
            }
            await refusals.refuse()
            return .status(401)
        }
    }
}

/// Signs in when all loads wait for it.
@MainActor private final class StormAccount: ReloginHandler {
    private(set) var logins = 0
    private(set) var signedIn = ContinuousClock.now
    /// The memory of the process while all loads wait, in MB.
    private(set) var memory = 0.0
    private let network: StormNetwork
    private let current = Mutex("old")

    init(_ network: StormNetwork) {
        self.network = network
    }

    nonisolated var token: String { current.withLock { $0 } }

    func relogin() async throws {
        logins += 1
        try await network.refusals.waitUntilAllAreRefused()
        memory = Memory.now
        current.withLock { $0 = "new" }
        signedIn = .now
    }
}
