/// One load on its way through the proxy: what to send, to which service, and how to read the answer.
///
/// A class, because every step would have a copy of a structure, and hundreds of thousands may be queued.
final class APICall<Value: Sendable>: Sendable {
    let id: RequestID
    let service: APIService
    let cookies: CookieJar
    let draft: RequestDraft
    let serializer: ResponseSerializer<Value>
    let options: LoadOptions
    let progress: TransferProgress.Handler?
    /// Signals the turn from which the deadline runs; `nil` without a deadline.
    let turn: TurnSignal?

    init(
        id: RequestID,
        service: APIService,
        cookies: CookieJar,
        draft: RequestDraft,
        serializer: ResponseSerializer<Value>,
        options: LoadOptions,
        progress: TransferProgress.Handler?,
        turn: TurnSignal? = nil
    ) {
        self.id = id
        self.service = service
        self.cookies = cookies
        self.draft = draft
        self.serializer = serializer
        self.options = options
        self.progress = progress
        isCoalescing = Self.isCoalescing(draft, options)
        self.turn = (options.deadline ?? service.deadline) == nil ? nil : turn ?? TurnSignal()
    }

    /// Returns the call with another addition in the place of the one that it has, to send it again within its load.
    ///
    /// Its deadline is what is left of this call's. It shares no exchange, which may have been sent before the reason to send
    /// it again.
    func adding(_ addition: RequestDraft.Addition) -> APICall {
        var (draft, options) = (draft, options)
        draft.add(addition)
        options.coalescesIdentical = false
        return APICall(
            id: id,
            service: service,
            cookies: cookies,
            draft: draft,
            serializer: serializer,
            options: options,
            progress: progress,
            turn: turn
        )
    }

    var loginRole: LoginRole { options.loginRole }

    var retryPolicy: RetryPolicy { options.retryPolicy?.wrappedValue ?? service.retryPolicy }

    /// How long the load may take from its turn to its ending.
    var deadline: Duration? { options.deadline ?? service.deadline }

    /// Whether an expired login is renewed for this load.
    var renewsLogin: Bool { service.reloginHandler != nil && !loginRole.isLoginRequest }

    /// Returns what request adapters know of a send.
    func adapterContext(attempt: Int, in generation: Int, clock: any APIClock) -> AdapterContext {
        AdapterContext(
            id: id,
            method: draft.method,
            path: Redaction.path(draft.path),
            attempt: attempt,
            loginGeneration: generation,
            environment: service.environment,
            clock: clock
        )
    }

    /// Whether the load may share an exchange.
    let isCoalescing: Bool

    private static func isCoalescing(_ draft: RequestDraft, _ options: LoadOptions) -> Bool {
        options.coalescesIdentical && !options.loginRole.isLoginRequest && [.get, .head].contains(draft.method)
            && draft.destination == .memory
    }

    /// Where the load queues; one that may share an exchange does not, because the exchange does.
    var lane: QueueLane? { isCoalescing ? nil : exchangeLane }

    /// Where its exchange queues; that of a login request does not, since the queued loads may wait for it.
    var exchangeLane: QueueLane? {
        loginRole.isLoginRequest ? nil : QueueLane(host: service.queueHost, priority: options.priority)
    }
}

/// What a request asks of the proxy besides sending it.
struct LoadOptions: Sendable {
    /// Boxed, because most loads have none.
    var retryPolicy: Boxed<RetryPolicy>?
    var deadline: Duration?
    var priority: RequestPriority
    var loginRole: LoginRole
    var coalescesIdentical: Bool
    /// What is a success besides 2xx.
    var acceptedStatuses: Set<Int> = []
}

/// A decoded answer and the raw one.
struct APIAnswer<Value: Sendable>: Sendable {
    let value: Value
    let response: APIResponse
}
