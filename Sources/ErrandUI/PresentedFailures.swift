import Errand

/// The failed loads that alerts present one after the other; those with the same text are one failure.
@MainActor struct PresentedFailures {
    /// What one alert presents.
    struct Failure {
        let text: String
        fileprivate var requests: [WeakRequest]
    }

    fileprivate struct WeakRequest {
        weak var request: BaseAPIRequest?
    }

    private var failures: [Failure] = []
    var first: Failure? { failures.first }

    /// After the others unless one of them has its text.
    mutating func add(_ error: APIError, of request: BaseAPIRequest) {
        let index = failures.firstIndex { $0.text == error.message } ?? failures.endIndex
        if index == failures.endIndex { failures.append(Failure(text: error.message, requests: [])) }
        guard !failures[index].requests.contains(where: { $0.request === request }) else { return }
        failures[index].requests.append(WeakRequest(request: request))
    }

    /// Returns those of its requests that have not been released.
    @discardableResult
    mutating func removeFirst() -> [BaseAPIRequest] {
        guard !failures.isEmpty else { return [] }
        return failures.removeFirst().requests.compactMap(\.request)
    }
    mutating func removeAll() { failures = [] }
}
