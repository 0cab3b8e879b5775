/// Sends the requests of an app, tracks them by ID, cancels them, and owns cookies and transport.
///
/// Everything here but ``errorPresenter`` may be called from any thread or actor. Each load ends exactly once.
public final class APIProxy: Sendable {
    /// The proxy that requests use unless they are given another, or begin inside ``ReloginHandler/relogin()`` for another; its
    /// cookies persist in the application's own file.
    ///
    /// It can be configured before its first use; see ``configureShared(with:)``.
    public static var shared: APIProxy { replacement ?? standard }

    /// A replacement for ``shared`` in a test.
    @TaskLocal package static var replacement: APIProxy?
    private static let standard = sharedConfiguration.makeProxy()

    /// Configures ``shared``, once and before its first use.
    ///
    /// The creation of a request without a `proxy` argument is a use.
    ///
    /// ```swift
    /// var configuration = APIProxyConfiguration()
    /// configuration.transport.connectTimeout = .seconds(10)
    /// try APIProxy.configureShared(with: configuration)
    /// ```
    ///
    /// Called on any thread; the first call that does not throw has an effect. An ``APIProxy`` that the app
    /// creates receives these values as arguments instead.
    ///
    /// - Throws: Why nothing was configured.
    public static func configureShared(with configuration: APIProxyConfiguration) throws(APIProxyConfigurationError) {
        try sharedConfiguration.configure(with: configuration)
    }

    private struct State {
        var service: APIService?
        var cookies: CookieJar
        var onError: (@Sendable (any Error) -> Void)?
    }

    /// The state of the network path; requests are sent whatever it is, except for ``APIRequestOptions/failsWhenUnreachable``.
    public let reachability: Reachability
    let loads = LoadTable()
    let queue: RequestQueue
    let sharedExchanges = SharedExchanges()
    let delivery = MainDelivery()
    let transport: any HTTPTransport
    let clock: any APIClock
    let endingPublisher = EndingPublisher()
    let monitorList: MonitorList
    /// The ``errorPresenter``, whose type is of a higher layer.
    @MainActor weak var presenter: AnyObject?
    private let state: Lock<State>

    /// Creates a proxy, for tests or for a part of an app that shares nothing with the rest.
    ///
    /// - Parameters:
    ///   - service: The default service; none by default.
    ///   - transport: The transport; a ``SystemTransport`` by default.
    ///   - cookies: The cookie jar; without one, cookies live as long as the proxy. See ``switchAccount(of:to:)``.
    ///   - queueLimits: How many requests may be on the wire at a time; 64 for each host and 256 in all by default.
    ///   - reachability: The state of the network path; the system's by default.
    ///   - clock: The time of deadlines, back-off and cookies; the machine's by default.
    ///   - monitors: What observes the loads; nothing by default. See ``monitors``.
    public init(
        service: APIService? = nil,
        transport: (any HTTPTransport)? = nil,
        cookies: CookieJar = CookieJar(),
        queueLimits: QueueLimits = QueueLimits(),
        reachability: Reachability = .system,
        clock: any APIClock = SystemClock(),
        monitors: [any APIMonitor] = []
    ) {
        state = Lock(State(service: service, cookies: cookies))
        let transport = transport ?? SystemTransport()
        (self.transport, self.reachability, self.clock) = (transport, reachability, clock)
        queue = RequestQueue(limits: queueLimits, capacity: transport.capacity)
        monitorList = MonitorList(monitors)
        cookies.attach(to: self)
    }

    deinit { endingPublisher.finish() }

    /// The service of requests that name none; without one, the default, their loads fail with `invalidRequest`.
    ///
    /// Not that of requests inside ``ReloginHandler/relogin()`` of another service: see ``BaseAPIRequest/service``.
    public var defaultService: APIService? {
        get { state.withLock(\.service) }
        set { state.withLock { exchange(&$0.service, with: newValue) } }
    }

    /// What observes all loads and plain calls that begin from now on, before the ``APIService/monitors`` of their services; none
    /// by default.
    ///
    /// Retained. Each load has the monitors that are set when it begins.
    public var monitors: [any APIMonitor] {
        get { monitorList.all }
        set { monitorList.all = newValue }
    }

    /// The loads that have begun and not ended, oldest first.
    public var activeRequests: [ActiveRequest] { loads.activeRequests }

    /// The endings of the loads of this proxy, for code that is not their delegate: statistics, tests, a widget that is updated.
    ///
    /// ```swift
    /// for await load in APIProxy.shared.endings {
    ///     if case .failure(let error) = load.ending { print(load.path, error.type) }
    /// }
    /// ```
    ///
    /// Reads from now on: every load and plain call that ends afterwards, once each, in the order of their endings. Any number of
    /// readers may exist; without one, this costs nothing. An ending is passed to the
    /// readers before the delegate, the closure or the caller of the load receives it; one that is passed to several has the same
    /// order for all. A load of a request ends on the main actor, a plain call on any thread.
    ///
    /// Up to 1,024 endings wait for a slow reader. After that the oldest is dropped for each new one, and the next ending that
    /// is read has the number of those that are missing before it; see ``EndedRequest/droppedCount``.
    ///
    /// The iteration ends when its task is cancelled, and when the proxy is released, which the sequence does not retain.
    public var endings: some AsyncSequence<EndedRequest, Never> & Sendable { EndedRequests(of: endingPublisher) }

    // MARK: Cancelling

    /// Cancels one load, in whatever state it is.
    ///
    /// When this returns, neither success nor failure will be delivered for `id`. A request that is under way is stopped, unless
    /// other loads share it: its connection is closed, or over HTTP/2 its stream reset. The delegate or the `async` caller is
    /// notified of the cancellation soon afterwards; for a download, when nothing of it is left on the disk. The file that a
    /// download was to replace stays as it was. An unknown, ended or repeated ID is a no-op.
    ///
    /// - Returns: Whether this call has ended the load.
    @discardableResult
    public func cancelRequest(_ id: RequestID) -> Bool {
        guard let load = loads.claim(id) else { return false }
        cancel([load])
        return true
    }

    /// Cancels these loads, as ``cancelRequest(_:)`` does.
    public func cancelRequests(_ ids: some Sequence<RequestID>) {
        // A sequence may run code of the app, which must not happen under a lock.
        cancel(loads.claim(Array(ids)))
    }

    /// Cancels every load of this proxy, as ``cancelRequest(_:)`` does.
    public func cancelAllRequests() { cancel(loads.claimAll()) }

    // MARK: Plain calls

    /// Sends a plain request, for code without a screen.
    ///
    /// Cookies are sent and stored and redirects followed; nothing else of a service applies. The call queues like a load of
    /// normal priority, unless it is made inside ``ReloginHandler/relogin()``, is in ``activeRequests``, and can be cancelled by
    /// ID and by cancelling the task. Its ``HTTPRequest/deadline`` runs from its turn.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - progress: Called on any thread while bytes move; not after `send` has returned, except that one report may
    ///     follow a cancellation.
    /// - Returns: The response, whatever its status.
    /// - Throws: ``APIError`` when there is no complete response, `cancelled` when it was cancelled.
    public func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler? = nil
    ) async throws(APIError) -> APIResponse {
        try await PlainCall(request, service: nil, proxy: self).response(progress: progress)
    }

    /// Sends a plain request as one of a service: with its headers, its login and its retries.
    ///
    /// ```swift
    /// let response = try await proxy.send(HTTPRequest(.get, URL(string: "/orders/7")!), to: service)
    /// ```
    ///
    /// A URL without a scheme is a path below ``APIService/baseURL``; any other has the service's origin. As with a load, the
    /// request is completed at each send: by ``APIService/commonHeaders``, which the request's own headers replace, and by
    /// ``Adapters/request``; ``Adapters/response`` change its response. An expired login is renewed and the
    /// request sent once more; the retry policy applies; the call ends with the session (``logout(from:)``). The service's
    /// parameters, its adapters of parameters and data, its envelope and failure reader do not apply, nor its timeout, limits and
    /// redirect policy, which are the request's. Everything else is as with ``send(_:progress:)``.
    ///
    /// - Parameters:
    ///   - request: What to send. Its deadline is that of the whole call; without one, the service's is.
    ///   - service: The backend.
    ///   - progress: Called as by ``send(_:progress:)``.
    /// - Returns: The response, whatever its status, unless that is one of ``APIService/loginExpiredStatuses``.
    /// - Throws: ``APIError`` when there is no complete response; `loginExpired`, with the response, when the login has expired and
    ///   could not be renewed; `security` for a URL of another origin; `cancelled` when the call was cancelled.
    public func send(
        _ request: HTTPRequest,
        to service: APIService,
        progress: TransferProgress.Handler? = nil
    ) async throws(APIError) -> APIResponse {
        try await PlainCall(request, service: service, proxy: self).response(progress: progress)
    }

    // MARK: Sessions and cookies

    /// Ends a session on this side: for signing out, and before another account signs in.
    ///
    /// Call this on the main actor, and remove the credentials that the service's common headers read right after it, before the
    /// main actor runs other code: no load is sent in between, because all have ended and none can begin.
    ///
    /// Every load of the service in its environment ends as cancelled, wherever it is: queued, under way, in a back-off, waiting
    /// for a relogin. A relogin that runs is cancelled and its outcome is ignored, and ``ReloginHandler/sessionDidExpire(_:)`` is
    /// not called for it. The cookies are cleared, also in their file, and a late response restores none. Loads that begin
    /// afterwards are part of the next session.
    ///
    /// Requests keep their responses; ``BaseAPIRequest/reset()`` removes them. The cookies of the proxy are cleared for all
    /// services that have no ``APIService/cookies``.
    ///
    /// Calls of ``send(_:progress:)`` are part of no session and continue. Blocks as ``CookieJar/clear()`` does, after all
    /// loads have ended.
    ///
    /// - Parameter service: The backend; `nil` is the default service.
    public func logout(from service: APIService? = nil) {
        let service = APIService.forNewLoad(service, or: defaultService)
        let jar = jar(for: service)
        jar.clearInMemory()
        endSession(of: service)
        // Once more, for a load of the old session that was sent in between, and then on the disk, which may be slow.
        jar.clear()
        // Once more, for calls that began on other threads meanwhile, with the credentials that the app still has.
        endSession(of: service)
        jar.clearInMemory()
    }

    /// Changes the account: ends the session as ``logout(from:)`` does, but keeps the cookies of the old account.
    ///
    /// Call this on the main actor, and put the credentials of the new account where the service's common headers read them
    /// right after it; earlier, a load of the old account might still be sent with them.
    ///
    /// From then on the cookies of `jar` are sent and stored for every service without ``APIService/cookies``, and for those in a
    /// named ``APIEnvironment`` a jar beside `jar`; the old jar is saved, and is the only one that a late response changes. Blocks
    /// as ``CookieJar/flush()`` does; a failure to save is reported to ``onError``, and the old jar tries again as long as it is
    /// retained.
    ///
    /// - Parameters:
    ///   - service: The backend; `nil` is the default service.
    ///   - jar: The cookies of the new account.
    /// - Returns: The old jar.
    @discardableResult
    public func switchAccount(of service: APIService? = nil, to jar: CookieJar) -> CookieJar {
        // The disk may be slow, and calls that begin on other threads meanwhile are the old account's.
        cookies.flushAll()
        let old = switchCookies(to: jar)
        endSession(of: service)
        return old
    }

    /// The cookies of every request whose service has no jar (``APIService/cookies``) and whose environment has no name; each
    /// named ``APIEnvironment`` has a separate jar beside this one.
    public var cookies: CookieJar { state.withLock(\.cookies) }

    /// Receives the errors that no load can report: problems with the files of the cookie jars in use.
    ///
    /// Called with a ``CookieFileError`` once for each kind of problem, until it has ended and occurs again, on the thread
    /// that found it or any other; never under a lock. Problems from before the hook was set are reported when it is set, or
    /// with the next load of the service whose jar has them. A jar with a hook reports to that one alone, and one that several
    /// proxies use reports to the first of them. `nil` by default.
    public var onError: (@Sendable (any Error) -> Void)? {
        get { state.withLock(\.onError) }
        set {
            state.withLock { exchange(&$0.onError, with: newValue) }
            cookies.reportProblems()
        }
    }
}

extension APIProxy: CookieJarOwner {
    func jar(for service: APIService?) -> CookieJar {
        guard let service else { return cookies }
        let jar = (service.cookies ?? cookies).jar(of: service.environment.name)
        if service.cookies != nil || !service.environment.name.isEmpty { jar.attach(to: self) }
        return jar
    }

    @discardableResult
    func switchCookies(to jar: CookieJar) -> CookieJar {
        let old = state.withLock { exchange(&$0.cookies, with: jar) }
        jar.attach(to: self)
        return old
    }

    /// Called after the cookies are those of the next session: a load that begins in between ends with this one.
    private func endSession(of service: APIService?) {
        guard let login = APIService.forNewLoad(service, or: defaultService)?.login else { return }
        // Before the new session: it would let those through that wait for a login, with the old one's credentials.
        cancel(loads.claimAll { $0.login === login })
        login.startNewSession()
        // Those that have begun meanwhile.
        cancel(loads.claimAll { $0.login === login })
    }
}
