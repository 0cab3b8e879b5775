import Foundation

extension APIProxy {
    /// Sends a plain request, for code without a screen.
    ///
    /// Cookies are sent and stored and redirects followed; the service's envelope, headers, adapting, retries and relogin play
    /// no part. The call queues like a load of normal priority, unless it is made inside ``ReloginHandler/relogin()``, is in
    /// ``activeRequests``, and can be cancelled by ID and by cancelling the task.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - progress: Called on any thread while bytes move; never once `send` has returned, save that of a call that is
    ///     cancelled the last report may just be on its way.
    /// - Returns: The answer, whatever its status.
    /// - Throws: ``APIError`` when there is no complete answer, `cancelled` when it was cancelled.
    public func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler? = nil
    ) async throws(APIError) -> APIResponse {
        let id = RequestID.next()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                begin(id, request, progress) { continuation.resume(returning: $0) }
                // Cancelled before it was in the table: the handler found nothing to cancel.
                if Task.isCancelled { cancelRequest(id) }
            }
        } onCancel: {
            cancelRequest(id)
        }
        return try result.get()
    }

    private func begin(
        _ id: RequestID,
        _ request: HTTPRequest,
        _ progress: TransferProgress.Handler?,
        ended: @escaping @Sendable (Result<APIResponse, APIError>) -> Void
    ) {
        let summary = ActiveRequest(id: id, method: request.method, path: Redaction.path(request.url.absoluteString))
        let path = request.url.path(percentEncoded: true)
        let ended = { @Sendable (result: Result<APIResponse, APIError>) in
            ended(result.mapError { $0.of(request.method, path: path) })
        }
        let role: LoginRole = ReloginScope.isOpen ? .partOfRelogin : .none
        open(
            ActiveLoad(summary: summary, endsWithOwner: true, session: nil, loginRole: role) {
                ended(.failure(APIError(.cancelled)))
            }
        )
        let place = role.isLoginRequest ? nil : RequestQueue.Place(host: request.url.authority, priority: .normal)
        let progress = progress.map { whileActive(id, $0) }
        run(id, at: place) { [self, request] turn in
            let result = await result(of: id, request, progress, turn)
            guard let load = claim(id) else { return }
            ended(load.file?.end(with: result, of: defaultService) ?? result)
        }
    }

    private func whileActive(
        _ id: RequestID,
        _ report: @escaping TransferProgress.Handler
    ) -> TransferProgress.Handler {
        { [self] progress in
            if isActive(id) { report(progress) }
        }
    }

    private func result(
        of id: RequestID,
        _ request: HTTPRequest,
        _ progress: TransferProgress.Handler?,
        _ turn: Turn
    ) async -> Result<APIResponse, APIError> {
        do throws(APIError) {
            var turn = turn
            let response = try await inTurn(&turn) { () async throws(APIError) in
                guard isActive(id) else { throw APIError(.cancelled) }
                return try await exchange(request, of: id, for: defaultService, progress: progress)
            }
            return .success(response)
        } catch {
            return .failure(error)
        }
    }
}
