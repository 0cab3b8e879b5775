import Foundation

/// One call of ``APIProxy/send(_:progress:)``: a request without a service, from its ID to its ending.
struct PlainCall: Sendable {
    let id: RequestID
    let request: HTTPRequest
    let cookies: CookieJar
    /// The texts of its errors.
    let messages: ErrorMessages?
    let context: LoadContext

    /// Sends the request, and calls `ended` once, on any thread.
    func start(
        progress: TransferProgress.Handler?,
        ended: @escaping @Sendable (Result<APIResponse, APIError>) -> Void
    ) {
        let (method, path) = (request.method, request.url.absoluteString)
        let ended = { @Sendable (result: Result<APIResponse, APIError>) in
            let result = result.mapError { $0.of(method, path: request.url.path(percentEncoded: true)) }
            context.endings.publish {
                EndedRequest(id: id, requestClass: nil, method: method, path: path, ending: result.ending)
            }
            ended(result)
        }
        let role: LoginRole = ReloginScope.isOpen ? .partOfRelogin : .none
        context.loads.insert(
            ActiveLoad(id: id, method: method, path: path, loginRole: role) { ended(.failure(APIError(.cancelled))) }
        )
        let lane = role.isLoginRequest ? nil : QueueLane(host: request.url.queueHost, priority: .normal)
        context.start(id, in: lane) { slot in
            let result = await result(slot, progress)
            guard let load = context.loads.claim(id) else { return }
            ended(load.file?.end(with: result, messages: messages) ?? result)
        }
    }

    private func result(
        _ slot: QueueSlot,
        _ progress: TransferProgress.Handler?
    ) async -> Result<APIResponse, APIError> {
        do throws(APIError) {
            let deadline = request.deadline
            return .success(
                try await context.withDeadline(deadline, messages: messages) { () async throws(APIError) in
                    var slot = slot
                    defer { slot.release() }
                    try await slot.acquire()
                    guard context.loads.contains(id) else { throw APIError(.cancelled) }
                    return try await exchange(slot.host).send(request, progress: progress.map(whileActive))
                }
            )
        } catch {
            return .failure(error)
        }
    }

    private func exchange(_ host: String?) -> Exchange {
        Exchange(id: id, messages: messages, cookies: cookies, host: host, context: context)
    }

    private func whileActive(_ report: @escaping TransferProgress.Handler) -> TransferProgress.Handler {
        { progress in
            if context.loads.contains(id) { report(progress) }
        }
    }
}
