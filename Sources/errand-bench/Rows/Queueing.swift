import Errand
import ErrandTesting
import Foundation

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
        let bytes = (Memory.now - before) * 1e6 / Double(order.requests)
        let meter = Meter()
        proxy.cancelAllRequests()
        let returned = meter.seconds
        while witness.cancelled < requests.count { try await Task.sleep(for: .milliseconds(1)) }
        withExtendedLifetime((requests, witness)) {}
        return [
            "queued": Double(order.requests), "bytes_each": bytes, "cancel_all_s": returned,
            "all_notified_s": meter.seconds,
            "cancelled": Double(witness.cancelled), "late": Double(witness.others), "peak_rss_mb": Memory.peak,
        ]
    }
}
