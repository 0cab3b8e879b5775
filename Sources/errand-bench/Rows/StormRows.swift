import Errand
import ErrandSigning
import ErrandTesting
import Foundation
import Synchronization

/// Many loads that are all under way when their login expires, over a transport that responds at once.
struct ReloginStorm: Workload {
    func run(_ order: Order) async throws -> Measurement {
        let refusals = StormRefusals(order.requests)
        // Refuses the old token when the expected number of requests has arrived with it, and accepts the new one.
        let network = ScriptedTransport(keepsRequests: false) { request in
            guard request.headers["X-Token"] != "new" else {
                refusals.countReplay()
                return Scripted.goods
            }
            await refusals.refuse()
            return .status(401)
        }
        let account = StormAccount(refusals)
        var service = Scripted.service
        service.reloginHandler = account
        service.commonHeaders = { ["X-Token": account.token] }
        let limits = QueueLimits(perHost: order.requests, total: order.requests)
        let proxy = APIProxy(service: service, transport: network, queueLimits: limits)
        let storm = Storm(of: order.requests, on: proxy)
        let before = Memory.now
        let seconds = await storm.run()
        let added = storm.endings.map { account.signedIn.duration(to: $0) / .seconds(1) }.sorted()
        return [
            .requests: Double(order.requests), .logins: Double(account.logins), .replays: Double(refusals.replays),
            .endings: Double(added.count), .failures: Double(storm.failures), .seconds: seconds,
            .p50Added: added[added.count / 2], .p99Added: added[added.count * 99 / 100],
            .bytesEach: (account.memory - before) / Double(order.requests), .peakMemory: Memory.peak,
        ]
    }
}

/// Signs in when all loads wait for it.
@MainActor private final class StormAccount: ReloginHandler {
    private(set) var logins = 0
    private(set) var signedIn = ContinuousClock.now
    /// The memory of the process while all loads wait, in bytes.
    private(set) var memory = 0.0
    private let refusals: StormRefusals
    private let current = Lock("old")

    init(_ refusals: StormRefusals) {
        self.refusals = refusals
    }

    nonisolated var token: String { current.withLock { $0 } }

    func relogin() async throws {
        logins += 1
        try await refusals.waitUntilAllAreRefused()
        memory = Memory.now
        current.withLock { $0 = "new" }
        signedIn = .now
    }
}

/// Many loads that are all under way when their session key expires, over a transport that responds at once.
struct KeyStorm: Workload {
    func run(_ order: Order) async throws -> Measurement {
        let refusals = StormRefusals(order.requests)
        let keys = StormKeys(refusals)
        // Refuses the expired key when the expected number of requests has arrived with it, and accepts the others.
        let network = ScriptedTransport(keepsRequests: false) { request in
            guard keys.hasExpired else { return try ScriptedKeys.goods(for: request) }
            guard request.headers["X-Key-ID"] == "1" else {
                refusals.countReplay()
                return try ScriptedKeys.goods(for: request)
            }
            await refusals.refuse()
            return .json(#"{"errcode":4011,"msg":"key expired"}"#)
        }
        var service = Scripted.service
        service.seal(with: TrafficSealing(cipher: .aesGCM, keyExchange: keys, expiredCodes: [4_011]))
        let limits = QueueLimits(perHost: order.requests, total: order.requests)
        let proxy = APIProxy(service: service, transport: network, queueLimits: limits)
        _ = try await GoodsListRequest(proxy: proxy).value()
        keys.expire()
        let storm = Storm(of: order.requests, on: proxy)
        let seconds = await storm.run()
        return [
            .requests: Double(order.requests), .exchanges: Double(keys.exchanges - 1),
            .replays: Double(refusals.replays), .endings: Double(storm.endings.count),
            .failures: Double(storm.failures), .seconds: seconds, .peakMemory: Memory.peak,
        ]
    }
}

/// Exchanges the second key when all loads wait for it.
private final class StormKeys: KeyExchange {
    private let refusals: StormRefusals
    private let expired = Atomic(false)
    private let exchanged = Atomic(0)

    init(_ refusals: StormRefusals) {
        self.refusals = refusals
    }

    /// Whether the first key has expired.
    var hasExpired: Bool { expired.load(ordering: .relaxed) }
    /// The number of exchanges.
    var exchanges: Int { exchanged.load(ordering: .relaxed) }

    /// Lets the first key expire.
    func expire() { expired.store(true, ordering: .relaxed) }

    func sessionKey() async throws -> SessionKey {
        let number = exchanged.add(1, ordering: .relaxed).newValue
        guard number > 1 else { return ScriptedKeys.key("1") }
        try await refusals.waitUntilAllAreRefused()
        return ScriptedKeys.key("\(number)")
    }
}

/// The requests of a storm that are refused together, when the expected number of them has arrived.
private final class StormRefusals: Sendable {
    private let expected: Int
    private let waiters = Lock<[CheckedContinuation<Void, Never>]>([])
    private let replayed = Atomic<Int>(0)
    private let refused = Atomic<Int>(0)

    init(_ expected: Int) {
        self.expected = expected
    }

    /// The number of requests that were sent again.
    var replays: Int { replayed.load(ordering: .relaxed) }

    /// Counts a request that is sent again.
    func countReplay() { replayed.add(1, ordering: .relaxed) }

    /// Waits until all requests have arrived, and counts a refusal.
    func refuse() async {
        await withCheckedContinuation { waiter in
            let all = waiters.withLock { waiters in
                waiters.append(waiter)
                return waiters.count == expected ? waiters : []
            }
            for waiter in all { waiter.resume() }
        }
        refused.add(1, ordering: .relaxed)
    }

    /// Waits until all requests have been refused, and their loads know it.
    func waitUntilAllAreRefused() async throws {
        while refused.load(ordering: .relaxed) < expected { try await Task.sleep(for: .milliseconds(5)) }
        // The last refusal is on its way from the transport to the load.
        try await Task.sleep(for: .milliseconds(100))
    }
}

/// Loads that begin together; records when they end.
@MainActor private final class Storm: APIManagerCallbackDelegate {
    private(set) var endings: [ContinuousClock.Instant] = []
    private(set) var failures = 0
    // Releasing a request cancels its load.
    private var requests: [GoodsListRequest] = []
    private var continuation: CheckedContinuation<Void, Never>?

    init(of count: Int, on proxy: APIProxy) {
        requests = (0..<count).map { _ in GoodsListRequest(delegate: self, proxy: proxy) }
    }

    /// Begins all loads, waits for their endings, and returns the time, in seconds.
    func run() async -> Double {
        let meter = Meter()
        for request in requests { request.loadData() }
        await withCheckedContinuation { continuation = $0 }
        return meter.seconds
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) { end() }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        failures += 1
        end()
    }

    private func end() {
        endings.append(.now)
        if endings.count == requests.count { continuation?.resume() }
    }
}
