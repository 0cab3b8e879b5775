public import Observation

/// What becomes of one request of an ``APIBatch`` or an ``APIChain``; it holds the answer, never the request.
@MainActor @Observable public final class APIOutcome<Response: Sendable> {
    /// How the request has ended; `nil` until it has, and where its turn never came.
    public private(set) var result: Result<Response, APIError>?
    @ObservationIgnored private var cancelLoad: (@MainActor () -> Void)?
    private var isCancelled = false

    /// The answer.
    ///
    /// - Throws: Why there is none; `cancelled` where the request has not ended.
    public var value: Response {
        get throws(APIError) { try (result ?? .failure(APIError(.cancelled))).get() }
    }

    /// Cancels this request alone, now or when its turn comes; a no-op when it has ended.
    public func cancel() {
        isCancelled = true
        cancelLoad?()
    }

    /// Loads the request that `make` makes, and keeps how that ends.
    func load<Manager: APIManager>(
        _ make: () throws(APIError) -> Manager
    ) async throws(APIError) where Manager.Response == Response {
        try await take { () throws(APIError) in
            guard !self.isCancelled, !Task.isCancelled else { throw APIError(.cancelled) }
            let request = try make()
            return try await request.value { id in
                self.cancelLoad = { [proxy = request.proxy] in proxy.cancelRequest(id) }
            }
        }
    }

    /// Keeps what `answer` returns or throws.
    func take(_ answer: () async throws(APIError) -> Response) async throws(APIError) {
        defer { cancelLoad = nil }
        do throws(APIError) {
            result = .success(try await answer())
        } catch {
            result = .failure(error)
            throw error
        }
    }
}

extension APIOutcome: CustomReflectable {
    /// Nothing, because answers may be secrets; `dump` prints the class alone.
    public nonisolated var customMirror: Mirror { Mirror(withoutChildren: self) }
}
