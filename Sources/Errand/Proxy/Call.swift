/// One load on its way through the proxy: what to send, to which service, and how to read the response.
///
/// A class, because every step would have a copy of a structure, and hundreds of thousands may be queued.
final class Call<Value: Sendable>: Sendable {
    let id: RequestID
    let service: APIService
    let cookies: CookieJar?
    let draft: RequestDraft
    let serializer: ResponseSerializer<Value>
    let priority: RequestPriority
    let loginRole: LoginRole
    /// Whether a load that may have a place in the queue waits for this one.
    let isOfLoad: Bool
    let isCoalescing: Bool
    let progress: TransferProgress.Handler?
    private let extras: Boxed<CallExtras>?

    init(
        id: RequestID,
        service: APIService,
        cookies: CookieJar?,
        draft: RequestDraft,
        serializer: ResponseSerializer<Value>,
        priority: RequestPriority,
        loginRole: LoginRole,
        isOfLoad: Bool = false,
        coalescesIdentical: Bool = false,
        extras: CallExtras,
        progress: TransferProgress.Handler? = nil
    ) {
        self.id = id
        self.service = service
        self.cookies = cookies
        self.draft = draft
        self.serializer = serializer
        (self.priority, self.loginRole, self.isOfLoad) = (priority, loginRole, isOfLoad)
        // Those of a relogin may have lost their cookies.
        let isShareable =
            [.get, .head].contains(draft.method) && draft.destination == .memory && extras.stream == nil
            && extras.relogin == nil
        isCoalescing = coalescesIdentical && isShareable && !loginRole.isLoginRequest
        self.extras = extras.isEmpty ? nil : Boxed(wrappedValue: extras)
        self.progress = progress
    }

    /// Neither shares an exchange nor uses a stored response that the server has not confirmed: both may be older than the reason
    /// to send it again.
    init(_ call: Call, sending draft: RequestDraft) {
        (id, service, cookies, self.draft, serializer) = (call.id, call.service, call.cookies, draft, call.serializer)
        (priority, loginRole, isOfLoad, isCoalescing) = (call.priority, call.loginRole, call.isOfLoad, false)
        var extras = call.extras
        if let cache = call.cache { extras?.wrappedValue.cache = cache.sendingAgain }
        (self.extras, progress) = (extras, call.progress)
    }

    /// The load that validates a stale response which this one has used.
    func revalidating(as id: RequestID, _ cache: CacheUse, trace: LoadTrace?) -> Call<Void> {
        var draft = draft
        draft.destination = .memory
        return Call<Void>(
            id: id,
            service: service,
            cookies: cookies,
            draft: draft,
            serializer: ResponseSerializer { _, _ in },
            priority: .background,
            loginRole: loginRole,
            extras: CallExtras(
                retryPolicy: .never,
                deadline: extras?.wrappedValue.deadline,
                acceptedStatuses: acceptedStatuses,
                trace: trace,
                cache: cache,
                relogin: extras?.wrappedValue.relogin
            )
        )
    }

    var retryPolicy: RetryPolicy { extras?.wrappedValue.retryPolicy ?? service.retryPolicy }
    var deadline: Duration? { extras?.wrappedValue.deadline ?? service.deadline }
    var acceptedStatuses: Set<Int> { extras?.wrappedValue.acceptedStatuses ?? [] }
    var trace: LoadTrace? { extras?.wrappedValue.trace }
    var stream: (any StreamHandler)? { extras?.wrappedValue.stream }
    var cache: CacheUse? { extras?.wrappedValue.cache }
    var gate: (any LoadGate)? { extras?.wrappedValue.gate }

    /// Whether the load queues only when it is sent: it may share an exchange, which queues, or use a stored response.
    var queuesLater: Bool { isCoalescing || cache?.readsFirst(draft.method) == true }

    @inline(never) func willWaitForLogin() {
        trace?.willWaitForLogin(after: service.login.generation, limit: service.reloginTimeout)
    }

    var renewsLogin: Bool { service.reloginHandler != nil && !loginRole.isLoginRequest }

    /// Whether a request with the login of a generation may be sent.
    func isCurrent(_ generation: Int) -> Bool { !renewsLogin || service.login.currentGeneration == generation }

    /// Also where another proxy has ended it, whose loads alone that one ends.
    var hasSessionEnded: Bool { service.login.hasEnded(since: id) }

    func cookieSession(by clock: any APIClock) -> CookieSession? {
        guard let cookies else { return nil }
        let relogin = extras?.wrappedValue.relogin
        // The user may sign in while a relogin sends requests to another service.
        let (login, other) = (service.login, relogin?.service.login)
        let session = CookieSession(cookies, clock: clock, refusals: service.loginExpiredStatuses) {
            [stage = login.stage, otherStage = other?.stage] in
            login.stage != stage || other?.stage != otherStage
        }
        // Afterwards, because a logout that follows ends the session as well.
        return relogin?.hasLost(cookies) == true ? nil : session
    }

    func adapterContext(attempt: Int, clock: any APIClock) -> AdapterContext {
        AdapterContext(
            id: id,
            method: draft.method,
            path: URLRedaction.path(draft.path),
            attempt: attempt,
            environment: service.environment,
            clock: clock,
            startedAt: SystemClock.uptime,
            begunAt: (clock.date, clock.uptime),
            trace: trace,
            isOfStream: stream != nil,
            isOfLink: draft.followsLink
        )
    }

    var lane: QueueLane? { queuesLater ? nil : exchangeLane }

    /// `nil` for a load that queued ones may wait for.
    var exchangeLane: QueueLane? {
        guard !loginRole.isLoginRequest, !isOfLoad else { return nil }
        if case .request(let request, isComplete: true) = draft.replacement {
            return QueueLane(host: request.url.queueHost, priority: priority)
        }
        return service.queueLane(priority)
    }
}

extension APIService {
    func queueLane(_ priority: RequestPriority) -> QueueLane {
        QueueLane(host: base.queueHost, service: ObjectIdentifier(login), priority: priority)
    }
}

/// What most calls do not have.
struct CallExtras: Sendable {
    var retryPolicy: RetryPolicy?
    var deadline: Duration?
    /// Besides 2xx.
    var acceptedStatuses: Set<Int> = []
    var trace: LoadTrace?
    var stream: (any StreamHandler)?
    var cache: CacheUse?
    var gate: (any LoadGate)?
    /// In which it began.
    var relogin: ReloginScope?

    fileprivate var isEmpty: Bool {
        retryPolicy == nil && deadline == nil && acceptedStatuses.isEmpty && trace == nil && stream == nil
            && cache == nil && gate == nil && relogin == nil
    }
}
