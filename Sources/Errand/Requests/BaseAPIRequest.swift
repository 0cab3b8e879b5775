public import Observation

/// One endpoint of one screen: subclass it, adopt ``APIManager``, and load it any number of times.
///
/// Everything happens on the main actor, and everything a view shows is observable. What a subclass overrides here are
/// *hooks*: each is asked once for every load, inside the call that begins it.
///
/// Keep the request in a property of the screen. When a request is released, its loads are cancelled and its delegate is not
/// called, unless ``releasePolicy`` is `finish`. A local variable is not enough: Swift releases an object after its last
/// use, in optimized builds often before the end of the scope. An `async` call such as `value()` keeps its request itself.
@MainActor @Observable open class BaseAPIRequest {
    /// Hears how loads end.
    ///
    /// Not retained.
    @ObservationIgnored public weak var delegate: (any APIManagerCallbackDelegate)?
    /// Gives the parameters.
    ///
    /// Not retained.
    @ObservationIgnored public weak var paramSource: (any APIManagerParamSource)?
    /// Accepts or refuses parameters and answers.
    ///
    /// Not retained.
    @ObservationIgnored public weak var validator: (any APIManagerValidator)?
    /// Stands between the request and its delegate.
    ///
    /// Not retained.
    @ObservationIgnored public weak var interceptor: (any APIManagerInterceptor)?
    /// Carries the request.
    @ObservationIgnored public let proxy: APIProxy

    /// The raw answer of the newest load that has ended with one, good or bad.
    public internal(set) var rawResponse: APIResponse?
    /// Why the newest ended load failed; `nil` after a success.
    public internal(set) var error: APIError?
    // The newest decoded answer, kept without its type because a class that is not generic has to store it.
    var content: (any Sendable)?
    // The loads that have begun and not ended, in that order.
    var loads: [RequestID] = []
    // Counts the changes of PageAPIRequest's list. It stands here because in a generic class each access to an observed property
    // makes its key path anew.
    var listVersion = 0
    // The newest loads that have ended at all, with an answer, and well.
    @ObservationIgnored var newestEnding: RequestID?
    @ObservationIgnored var newestAnswer: RequestID?
    @ObservationIgnored var newestSuccess: RequestID?
    @ObservationIgnored var callers: [Caller] = []
    // The loads whose endings go to their callers and not to the delegate.
    @ObservationIgnored var callersOnly: Set<RequestID> = []

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - delegate: Hears how loads end; not retained.
    ///   - paramSource: Gives the parameters; not retained.
    ///   - proxy: Carries the request.
    public init(
        delegate: (any APIManagerCallbackDelegate)? = nil,
        paramSource: (any APIManagerParamSource)? = nil,
        proxy: APIProxy = .shared
    ) {
        self.delegate = delegate
        self.paramSource = paramSource
        self.proxy = proxy
    }

    deinit {
        proxy.ownerIsReleased(_loads)
    }

    // MARK: Hooks

    /// The backend; `nil`, the default, is the proxy's ``APIProxy/defaultService``.
    ///
    /// Return a stored value or a copy of one: a service that is made anew shares its sign-in with no other.
    open var service: APIService? { nil }
    /// Header lines of this request, which win over the service's; none by default.
    open var headers: HTTPHeaders { [:] }
    /// The longest silence: how long no byte may move in either direction; `nil`, the default, is the service's timeout.
    open var timeout: Duration? { nil }
    /// How long a load may take from its turn to its ending, with retries, back-off and relogin; `nil`, the default, is the
    /// service's deadline.
    ///
    /// A load that has not ended by then fails with `timeout`. The time in the queue does not count.
    open var deadline: Duration? { nil }
    /// How parameters become a body; JSON by default.
    open var requestSerializer: RequestSerializer { .json }
    /// Where the bytes of a 2xx answer go; memory by default, and for a ``DownloadedFile`` a new file in the temporary folder.
    ///
    /// A load whose ``APIManager/Response`` is made of memory, such as `Data`, fails with `invalidRequest` if a file is named.
    /// The file appears, complete, when the load ends as a success, and replaces an older one; a load that fails or is cancelled
    /// leaves the older one as it was, and no temporary file. Its folder must exist, or the load fails with `storage` before
    /// it is sent. Any other answer than a 2xx goes to memory. Such a load shares no exchange.
    open var destination: HTTPRequest.Destination { .memory }
    /// What to do when a load begins while another runs; the other is cancelled by default.
    open var restartPolicy: RestartPolicy { .cancelPrevious }
    /// What becomes of loads when this object goes; they are cancelled by default.
    open var releasePolicy: ReleasePolicy { .cancel }
    /// Whether this request signs in; false by default.
    ///
    /// It neither waits for a relogin nor starts one, it shares no exchange, and no limit of requests or connections holds
    /// it up: the loads that have used them up may wait for it. A load that begins inside ``ReloginHandler/relogin()`` behaves
    /// like that in any case.
    open var isLoginRequest: Bool { false }
    /// When a failed load is sent again; `nil`, the default, is the service's policy.
    open var retryPolicy: RetryPolicy? { nil }
    /// A name under which a server executes a request once, however often it comes; `nil`, the default, is none.
    ///
    /// It goes out as `Idempotency-Key`, the same for every try of one load, and lets the retry policy send a `POST` or
    /// `PATCH` again. Usually `UUID().uuidString`.
    open var idempotencyKey: String? { nil }
    /// Who goes first when requests have to queue; `normal` by default.
    open var priority: RequestPriority { .normal }
    /// Whether a `GET` or `HEAD` joins one that is queued or under way and sends the very same; false by default.
    ///
    /// They share one exchange with the place in the queue and the deadline of its first load. It is cancelled when its
    /// last load is. Each load keeps its own ID and ending.
    open var coalescesIdentical: Bool { false }
    /// Whether the delegate hears of progress; false by default.
    open var reportsProgress: Bool { false }

    /// A chance to change what the param source gave; returns it as it is by default.
    open func reformParams(_ params: APIParams?) -> APIParams? { params }

    /// Adds files and data to an upload, before those of the param source; none by default.
    ///
    /// Called once for each load. Parts need a ``requestSerializer`` that is `.multipart` and a method with a body; otherwise
    /// the load fails with `invalidRequest`.
    open func appendParts(to form: inout MultipartForm) {}

    // PageAPIRequest's part of a load's beginning and ending.
    func pageStep(to part: LoadPosition) -> PageStep { .load(part) }
    var failedPart: LoadPosition? { nil }
    var followUp: LoadPosition? { nil }
    func loadWillBegin(
        _ id: RequestID,
        at part: LoadPosition,
        of service: APIService?
    ) throws(APIError) -> PageWish? { nil }
    func listEnds(with error: APIError, for id: RequestID) -> Bool { false }
    func loadDidEnd(
        _ id: RequestID,
        _ result: Result<any Sendable, APIError>,
        _ response: APIResponse?
    ) -> (() -> Void)? { nil }
}

extension BaseAPIRequest {
    /// Whether a load has begun and not ended.
    public var isLoading: Bool { !loads.isEmpty }

    /// Cancels one load of this request; any other ID is a no-op.
    ///
    /// The delegate hears of it after this has returned.
    public func cancelRequest(_ id: RequestID) {
        guard loads.contains(id) else { return }
        forget(id)
        proxy.cancelRequest(id)
    }

    /// Cancels every load of this request.
    ///
    /// The delegate hears of it after this has returned, once for each load.
    public func cancelAllRequests() {
        for id in loads { cancelRequest(id) }
    }

    /// Takes part in a load that runs; a part for the delegate makes it one that the delegate hears of.
    func join(_ id: RequestID, _ endsAtCaller: Bool) -> RequestID {
        if !endsAtCaller { callersOnly.remove(id) }
        return id
    }

    /// Takes a load off the list; the oldest end first, as a rule, so it is found at once.
    func forget(_ id: RequestID) {
        guard let index = loads.firstIndex(of: id) else { return }
        loads.remove(at: index)
    }
}

extension BaseAPIRequest: CustomReflectable {
    /// Nothing, because a request holds answers and its service; `dump` prints its class alone.
    public nonisolated var customMirror: Mirror { Mirror(withoutChildren: self) }
}

/// What ``APIManager/loadData()`` does while an earlier load runs.
public enum RestartPolicy: Sendable {
    /// The earlier loads are cancelled.
    case cancelPrevious
    /// Nothing new is sent; the call returns the ID of the load that runs.
    case ignoreNew
    /// Both run, each is delivered, and an older answer never replaces a newer one.
    case concurrent
}

/// What becomes of a request's loads when the request object is released.
public enum ReleasePolicy: Sendable {
    /// They are cancelled.
    case cancel
    /// They go on, and nobody hears of their ending: fire and forget.
    case finish
}
