/// The less frequent properties of an ``APIRequest``; each is a hook of ``BaseAPIRequest`` with the same default.
public struct APIRequestOptions: Sendable {
    /// The priority in the queue of requests; `normal` by default.
    public var priority: RequestPriority
    /// When a failed load is sent again; `nil`, the default, is the service's policy.
    public var retryPolicy: RetryPolicy?
    /// Whether a `GET` or `HEAD` shares the exchange of an identical request; see ``BaseAPIRequest/coalescesIdentical``.
    public var coalescesIdentical: Bool
    /// Returns the key by which a server executes a load once, for example `{ UUID().uuidString }`; `nil`, the default, sends
    /// none.
    ///
    /// Called once for each load, on the main actor; see ``BaseAPIRequest/idempotencyKey``.
    public var idempotencyKey: (@MainActor @Sendable () -> String?)?
    /// The wrapper of the answers; `nil`, the default, is the service's.
    public var envelope: Envelope?
    /// The statuses besides 2xx with which a load succeeds; none by default.
    public var acceptedStatuses: Set<Int>
    /// Which redirects are followed; `nil`, the default, is the service's policy.
    public var redirectPolicy: RedirectPolicy?
    /// What to do when a load begins while another runs; the other is cancelled by default.
    public var restartPolicy: RestartPolicy
    /// What happens to loads when the request is released; they are cancelled by default.
    public var releasePolicy: ReleasePolicy
    /// Whether the request signs in, as ``BaseAPIRequest/isLoginRequest`` describes; false by default.
    public var isLoginRequest: Bool
    /// Whether the delegate receives the progress of transfers; false by default.
    public var reportsProgress: Bool
    /// Whether failed loads are shown by an ``ErrorPresenter``; true by default.
    public var presentsErrors: Bool
    /// What changes the parameters of each send, after those of the service; none by default.
    public var paramAdapters: [any ParamAdapter]
    /// What changes each request, after those of the service; none by default.
    public var requestAdapters: [any RequestAdapter]
    /// What changes each answer, after those of the service; none by default.
    public var responseAdapters: [any ResponseAdapter]
    /// What changes the data of each success, after those of the service; none by default.
    public var dataAdapters: [any DataAdapter]

    /// Creates options; each is the default unless given.
    public init(
        priority: RequestPriority = .normal,
        retryPolicy: RetryPolicy? = nil,
        coalescesIdentical: Bool = false,
        idempotencyKey: (@MainActor @Sendable () -> String?)? = nil,
        envelope: Envelope? = nil,
        acceptedStatuses: Set<Int> = [],
        redirectPolicy: RedirectPolicy? = nil,
        restartPolicy: RestartPolicy = .cancelPrevious,
        releasePolicy: ReleasePolicy = .cancel,
        isLoginRequest: Bool = false,
        reportsProgress: Bool = false,
        presentsErrors: Bool = true,
        paramAdapters: [any ParamAdapter] = [],
        requestAdapters: [any RequestAdapter] = [],
        responseAdapters: [any ResponseAdapter] = [],
        dataAdapters: [any DataAdapter] = []
    ) {
        self.priority = priority
        self.retryPolicy = retryPolicy
        self.coalescesIdentical = coalescesIdentical
        self.idempotencyKey = idempotencyKey
        self.envelope = envelope
        self.acceptedStatuses = acceptedStatuses
        self.redirectPolicy = redirectPolicy
        self.restartPolicy = restartPolicy
        self.releasePolicy = releasePolicy
        self.isLoginRequest = isLoginRequest
        self.reportsProgress = reportsProgress
        self.presentsErrors = presentsErrors
        (self.paramAdapters, self.requestAdapters) = (paramAdapters, requestAdapters)
        (self.responseAdapters, self.dataAdapters) = (responseAdapters, dataAdapters)
    }
}
