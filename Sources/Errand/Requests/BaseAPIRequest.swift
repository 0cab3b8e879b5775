public import Observation

/// One endpoint of one screen: subclass it, adopt ``APIManager``, and load it any number of times.
///
/// All methods are called on the main actor, and all properties that a view shows are observable. The properties that a
/// subclass overrides are *hooks*: each is read for every load, inside the call that begins it.
///
/// Keep the request in a property of the screen. When a request is released, its loads are cancelled unless
/// ``APIRequestOptions/releasePolicy`` is `finish`, and its delegate is not called in either case. A local variable is not
/// enough: Swift releases an object after its last use, in optimized builds often before the end of the scope. An `async` call
/// such as `value()` and a `loadData` with a closure retain their request until the load has ended.
///
/// A load does not retain its request, so that releasing a screen and its requests cancels the screen's loads. Releasing a
/// request while it loads and its delegate still exists is a mistake of the app. Every build reports it once for each class: on
/// standard error, and on Apple's platforms as a fault in the unified log.
///
/// Requests are equal if they are the same object, so a delegate of several requests can `switch` over the request that it
/// receives.
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
    // What the hooks of an APIRequest return, which no subclass overrides.
    @ObservationIgnored final var hooks: Boxed<RequestHooks>?

    /// The raw response, whatever its status, of the newest ended load that ended with one.
    public internal(set) var rawResponse: APIResponse?
    /// The ID of the load that ended last, cancelled loads included; inside a delegate method for an ending, the load that
    /// the method is called for.
    ///
    /// With ``RestartPolicy/concurrent``, an older load may end last; ``rawResponse`` and ``error`` remain those of the newest
    /// load.
    public internal(set) var newestEndedID: RequestID?
    /// Whether the newest ended load succeeded, cancelled loads not included; false until a load has succeeded or failed.
    public internal(set) var isSuccess = false
    /// Why the newest ended load failed; `nil` after a success.
    public internal(set) var error: APIError?
    /// The latest progress of the newest load; `nil` from its beginning until its first report.
    ///
    /// A load reports progress if ``APIRequestOptions/reportsProgress`` is true, or if its caller passes a progress closure.
    /// After an upload, this is the progress of its response; see ``TransferProgress/direction``.
    public internal(set) var progress: TransferProgress?
    /// The current activity of the newest load, if the load is active and ``APIRequestOptions/reportsActivity`` is true;
    /// otherwise `nil`.
    public internal(set) var activity: LoadActivity?
    // Without its type, because a class that is not generic has to store it.
    var content: (any Sendable)?
    // Of CachePolicy.first.
    var cachedContent: (any Sendable)?
    // Registers the readers of what a generic subclass shows: an observed property of its own would create its key path at
    // each access.
    var changeCount = 0
    // Oldest first.
    var loads: [RequestID] = []
    // The number of those that have been removed from `loads`, and have not ended yet: a cancelled download removes its file
    // before.
    @ObservationIgnored var endingCount = 0
    @ObservationIgnored var history = LoadHistory()
    @ObservationIgnored var waiters: [LoadWaiter] = []
    // Of loads whose ending is not for the delegate.
    @ObservationIgnored var receivers: [RequestID: EndingReceiver] = [:]

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - delegate: Receives the endings of loads; not retained.
    ///   - paramSource: Supplies the parameters; not retained.
    ///   - proxy: Sends the request. `nil`, the default, is ``APIProxy/shared``; inside ``ReloginHandler/relogin()``, it is the
    ///     proxy of the loads that need the login.
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
        guard !_loads.isEmpty else { return }
        let (isMistake, loads) = (weakDelegate != nil, proxy.loads.claim(_loads) { $0.endsWithOwner })
        proxy.cancel(loads, isMistake: isMistake)
        guard let load = loads.first, isMistake else { return }
        FaultLog.reportRelease(of: type(of: self), path: load.summary.path)
    }

    // MARK: Hooks

    /// The backend; `nil`, the default, is the proxy's ``APIProxy/defaultService``.
    ///
    /// For a load that begins inside ``ReloginHandler/relogin()``, `nil` is the service whose login is renewed, unless the
    /// request was created with another proxy than that of the loads that need the login.
    ///
    /// Return a stored service or a copy of one. A service that is created anew for each load shares its login with no other
    /// load.
    open var service: APIService? { hooks?.wrappedValue.service }
    /// The headers of this request, which replace headers of the service with the same name; none by default.
    ///
    /// A name with `nil` adds no line and so keeps the service's; an adapter in ``APIRequestOptions/adapters`` can remove it. The
    /// transport writes `Host`, `Content-Length` and `Transfer-Encoding` itself, whatever is here. With a `Cookie`, the request has
    /// none of the jar. With a `Range` and no `Accept-Encoding`, a load accepts no content coding.
    open var headers: HTTPHeaders { hooks?.wrappedValue.headers ?? [:] }
    /// The longest time without a byte sent or received; `nil`, the default, is the service's timeout.
    open var timeout: Duration? { hooks?.wrappedValue.timeout }
    /// How parameters are encoded as a body; JSON by default.
    open var requestSerializer: RequestSerializer { hooks?.wrappedValue.requestSerializer ?? .json }
    /// Where the body of a 2xx response is stored: in memory, a file, or a new file of a folder.
    ///
    /// By default in memory, or for a ``DownloadedFile`` in a new file in the temporary folder. The name of a file in a folder is
    /// the one that the server chooses.
    ///
    /// If the destination is a file and ``APIManager/Response`` is decoded from memory, as `Data` is, the load fails with
    /// `invalidRequest`. The file's folder must exist; otherwise the load fails with `storage` before it is sent.
    ///
    /// The file appears complete when the load succeeds, and replaces an existing file. A load that fails or is cancelled does
    /// not change an existing file, and leaves no temporary file unless ``APIRequestOptions/resumesDownload`` is set. A 204, a
    /// 205 and a response to `HEAD` have no body and change no file.
    ///
    /// The body of a response that is not 2xx is stored in memory, unless its status is one of
    /// ``APIRequestOptions/acceptedStatuses`` and the response is a ``DownloadedFile``; see ``ResponseSerializer/file``. A load
    /// with a file shares no exchange.
    open var destination: HTTPRequest.Destination { hooks?.wrappedValue.destination ?? .memory }
    /// What to do when a load begins while another is running; cancels the running load by default.
    open var restartPolicy: RestartPolicy { hooks?.wrappedValue.restartPolicy ?? .cancelPrevious }
    /// Whether this request signs in; false by default.
    ///
    /// A request that signs in neither waits for a relogin nor starts one, and shares no exchange. It is exempt from the limits of
    /// requests and connections, because the loads that use up these limits may be waiting for the login. Its success begins a
    /// session, and removes the stored responses of the former one: what is loaded without a login is no such request, see
    /// <doc:Services#Write-a-sign-in-screen>. A load of the same service that begins inside ``ReloginHandler/relogin()`` is always
    /// treated as a login request.
    open var isLoginRequest: Bool { hooks?.wrappedValue.isLoginRequest ?? false }
    /// Deadline, priority, retries, adapters and everything else; the defaults of ``APIRequestOptions`` by default.
    open var options: APIRequestOptions { hooks?.wrappedValue.options ?? APIRequestOptions() }

    /// Returns the parameters to send; by default, the given parameters unchanged.
    open func reformParams(_ params: APIParams?) -> APIParams? {
        guard let own = hooks?.wrappedValue.params else { return params }
        return params.map(own.merging) ?? own
    }

    /// Adds files and data to an upload, before those of the param source; adds none by default.
    ///
    /// Called once for each load. Parts need a ``requestSerializer`` that is `.multipart` and a method with a body; otherwise
    /// the load fails with `invalidRequest`.
    open func appendParts(to form: inout MultipartForm) { hooks?.wrappedValue.parts?(&form) }

    // `nil` for a request without pages.
    var pager: (any Pager)? { nil }

    // `nil` for a request whose response is no stream.
    func makeStream(
        of id: RequestID,
        _ method: HTTPMethod,
        for service: APIService
    ) throws(APIError) -> (any StreamHandler)? { nil }

    func didReset() {}
}

extension BaseAPIRequest {
    /// The type of the newest ended load's error; `nil` after a success.
    public var errorType: APIErrorType? { error?.type }
    /// The business code of ``rawResponse``, also after a success; `nil` if the response has none.
    public var serverCode: ServerCode? { rawResponse?.serverCode }
    /// The server's message in ``rawResponse``, also after a success; `nil` if the response has none.
    public var serverMessage: String? { rawResponse?.serverMessage }

    /// Whether a load is active: begun and not yet ended.
    public var isLoading: Bool { !loads.isEmpty }

    /// Cancels one load of this request; does nothing for any other ID.
    ///
    /// The delegate is notified after this has returned.
    public func cancelRequest(_ id: RequestID) { cancel([id]) }

    /// Cancels every load of this request.
    ///
    /// The delegate is notified after this has returned, once for each load.
    public func cancelAllRequests() {
        // As for nearly each load that begins.
        if !loads.isEmpty { cancel(loads) }
    }

    private func cancel(_ ids: [RequestID]) {
        let removed = ids.filter(removeLoad)
        endingCount += removed.count
        proxy.cancelRequests(removed)
    }

    /// Cancels every load and returns the request to its state before the first load: without response, error, progress, list
    /// items, or parameters that ``loadAgain()`` would send.
    ///
    /// Use this when a search text becomes empty or another account signs in. The delegate is notified of the cancelled loads
    /// after this has returned; a ``PageListObserver`` is notified of a reload.
    public func reset() {
        cancelAllRequests()
        (rawResponse, error, progress, content, cachedContent) = (nil, nil, nil, nil, nil)
        (newestEndedID, isSuccess) = (nil, false)
        history.removeInput()
        didReset()
    }

    /// Loads again with the same parameters as the newest load, for example when a retry button is tapped.
    ///
    /// Sends the parameters and parts of the newest load, which the request retains until its next load; the param source is not
    /// called again. Reads the hooks again, except as ``APIRequestOptions/idempotencyKey`` describes. If no load has begun yet,
    /// this is the same as `loadData()`. ``restartPolicy`` applies, but not to the reload of a list. The delegate receives the
    /// ending; the closure and the loading indicator of an earlier load are not used again.
    ///
    /// A ``PageAPIRequest`` loads the page that failed, as ``APIManager/retry()`` does. If no page failed, it reloads the list
    /// with the parameters of its newest reload. If that reload took its parameters from the param source, the source is called
    /// again for each page.
    ///
    /// After a logout or a change of the account or environment, what may change something on the server (any method but `GET`,
    /// `HEAD`, `OPTIONS` and `TRACE`, apart from lists) is not sent again: the load ends with `invalidRequest`.
    ///
    /// - Returns: The load's ID; `nil` if the class does not adopt ``APIManager``, and so cannot load.
    @discardableResult
    public func loadAgain() -> RequestID? {
        guard let manager = self as? any APIManager else { return nil }
        guard pager != nil else { return manager.begin(input: history.inputAgain ?? .paramSource) }
        return manager.loadFailedPart() ?? manager.refresh(.first, input: nil)
    }

    /// For a new load, which has none yet.
    func removeProgress() {
        if progress != nil { progress = nil }
        if activity != nil { activity = nil }
    }

    /// Returns whether the load was not cancelled before.
    func removeLoad(_ id: RequestID) -> Bool {
        guard loads.contains(id) else { return false }
        // Found again in the change: observers of the loads, who may cancel and begin some, are called just before it.
        guard let isNewest = loads.removeLoad(id) else { return false }
        guard isNewest else { return true }
        if activity != nil { activity = nil }
        if progress != nil, !loads.isEmpty { progress = nil }
        return true
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

extension [RequestID] {
    /// Returns whether the load was the newest one; `nil` if it was not there.
    fileprivate mutating func removeLoad(_ id: RequestID) -> Bool? {
        // Usually the oldest one.
        guard let index = firstIndex(of: id) else { return nil }
        remove(at: index)
        return index == endIndex
    }
}

extension BaseAPIRequest {
    /// Waits until no load of this request runs and its delegate has been notified of every ending.
    ///
    /// Use this in tests, and in a program that must not exit while loads run. Also waits for a load that the delegate begins in
    /// one of its methods. Retains the request meanwhile, but not its delegate. Returns at once when the calling task is
    /// cancelled.
    ///
    /// ```swift
    /// screen.goodsList.loadData()
    /// await screen.goodsList.waitUntilIdle()
    /// ```
    public func waitUntilIdle() async {
        repeat {
            while isLoading || endingCount > 0, !Task.isCancelled { await waitForChange() }
            // Not inside the ending, which is recorded before the delegate is notified.
            await withCheckedContinuation { delivery in proxy.deliver { delivery.resume() } }
        } while (isLoading || endingCount > 0) && !Task.isCancelled
    }

    /// Also returns when the calling task is cancelled.
    private func waitForChange() async {
        let (changes, continuation) = AsyncStream<Never>.makeStream()
        withObservationTracking {
            _ = (isLoading, newestEndedID)
        } onChange: {
            continuation.finish()
        }
        for await _ in changes {}
    }
}

/// What a new load does to the earlier loads of the same request.
public enum RestartPolicy: Sendable {
    /// The earlier loads are cancelled.
    case cancelPrevious
    /// No new load begins, but for a reload of a list; the call returns the ID of the running load.
    ///
    /// A running load of another account or environment is cancelled instead.
    case ignoreNew
    /// All loads run, and every ending is delivered; an older response never replaces a newer one.
    case concurrent
}
