/// The less frequent settings of a request: those that a class returns from ``BaseAPIRequest/options``, or that an ``APIRequest``
/// is given.
///
/// ```swift
/// override var options: APIRequestOptions { APIRequestOptions(deadline: .seconds(30), priority: .userInitiated) }
/// ```
public struct APIRequestOptions: Sendable {
    /// How long a load may take from its turn to its ending, with retries, back-off and relogin; `nil`, the default, is the
    /// service's deadline.
    ///
    /// A load that has not ended by then fails with `timeout`. The time in the queue does not count.
    public var deadline: Duration?
    /// The priority in the queue of requests; `normal` by default.
    public var priority: RequestPriority
    /// When a failed load is sent again; `nil`, the default, is the service's policy.
    public var retryPolicy: RetryPolicy?
    /// Whether a `GET` or `HEAD` shares the exchange of an identical request that is queued or running; false by default.
    ///
    /// The exchange has the place in the queue of its first load, and is cancelled with its last load. Each load keeps its ID, its
    /// deadline and its ending.
    public var coalescesIdentical: Bool
    /// Returns a key by which a server executes a load once, even if it receives the request several times, for example
    /// `{ UUID().uuidString }`; `nil`, the default, sends none.
    ///
    /// Called once for each load, on the main actor. Sent as `Idempotency-Key`, the same for every try of one load; allows the
    /// retry policy to send a `POST` or `PATCH` again.
    ///
    /// ``BaseAPIRequest/loadAgain()`` sends the key of the newest load again where the server may have executed that load: after a
    /// `timeout`, a lost connection, a 5xx or a cancellation, but not after a success, a business code or another 4xx than
    /// 408, 409, 425 and 429; after `loginExpired` as well, which does not show whether an earlier try was executed. Any other
    /// load has a new key: return a stored one where even a new `loadData()` must not execute an order twice.
    public var idempotencyKey: (@MainActor @Sendable () -> String?)?
    /// The wrapper of this request's responses; `nil`, the default, is the service's envelope.
    ///
    /// ``Envelope/wholeBody`` is none.
    public var envelope: Envelope?
    /// The statuses besides 2xx with which a load succeeds, such as 304 or 404; none by default.
    ///
    /// An optional ``APIManager/Response`` is `nil` for such a response, `Void` ignores its body, and any other type is decoded
    /// from its body as usual; ``ResponseSerializer/choosing(_:)`` distinguishes the statuses.
    public var acceptedStatuses: Set<Int>
    /// Which redirects are followed; `nil`, the default, is the service's policy.
    public var redirectPolicy: RedirectPolicy?
    /// What happens to loads when the request is released; they are cancelled by default.
    public var releasePolicy: ReleasePolicy
    /// Whether ``BaseAPIRequest/progress`` and the delegate receive the progress of transfers; false by default.
    public var reportsProgress: Bool
    /// Whether ``BaseAPIRequest/activity`` and the delegate receive what a load does; false by default.
    public var reportsActivity: Bool
    /// Whether failed loads are shown by the ``ErrorPresenter`` of the request or of its proxy; true by default.
    public var presentsErrors: Bool
    /// Whether cookies are sent, and those of the response stored; true by default.
    public var sendsCookies: Bool
    /// Whether a load may use a cellular network, as ``HTTPRequest/allowsCellularAccess``; true by default.
    public var allowsCellularAccess: Bool
    /// Whether a load that begins while ``APIProxy/reachability`` reports that there is no network fails with `noNetwork`, and is
    /// not sent; false by default.
    ///
    /// A network that is lost later is a failure like any other.
    /// As nothing is known until the first report, use ``Reachability/status`` once before, for instance when the app starts.
    public var failsWhenUnreachable: Bool
    /// What changes each send, after the ``APIService/adapters`` of the service; none by default.
    public var adapters: Adapters

    /// Creates options; each is the default unless given.
    public init(
        deadline: Duration? = nil,
        priority: RequestPriority = .normal,
        retryPolicy: RetryPolicy? = nil,
        coalescesIdentical: Bool = false,
        idempotencyKey: (@MainActor @Sendable () -> String?)? = nil,
        envelope: Envelope? = nil,
        acceptedStatuses: Set<Int> = [],
        redirectPolicy: RedirectPolicy? = nil,
        releasePolicy: ReleasePolicy = .cancel,
        reportsProgress: Bool = false,
        reportsActivity: Bool = false,
        presentsErrors: Bool = true,
        sendsCookies: Bool = true,
        allowsCellularAccess: Bool = true,
        failsWhenUnreachable: Bool = false,
        adapters: Adapters = Adapters()
    ) {
        self.deadline = deadline
        self.priority = priority
        self.retryPolicy = retryPolicy
        self.coalescesIdentical = coalescesIdentical
        self.idempotencyKey = idempotencyKey
        self.envelope = envelope
        self.acceptedStatuses = acceptedStatuses
        self.redirectPolicy = redirectPolicy
        self.releasePolicy = releasePolicy
        self.reportsProgress = reportsProgress
        self.reportsActivity = reportsActivity
        self.presentsErrors = presentsErrors
        self.sendsCookies = sendsCookies
        self.allowsCellularAccess = allowsCellularAccess
        self.failsWhenUnreachable = failsWhenUnreachable
        self.adapters = adapters
    }
}
