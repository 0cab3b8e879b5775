import Errand
import Foundation

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
            "requests": Double(order.requests), "cancel_ms": seconds * 1_000, "notified_ms": notified * 1_000,
            "cancelled": Double(witness.cancelled), "late_callbacks": Double(witness.others),
            "peak_rss_mb": Memory.peak,
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
