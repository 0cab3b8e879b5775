import Errand

/// Loads from `loadData` to the delegate, as a screen does.
@MainActor final class LayerLoop: RequestLoop, APIManagerCallbackDelegate, APIManagerParamSource {
    private let proxy: APIProxy
    private var requests: [GoodsListRequest] = []
    private var toBegin = 0
    private var toEnd = 0
    private var continuation: CheckedContinuation<Void, any Error>?

    init(_ service: APIService) throws {
        proxy = APIProxy(service: service, transport: try Connections.transport(), queueLimits: Connections.limits)
    }

    func run(requests count: Int, concurrency: Int) async throws {
        while requests.count < concurrency {
            requests.append(GoodsListRequest(delegate: self, paramSource: self, proxy: proxy))
        }
        (toBegin, toEnd) = (count, count)
        try await withCheckedThrowingContinuation { continuation in
            self.continuation = continuation
            for request in requests.prefix(concurrency) { loadNext(request) }
        }
    }

    func params(for request: BaseAPIRequest) -> APIParams? {
        ["category": 7]
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        guard let request = request as? GoodsListRequest, request.response?.count == Goods.count else {
            return end(throwing: BenchFailure("the layer's response is not the list of goods"))
        }
        toEnd -= 1
        toEnd == 0 ? end() : loadNext(request)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        end(throwing: error)
    }

    private func loadNext(_ request: GoodsListRequest) {
        guard toBegin > 0 else { return }
        toBegin -= 1
        request.loadData()
    }

    private func end(throwing error: (any Error)? = nil) {
        toBegin = 0
        continuation?.resume(with: error.map { .failure($0) } ?? .success(()))
        continuation = nil
    }
}
