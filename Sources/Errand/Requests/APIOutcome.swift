public import Observation

/// The result of one request of an ``APIBatch`` or an ``APIChain``; it retains the response, never the request.
@MainActor @Observable public final class APIOutcome<Response: Sendable> {
    /// How the request ended; `nil` until it has ended, and if it is never loaded.
    public private(set) var result: Result<Response, APIError>?
    @ObservationIgnored private var caller: ResponseCaller?
    private var isCancelled = false

    /// The response.
    ///
    /// - Throws: The request's error; `invalidRequest` if the request has not ended.
    public var value: Response {
        get throws(APIError) {
            guard let result else {
                throw APIError(.invalidRequest, reason: "the request of this outcome has not ended")
            }
            return try result.get()
        }
    }

    /// Cancels this request, now or when it begins; does nothing when it has ended.
    ///
    /// In an ``APIBatch`` the other requests continue; an ``APIChain`` ends as cancelled.
    ///
    /// If other calls wait for the same load, the load continues for them, as after cancelling the task of a `value()`.
    public func cancel() {
        isCancelled = true
        caller?.leave()
    }

    func load<Manager: APIManager>(
        in group: APIGroup,
        _ make: () throws(APIError) -> Manager,
        response: (Manager.Response) -> Response
    ) async throws(APIError) {
        try await record { () throws(APIError) in
            group.cancelIfObsolete()
            guard !self.isCancelled, !Task.isCancelled else { throw APIError(.cancelled) }
            let request = try group.request(make)
            let caller = ResponseCaller(in: request.proxy, ifLeft: .failure(APIError(.cancelled)))
            self.caller = caller
            // `make` may have called `cancel()`.
            if self.isCancelled { caller.leave() }
            return response(try await request.value(from: .paramSource, receiver: .caller(of: [group]), as: caller))
        }
    }

    func record(_ response: () async throws(APIError) -> Response) async throws(APIError) {
        defer { caller = nil }
        do throws(APIError) {
            result = .success(try await response())
        } catch {
            result = .failure(error)
            throw error
        }
    }
}

extension APIOutcome: CustomReflectable {
    /// An empty mirror, because responses may be secrets; `dump` prints the class alone.
    public nonisolated var customMirror: Mirror { Mirror(withoutChildren: self) }
}
