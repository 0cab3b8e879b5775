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

/// Loads that end while other threads cancel them: each must end once, after its cancel only as cancelled.
struct Racing: Workload {
    private static let batch = 1_000

    func run(_ order: Order) async throws -> Measurement {
        let network = ScriptedTransport(keepsRequests: false) { _ in
            for _ in 0..<Int.random(in: 0...8) { await Task.yield() }
            return Scripted.nothing
        }
        let limits = QueueLimits(perHost: Self.batch, total: Self.batch)
        let proxy = APIProxy(service: Scripted.service, transport: network, queueLimits: limits)
        let witness = RaceWitness()
        let meter = Meter()
        for _ in 0..<max(1, order.requests / Self.batch) { await race(on: proxy, witness) }
        return [
            .requests: Double(witness.begun), .cancels: Double(witness.cancels), .late: Double(witness.late),
            .lost: Double(witness.begun - witness.ended), .seconds: meter.seconds, .peakMemory: Memory.peak,
        ]
    }

    /// Runs one batch, cancelled from two threads in different random orders.
    private func race(on proxy: APIProxy, _ witness: RaceWitness) async {
        let requests = (0..<Self.batch).map { _ in RacingRequest(delegate: witness, proxy: proxy) }
        let loads = requests.map { (request: $0, id: $0.loadData()) }
        witness.begun += loads.count
        await withTaskGroup { group in
            for _ in 0..<2 {
                let shuffled = loads.map { (mark: $0.request.wasCancelled, id: $0.id) }.shuffled()
                group.addTask {
                    for load in shuffled where proxy.cancelRequest(load.id) {
                        load.mark.set()
                    }
                }
            }
        }
        while requests.contains(where: \.isLoading) { await Task.yield() }
        // Leaves time for late endings.
        for _ in 0..<10 { await Task.yield() }
    }
}

/// Whether `cancelRequest` has returned for a load.
private final class Mark: Sendable {
    private let value = Atomic(false)

    func set() {
        value.store(true, ordering: .sequentiallyConsistent)
    }

    var isSet: Bool { value.load(ordering: .sequentiallyConsistent) }
}

private final class RacingRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/nothing"
    let method = HTTPMethod.get
    let wasCancelled = Mark()
}

/// Counts endings, and those that are delivered after a cancel has returned.
@MainActor private final class RaceWitness: APIManagerCallbackDelegate {
    var begun = 0
    private(set) var ended = 0
    private(set) var cancels = 0
    private(set) var late = 0

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) { end(request) }
    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { end(request) }

    func managerCallAPIDidCancel(_ request: BaseAPIRequest) {
        ended += 1
        cancels += 1
    }

    private func end(_ request: BaseAPIRequest) {
        ended += 1
        if let request = request as? RacingRequest, request.wasCancelled.isSet { late += 1 }
    }
}

/// Many loads in the queue while one that gets no response runs: their cost and their throughput.
struct Queueing: Workload {
    func run(_ order: Order) async throws -> Measurement {
        let network = ScriptedTransport(keepsRequests: false) { _ in
            try await Task.sleep(for: .seconds(3_600))
            return Scripted.nothing
        }
        let limits = QueueLimits(perHost: 1, total: 1)
        let proxy = APIProxy(service: Scripted.service, transport: network, queueLimits: limits)
        let witness = CancelWitness()
        let requests = (0...order.requests).map { _ in NothingRequest(delegate: witness, proxy: proxy) }
        let before = Memory.now
        for request in requests { request.loadData() }
        while proxy.queuedCount < order.requests { try await Task.sleep(for: .milliseconds(5)) }
        let bytes = (Memory.now - before) / Double(order.requests)
        let meter = Meter()
        proxy.cancelAllRequests()
        let returned = meter.seconds
        while witness.cancelled < requests.count { try await Task.sleep(for: .milliseconds(1)) }
        withExtendedLifetime((requests, witness)) {}
        return [
            .queued: Double(order.requests), .bytesEach: bytes, .cancelAll: returned, .allNotified: meter.seconds,
            .cancelled: Double(witness.cancelled), .late: Double(witness.others), .peakMemory: Memory.peak,
        ]
    }
}

/// Cancels many loads, on a few hundred connections and in the queue, with one call.
struct Cancelling: Workload {
    let url: URL

    func run(_ order: Order) async throws -> Measurement {
        let witness = CancelWitness()
        let service = APIService(baseURL: url)
        let limits = QueueLimits(perHost: order.requests, total: order.requests)
        let proxy = APIProxy(service: service, transport: try Connections.transport(), queueLimits: limits)
        let request = HangingRequest(delegate: witness, proxy: proxy)
        for _ in 0..<order.requests { request.loadData() }
        // Waits until the transport has received all of them.
        try await Task.sleep(for: .seconds(1))
        let meter = Meter()
        proxy.cancelAllRequests()
        let seconds = meter.seconds
        while witness.cancelled < order.requests, meter.seconds < 10 { try await Task.sleep(for: .milliseconds(5)) }
        let notified = meter.seconds
        try await Task.sleep(for: .milliseconds(500))
        return [
            .requests: Double(order.requests), .cancel: seconds, .notified: notified,
            .cancelled: Double(witness.cancelled), .lateCallbacks: Double(witness.others), .peakMemory: Memory.peak,
        ]
    }
}

/// A request that never gets a response.
private final class HangingRequest: BaseAPIRequest, APIManager {
    typealias Response = String
    let path = "/hang"
    let method = HTTPMethod.get
    override var restartPolicy: RestartPolicy { .concurrent }
}

/// Counts the cancelled loads and the loads with another ending.
@MainActor private final class CancelWitness: APIManagerCallbackDelegate {
    private(set) var cancelled = 0
    private(set) var others = 0

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) { others += 1 }
    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { others += 1 }
    func managerCallAPIDidCancel(_ request: BaseAPIRequest) { cancelled += 1 }
}
