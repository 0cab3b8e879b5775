/// One load on its way through the proxy: what to send, to whom, and how to read the answer.
///
/// An object, because every step of the way would have a copy of its own, and hundreds of thousands may be queued.
final class APICall<Value: Sendable>: Sendable {
    let id: RequestID
    let service: APIService
    let draft: RequestDraft
    let serializer: ResponseSerializer<Value>
    let retryPolicy: RetryPolicy
    let priority: RequestPriority
    let loginRole: LoginRole
    let coalescesIdentical: Bool
    let progress: TransferProgress.Handler?

    init(
        id: RequestID,
        service: APIService,
        draft: RequestDraft,
        serializer: ResponseSerializer<Value>,
        options: LoadOptions,
        progress: TransferProgress.Handler?
    ) {
        self.id = id
        self.service = service
        self.draft = draft
        self.serializer = serializer
        retryPolicy = options.retryPolicy ?? service.retryPolicy
        priority = options.priority
        loginRole = options.loginRole
        coalescesIdentical =
            options.coalescesIdentical && !options.loginRole.isLoginRequest && [.get, .head].contains(draft.method)
            && draft.destination == .memory
        self.progress = progress
    }

    /// Whether an expired login is renewed for this load.
    var renewsLogin: Bool { service.reloginHandler != nil && !loginRole.isLoginRequest }

    /// Where the load queues; one that joins others does not, because their exchange does.
    var place: RequestQueue.Place? { coalescesIdentical ? nil : exchangePlace }

    /// Where its exchange queues; that of a login request does not, since those in the queue may wait for it.
    var exchangePlace: RequestQueue.Place? {
        loginRole.isLoginRequest ? nil : RequestQueue.Place(host: service.baseURL.authority, priority: priority)
    }
}

/// What a load has to do with signing in.
enum LoginRole: Sendable {
    /// Nothing: it waits for a relogin, and may start one.
    case none
    /// It began inside a relogin, which may wait for it.
    case partOfRelogin
    /// It signs in: its class is that of a login request.
    case signIn

    @MainActor init(of request: BaseAPIRequest, for service: APIService?) {
        let isInRelogin = service.map { ReloginScope.covers($0.session) } == true
        self = request.isLoginRequest ? .signIn : isInRelogin ? .partOfRelogin : .none
    }

    /// Whether it neither queues nor waits for a login.
    var isLoginRequest: Bool { self != .none }
}

/// What a request asks of the proxy beyond sending it.
struct LoadOptions {
    let retryPolicy: RetryPolicy?
    let priority: RequestPriority
    let loginRole: LoginRole
    let coalescesIdentical: Bool

    @MainActor init(of request: BaseAPIRequest, _ loginRole: LoginRole) {
        retryPolicy = request.retryPolicy
        priority = request.priority
        self.loginRole = loginRole
        coalescesIdentical = request.coalescesIdentical
    }
}

/// A decoded answer and the raw one.
struct APIAnswer<Value: Sendable>: Sendable {
    let value: Value
    let response: APIResponse
}
