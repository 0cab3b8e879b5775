public import Observation

/// One endpoint of one screen: subclass it, adopt ``APIManager``, and load it any number of times.
///
/// All methods are called on the main actor, and all properties that a view shows are observable. The properties that a
/// subclass overrides are *hooks*: each is read once for every load, inside the call that begins it.
///
/// Keep the request in a property of the screen. When a request is released, its loads are cancelled and its delegate is not
/// called, unless ``APIRequestOptions/releasePolicy`` is `finish`. A local variable is not enough: Swift releases an object after
/// its last use, in optimized builds often before the end of the scope. An `async` call such as `value()` and a `loadData` with a
/// closure retain their request until the load has ended.
///
/// A load does not retain its request, because a weak delegate gives no notice when the screen is released: the request
/// would live until the response, and the loads of a closed screen would not be cancelled. A request that is released while it
/// loads and whose delegate still exists is a mistake of the app. It is reported on standard error, and on Apple's platforms
/// as a fault in the unified log, in every build, once for each class.
///
/// Requests are equal if they are the same object, so a delegate of several can `switch` over the one that it receives.
@MainActor @Observable open class BaseAPIRequest {
    /// Receives the endings of loads.
    ///
    /// Not retained.
    public var delegate: (any APIManagerCallbackDelegate)? {
        get { weakDelegate }
        set { weakDelegate = newValue }
    }
    // Used on the main actor, and in `deinit`, which is not isolated and runs when no other code has a reference.
    @ObservationIgnored private nonisolated(unsafe) weak var weakDelegate: (any APIManagerCallbackDelegate)?
    /// Supplies the parameters.
    ///
    /// Not retained.
    @ObservationIgnored public weak var paramSource: (any APIManagerParamSource)?
    /// Accepts or refuses parameters and responses.
    ///
    /// Not retained.
    @ObservationIgnored public weak var validator: (any APIManagerValidator)?
    /// Observes the steps of loads, and may refuse them.
    ///
    /// Not retained.
    @ObservationIgnored public weak var interceptor: (any APIManagerInterceptor)?
    /// Shows the errors of loads; `nil`, the default, is the proxy's ``APIProxy/errorPresenter``.
    ///
    /// Not retained.
    @ObservationIgnored public weak var errorPresenter: (any ErrorPresenter)?
    /// Sends the request.
    @ObservationIgnored public let proxy: APIProxy
    @ObservationIgnored let namesProxy: Bool

    /// The raw response of the newest load that has ended with one, also with an error status.
    public internal(set) var rawResponse: APIResponse?
    /// The load that has ended last, also as cancelled; in a method of the delegate, the one that it is called for.
    ///
    /// With ``RestartPolicy/concurrent`` an older load may end last: ``rawResponse`` and ``error`` remain those of the newest one.
    public internal(set) var newestEnding: RequestID?
    /// Whether the newest load that has ended, cancelled ones not included, was a success; false before the first one.
    public internal(set) var isSuccess = false
    /// Why the newest ended load failed; `nil` after a success.
    public internal(set) var error: APIError?
    /// The newest progress of the newest load that is active; `nil` from the beginning of a load until its first report.
    ///
    /// Loads report progress if ``APIRequestOptions/reportsProgress`` is true, or if their caller receives it.
    public internal(set) var progress: TransferProgress?
    /// What the newest load does, if that is active and ``APIRequestOptions/reportsActivity`` is true; otherwise `nil`.
    public internal(set) var activity: LoadActivity?
    // Without its type, because a class that is not generic has to store it.
    var content: (any Sendable)?
    // Oldest first.
    var loads: [RequestID] = []
    @ObservationIgnored var history = LoadHistory()
    @ObservationIgnored var waiters: [LoadWaiter] = []
    // Of loads whose ending is not for the delegate.
    @ObservationIgnored var receivers: [RequestID: EndingReceiver] = [:]

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - delegate: Receives the endings of loads; not retained.
    ///   - paramSource: Supplies the parameters; not retained.
    ///   - proxy: Sends the request; `nil`, the default, is ``APIProxy/shared``, and inside ``ReloginHandler/relogin()`` the proxy
    ///     of the loads that need the login.
    public init(
        delegate: (any APIManagerCallbackDelegate)? = nil,
        paramSource: (any APIManagerParamSource)? = nil,
        proxy: APIProxy? = nil
    ) {
        weakDelegate = delegate
        self.paramSource = paramSource
        namesProxy = proxy != nil
        self.proxy = proxy ?? ReloginScope.loginOwner?.proxy as? APIProxy ?? .shared
    }

    deinit {
        let isMistake = weakDelegate != nil
        let cancelled = proxy.cancelLoads(ofReleasedOwner: _loads, isMistake: isMistake)
        guard let path = cancelled.first?.path, isMistake else { return }
        FaultLog.reportRelease(of: type(of: self), path: path)
    }

    // MARK: Hooks

    /// The backend; `nil`, the default, is the proxy's ``APIProxy/defaultService``.
    ///
    /// For a load that begins inside ``ReloginHandler/relogin()`` `nil` is the service whose login it is, unless the request was
    /// given another proxy than that of the loads that need the login.
    ///
    /// Return a stored value or a copy of one: a new service shares its login with no other.
    open var service: APIService? { nil }
    /// The headers of this request, which replace the service's headers of the same name; none by default.
    open var headers: HTTPHeaders { [:] }
    /// The longest time without a transferred byte in either direction; `nil`, the default, is the service's timeout.
    open var timeout: Duration? { nil }
    /// How parameters are encoded as a body; JSON by default.
    open var requestSerializer: RequestSerializer { .json }
    /// Where the body of a 2xx response is stored; memory by default, and for a ``DownloadedFile`` a new file in the temporary
    /// folder.
    ///
    /// A load whose ``APIManager/Response`` is decoded from memory, such as `Data`, fails with `invalidRequest` if this is a
    /// file. The file is complete when it appears, as the load succeeds, and replaces an existing one. A load that fails or is
    /// cancelled does not change an existing file, and leaves no temporary file. The file's folder must exist, or the load
    /// fails with `storage` before it is sent. A 204, a 205 and a response to `HEAD` have no body, and change no file. The body
    /// of any other response is stored in memory, except that of one of ``APIRequestOptions/acceptedStatuses`` for a
    /// ``DownloadedFile``; see ``ResponseSerializer/file``. A load with a file shares no exchange.
    open var destination: HTTPRequest.Destination { .memory }
    /// What to do when a load begins while another runs; the other is cancelled by default.
    open var restartPolicy: RestartPolicy { .cancelPrevious }
    /// Whether this request signs in; false by default.
    ///
    /// Such a request neither waits for a relogin nor starts one, it shares no exchange, and it is exempt from the limits of
    /// requests and connections, because the loads that have reached them may wait for it. A load that begins inside
    /// ``ReloginHandler/relogin()`` is always treated like that.
    open var isLoginRequest: Bool { false }
    /// Deadline, priority, retries, adapters and everything else; the defaults of ``APIRequestOptions`` by default.
    open var options: APIRequestOptions { APIRequestOptions() }

    /// Returns the parameters to send, from those of the param source; returns them unchanged by default.
    open func reformParams(_ params: APIParams?) -> APIParams? { params }

    /// Adds files and data to an upload, before those of the param source; adds none by default.
    ///
    /// Called once for each load. Parts need a ``requestSerializer`` that is `.multipart` and a method with a body; otherwise
    /// the load fails with `invalidRequest`.
    open func appendParts(to form: inout MultipartForm) {}

    // `nil` for a request without pages.
    var pager: (any Pager)? { nil }
}

extension BaseAPIRequest {
    /// What kind of failure the newest ended load was; `nil` after a success.
    public var errorType: APIErrorType? { error?.type }
    /// The business code of ``rawResponse``, of a success as well; `nil` if it has none.
    public var serverCode: ServerCode? { rawResponse?.serverCode }
    /// The server's message in ``rawResponse``, of a success as well; `nil` if it has none.
    public var serverMessage: String? { rawResponse?.serverMessage }

    /// Whether a load has begun and not ended.
    public var isLoading: Bool { !loads.isEmpty }

    /// Cancels one load of this request; does nothing for any other ID.
    ///
    /// The delegate is notified after this has returned.
    public func cancelRequest(_ id: RequestID) {
        guard loads.contains(id) else { return }
        removeLoad(id)
        proxy.cancelRequest(id)
    }

    /// Cancels every load of this request.
    ///
    /// The delegate is notified after this has returned, once for each load.
    public func cancelAllRequests() { for id in loads { cancelRequest(id) } }

    /// Cancels every load, and removes the response, the error, the progress, and the items of a list: as before the first load.
    ///
    /// For a search text that is empty, and for another account. The delegate is notified of the cancelled loads after this has
    /// returned; a ``PageListObserver`` is notified of a reload.
    public func reset() {
        cancelAllRequests()
        (rawResponse, error, progress, content) = (nil, nil, nil, nil)
        (newestEnding, isSuccess) = (nil, false)
        history.removeInput()
        pager?.removeAllPages()
    }

    /// Loads again with the same parameters as the newest load, for example when a retry button is tapped.
    ///
    /// The parameters and parts are those that the newest load was given, or received from its param source, which is not
    /// called again; the hooks are read again, except as ``APIRequestOptions/idempotencyKey`` describes. The request retains them
    /// until its next load. If no load has begun yet, this is a `loadData()`. ``restartPolicy`` applies, and the delegate receives
    /// the ending; the closure and the loading indicator of an earlier load do not.
    ///
    /// A ``PageAPIRequest`` loads the page that has failed, as ``APIManager/retry()`` does; where none has, it reloads the list
    /// with the parameters of its newest reload. It calls its param source for each page, unless that reload was given its
    /// parameters.
    ///
    /// - Returns: The load's ID; `nil` if the class does not adopt ``APIManager``, and so cannot load.
    @discardableResult
    public func loadAgain() -> RequestID? { (self as? any APIManager)?.beginAgain() }

    /// Finds the oldest load, which it usually is, at once.
    func removeLoad(_ id: RequestID) {
        guard let index = loads.firstIndex(of: id) else { return }
        if activity != nil, loads.last == id { activity = nil }
        loads.remove(at: index)
    }
}

extension BaseAPIRequest: Hashable {
    /// Whether both are the same object.
    public nonisolated static func == (lhs: BaseAPIRequest, rhs: BaseAPIRequest) -> Bool { lhs === rhs }

    /// Hashes the identity of the object.
    public nonisolated func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension BaseAPIRequest: CustomReflectable {
    /// An empty mirror, because a request holds responses and its service; `dump` prints its class alone.
    public nonisolated var customMirror: Mirror { Mirror(withoutChildren: self) }
}
