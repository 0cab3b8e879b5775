/// Less frequently used settings of a request, which a class returns from ``BaseAPIRequest/options`` or an ``APIRequest``
/// receives.
///
/// ```swift
/// override var options: APIRequestOptions { APIRequestOptions(deadline: .seconds(30), priority: .userInitiated) }
/// ```
public struct APIRequestOptions: Sendable {
    /// The longest time of a load after its wait in the queue, including retries, back-off and relogin; `nil`, the default, is
    /// the service's deadline.
    ///
    /// A load that has not ended by then fails with `timeout`. The time in the queue before the first turn does not count.
    public var deadline: Duration?
    /// The priority in the queue of requests; `normal` by default.
    public var priority: RequestPriority
    /// When a failed load is sent again; replaces the service's policy as a whole, and `nil`, the default, is that policy.
    public var retryPolicy: RetryPolicy?
    /// Whether a `GET` or `HEAD` shares its exchange with an identical request that is queued or running; false by default.
    ///
    /// The exchange takes the place of its first load in the queue, with the highest priority of its loads, and is cancelled when its
    /// last load is cancelled. Each load keeps its own ID, deadline and ending.
    public var coalescesIdentical: Bool
    /// Returns a key with which the server executes a load only once, even if it receives the request several times; `nil`, the
    /// default, sends no key.
    ///
    /// For example, set `{ UUID().uuidString }`.
    ///
    /// Called once for each load, on the main actor, and again when a page of a list is requested again because of an edit. Every
    /// attempt of a load sends the same key as `Idempotency-Key`. The key allows the retry policy to send a `POST` or `PATCH`
    /// again.
    ///
    /// ``BaseAPIRequest/loadAgain()`` sends the key of the newest load again if the server may have executed that load: after a
    /// `timeout`, a lost connection, a 5xx, a cancellation, a 408, 409, 425 or 429, and after `loginExpired`, because an earlier
    /// attempt may have been executed. It sends a new key after a success, a `server` error with a status 2xx, and any other 4xx;
    /// an error that an app has made without a response says nothing. Every other load sends a new key, and so does every load of a
    /// ``PageAPIRequest``. If even a new `loadData()` must not execute an order twice, return a stored key.
    public var idempotencyKey: (@MainActor @Sendable () -> String?)?
    /// The wrapper of this request's responses; `nil`, the default, is the service's envelope.
    ///
    /// Return ``Envelope/wholeBody`` for responses without a wrapper.
    public var envelope: Envelope?
    /// Statuses besides 2xx that are a success, such as 304 or 404; none by default.
    ///
    /// For such a status, an optional ``APIManager/Response`` is `nil`, `Void` ignores the body, and any other type is decoded
    /// from the body as usual. To decode by status, use ``ResponseSerializer/choosing(_:)``. The load is not sent again because of
    /// such a status: neither by the retry policy nor, unless ``APIService/isLoginExpired`` says so, after a relogin.
    public var acceptedStatuses: Set<Int>
    /// Which redirects are followed; `nil`, the default, is the service's policy.
    public var redirectPolicy: RedirectPolicy?
    /// What happens to active loads when the request is released; they are cancelled by default.
    public var releasePolicy: ReleasePolicy
    /// Whether ``BaseAPIRequest/progress`` and the delegate receive the progress of transfers; false by default.
    public var reportsProgress: Bool
    /// Whether ``BaseAPIRequest/activity`` and the delegate receive the activity of loads; false by default.
    public var reportsActivity: Bool
    /// Whether the ``ErrorPresenter`` of the request or of its proxy shows the errors of loads; true by default.
    public var presentsErrors: Bool
    /// Whether loads send cookies and store the cookies of responses; true by default.
    public var sendsCookies: Bool
    /// Whether a load may use a cellular network, as ``HTTPRequest/allowsCellularAccess``; true by default.
    public var allowsCellularAccess: Bool
    /// Whether a load fails with `noNetwork`, without being sent, if ``APIProxy/reachability`` reports no network when the load
    /// begins, unless a stored response may be used; false by default.
    ///
    /// If the network is lost later, the load fails as usual. No network state is known until the first report, so read
    /// ``Reachability/status`` once in advance, for instance when the app starts.
    public var failsWhenUnreachable: Bool
    /// Whether a download continues where an earlier load of the same URL and cookie file, to the same file or folder, has stopped;
    /// false by default.
    ///
    /// For a `GET` whose ``BaseAPIRequest/destination`` is a file or a folder; any other load fails with `invalidRequest`. A load
    /// that fails or is cancelled, or whose process ends, keeps what it has received in a hidden file beside the destination, or in
    /// the folder. The next load requests the rest, if the response had a strong `ETag` or `Last-Modified`, which the server
    /// compares (RFC 9110 section 13.1.5). If the server has another version, everything is received again. Nothing is kept of a
    /// response with a content coding. See <doc:Downloads>.
    ///
    /// While a load transfers, another one to the same file, or of the same URL to the same folder, fails with `storage`, also in
    /// another process.
    public var resumesDownload: Bool
    /// When a stored response is used, if the proxy has an ``APIProxy/cache``; ``CachePolicy/http`` by default.
    ///
    /// Streams, resumable downloads, requests that sign in, and plain calls use none. Such a load, or one without a cache, whose
    /// policy needs stored responses (any but `http`, `bypass` and `reload`) fails with `invalidRequest`.
    ///
    /// A ``PageAPIRequest`` whose list is reloaded, with ``APIManager/reload(params:indicator:message:)`` or
    /// ``APIManager/refreshAll()``, and its following pages come from the network, unless the policy is `onlyIfCached`; each page
    /// is stored by itself. If the list has no page yet and the network gives no response, a stored one may be used.
    public var cachePolicy: CachePolicy
    /// Adapters for every attempt of a load, called after the ``APIService/adapters`` of the service; none by default.
    public var adapters: Adapters

    /// Creates options; an argument that is not given has its default.
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
        resumesDownload: Bool = false,
        cachePolicy: CachePolicy = .http,
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
        self.resumesDownload = resumesDownload
        self.cachePolicy = cachePolicy
        self.adapters = adapters
    }
}

/// What happens to the loads of a request when the request object is released.
public enum ReleasePolicy: Sendable {
    /// They are cancelled.
    case cancel
    /// They continue, and no delegate is notified of their endings.
    case finish
}
