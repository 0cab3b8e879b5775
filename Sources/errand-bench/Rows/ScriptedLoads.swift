import Errand
import ErrandTesting

/// Loads over a transport that responds at once; the memory is measured after the first tenth and at the end.
@MainActor final class ScriptedLoads: Workload, APIManagerCallbackDelegate {
    private let service: APIService
    private let monitors: [any APIMonitor]
    private let network = ScriptedTransport(keepsRequests: false) { _ in Scripted.nothing }
    private var toBegin = 0
    private var toEnd = 0
    private var continuation: CheckedContinuation<Void, any Error>?

    init(_ service: APIService = Scripted.service, monitors: [any APIMonitor] = []) {
        (self.service, self.monitors) = (service, monitors)
    }

    func run(_ order: Order) async throws -> Measurement {
        let proxy = APIProxy(service: service, transport: network, monitors: monitors)
        let requests = (0..<order.concurrency).map { _ in NothingRequest(delegate: self, proxy: proxy) }
        let first = max(1, order.requests / 10)
        try await load(first, with: requests)
        let rest = max(1, order.requests - first)
        let (meter, memory) = (Meter(), Memory.now)
        try await load(rest, with: requests)
        let fields = meter.measurement(of: rest)
        return [
            "loads": Double(order.requests), "cpu_us": fields["cpu_us_per_request"] ?? .nan,
            "rss_growth_kb": (Memory.now - memory) * 1_000, "requests_per_s": fields["requests_per_s"] ?? .nan,
            "peak_rss_mb": Memory.peak,
        ]
    }

    private func load(_ count: Int, with requests: [NothingRequest]) async throws {
        (toBegin, toEnd) = (count, count)
        try await withCheckedThrowingContinuation { continuation in
            self.continuation = continuation
            for request in requests { loadNext(request) }
        }
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        toEnd -= 1
        guard toEnd > 0 else { return end() }
        loadNext(request as? NothingRequest)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { end(throwing: error) }

    private func loadNext(_ request: NothingRequest?) {
        guard toBegin > 0 else { return }
        toBegin -= 1
        request?.loadData()
    }

    private func end(throwing error: (any Error)? = nil) {
        toBegin = 0
        continuation?.resume(with: error.map { .failure($0) } ?? .success(()))
        continuation = nil
    }
}
