import Errand

/// Records when loads end.
@MainActor final class StormWitness: APIManagerCallbackDelegate {
    private(set) var endings: [ContinuousClock.Instant] = []
    private(set) var failures = 0
    private let count: Int
    private var continuation: CheckedContinuation<Void, Never>?

    init(_ count: Int) {
        self.count = count
    }

    func allEnded() async {
        await withCheckedContinuation { continuation = $0 }
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) { end() }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        failures += 1
        end()
    }

    private func end() {
        endings.append(.now)
        if endings.count == count { continuation?.resume() }
    }
}
