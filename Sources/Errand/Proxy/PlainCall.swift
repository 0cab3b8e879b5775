import Foundation

/// One call of ``APIProxy/send(_:progress:)`` or ``APIProxy/send(_:to:progress:)``: a load whose value is the response,
/// whatever its status.
struct PlainCall: Sendable {
    private let id = RequestID.next()
    private let request: HTTPRequest
    /// Completes the request.
    private let service: APIService?
    /// `service`, or the default one, whose cookies and messages a complete request has as well.
    private let backend: APIService?
    private let proxy: APIProxy
    private let role: LoginRole

    init(_ request: HTTPRequest, service: APIService?, proxy: APIProxy) {
        self.request = request
        var service = service?.forNewLoad
        service?.setLoginOwner(sentBy: proxy, with: proxy.jar(for: nil))
        self.service = service
        let owner = ReloginScope.loginOwner.flatMap { $0.proxy === proxy ? $0.service : nil }
        backend = service ?? APIService.forNewLoad(nil, inheriting: owner, or: proxy.defaultService)
        self.proxy = proxy
        let isInRelogin = service.map { ReloginScope.covers($0.login) } ?? ReloginScope.isOpen
        role = isInRelogin ? .partOfRelogin : .none
    }

    func response(progress: TransferProgress.Handler?) async throws(APIError) -> APIResponse {
        guard !Task.isCancelled else { throw APIError(.cancelled) }
        let result = await withCancellableContinuation(ifCancelled: .failure(APIError(.cancelled))) { continuation in
            start(progress: progress) { continuation.resume(returning: $0) }
            return nil
        } remove: {
            // The ending of the load is that of the call.
            proxy.cancelRequest(id)
            return nil
        }
        // The user may have signed out before this call goes on.
        try LoadSession(service?.login, of: id).check()
        return try result.get()
    }

    /// Calls `ended` once, on any thread.
    private func start(
        progress: TransferProgress.Handler?,
        ended: @escaping @Sendable (Result<APIResponse, APIError>) -> Void
    ) {
        let draft = RequestDraft(request, isComplete: service == nil)
        let messages = backend?.errorMessages
        let (trace, end) = proxy.insert(id, draft, to: service, as: role, messages: messages, ended: ended)
        let progress = progress.map { report in
            { @Sendable [loads = proxy.loads, id] progress in
                if loads.contains(id) { report(progress) }
            }
        }
        // Made when the call is in the table, where a logout ends it; a later change of the account does not affect it.
        let call = Call(
            id: id,
            service: service?.forPlainCall(as: role) ?? .none,
            cookies: proxy.jar(for: backend),
            draft: draft,
            serializer: ResponseSerializer { _, _ in },
            priority: .normal,
            loginRole: role,
            isOfLoad: EnvironmentScope.isOfLoad,
            extras: CallExtras(
                deadline: request.deadline,
                trace: trace,
                cache: cacheUse,
                relogin: ReloginScope.ofSession
            ),
            progress: proxy.progress(of: id, sending: draft, streams: false, progress)
        )
        guard call.renewsLogin else { return run(call, end) }
        // Before it has a place in the queue: the main actor may be busy, for longer than the call may take.
        proxy.startTimer(of: call)
        _ = LoadScope().task(priority: Task.currentPriority) {
            await call.service.login.readRenewalDate(for: call.service)
            proxy.loads.removeTimer(of: id)
            run(call, end)
        }
    }

    private func run(_ call: Call<Void>, _ end: @escaping @Sendable (Result<APIResponse, APIError>) -> Void) {
        proxy.start(call) {
            end($0.map(\.response).flatMapError { $0.responseOfStatus.map(Result.success) ?? .failure($0) })
        }
    }

    /// Removes what the call may have changed on the server, and uses nothing.
    private var cacheUse: CacheUse? {
        guard let cache = proxy.cache, let backend else { return nil }
        let session = CacheSession.name(of: backend, proxy.jar(for: backend), sendsCookies: true)
        return CacheUse(policy: .bypass, cache: cache, folder: cache.session(session))
    }
}

extension APIService {
    fileprivate static let none: APIService = {
        var service = APIService(baseURL: URL(filePath: "/"))
        (service.envelope, service.failureReader, service.retryPolicy) = (nil, nil, .never)
        service.loginExpiredStatuses = []
        return service
    }()

    fileprivate func forPlainCall(as role: LoginRole) -> APIService {
        var service = self
        (service.commonParams, service.envelope, service.failureReader) = (nil, nil, nil)
        service.adapters = Adapters(request: adapters.request, response: adapters.response, failure: adapters.failure)
        if role.isLoginRequest { (service.loginExpiredStatuses, service.isLoginExpired) = ([], nil) }
        return service
    }
}
