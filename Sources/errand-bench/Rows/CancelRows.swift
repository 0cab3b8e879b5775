import Errand
import ErrandTesting
import Foundation
import Synchronization

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
