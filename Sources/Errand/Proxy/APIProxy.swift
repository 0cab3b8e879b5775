/// Sends the requests of an app, tracks them by ID, cancels them, and owns cookies and transport.
///
/// All members except ``errorPresenter`` may be called from any thread or actor. Each load ends exactly once.
public final class APIProxy: Sendable {
    /// The proxy of requests that are created without another proxy and do not begin inside a ``ReloginHandler/relogin()`` for
    /// another proxy.
    ///
    /// Its cookies persist in the application's own file.
    ///
    /// You can configure it before its first use; see ``configureShared(with:)``.
    public static var shared: APIProxy { SharedProxyScope.replacement as? APIProxy ?? standard }

    private static let standard = sharedConfiguration.makeProxy()

    /// Configures ``shared``, once and before its first use.
    ///
    /// Creating a request without a `proxy` argument counts as a use.
    ///
    /// ```swift
    /// var configuration = APIProxyConfiguration()
    /// configuration.transport.connectTimeout = .seconds(10)
    /// try APIProxy.configureShared(with: configuration)
    /// ```
    ///
    /// May be called on any thread; only the first call that does not throw has an effect. If the app creates an ``APIProxy``,
    /// pass these values to its initializer instead.
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

    /// The state of the network path; requests are sent in any state, unless ``APIRequestOptions/failsWhenUnreachable`` is true.
    public let reachability: Reachability
    let loads = LoadTable()
    let queue: RequestQueue
    let sharedExchanges = SharedExchanges()
    let delivery = MainDelivery()
    let transport: any HTTPTransport
    let clock: any APIClock
    /// The stored responses of its loads; `nil`, the default, stores none.
    public let cache: APICache?
    let endingPublisher = EndingPublisher()
    let monitorList: Lock<ObservingMonitors>
    /// The ``errorPresenter``, whose type is of a higher layer.
    @MainActor weak var presenter: AnyObject?
    private let state: Lock<State>

    /// Creates a proxy; for tests, or for a part of an app that shares nothing with the rest.
    ///
    /// - Parameters:
    ///   - service: The default service; none by default.
    ///   - transport: The transport; a ``SystemTransport`` by default.
    ///   - cookies: The cookie jar; without one, cookies live as long as the proxy. See ``switchAccount(of:to:)``.
    ///   - queueLimits: How many requests may be on the wire at a time; 64 for each host and 256 in all by default.
    ///   - reachability: The state of the network path; the system's by default.
    ///   - clock: The time of deadlines, back-off, cookies and stored responses; the machine's by default.
    ///   - monitors: The observers of loads; none by default. See ``monitors``.
    ///   - cache: Stores responses, as ``APIRequestOptions/cachePolicy`` describes; none by default.
    public init(
        service: APIService? = nil,
        transport: (any HTTPTransport)? = nil,
        cookies: CookieJar = CookieJar(),
        queueLimits: QueueLimits = QueueLimits(),
        reachability: Reachability = .system,
        clock: any APIClock = SystemClock(),
        monitors: [any APIMonitor] = [],
        cache: APICache? = nil
    ) {
        self.cache = cache
        state = Lock(State(service: service, cookies: cookies))
        let transport = transport ?? SystemTransport()
        (self.transport, self.reachability, self.clock) = (transport, reachability, clock)
        queue = RequestQueue(limits: queueLimits, capacity: transport.capacity)
        monitorList = Lock(ObservingMonitors(monitors))
        cookies.attach(to: self)
        cache?.problems.attach(to: self)
    }

    deinit { endingPublisher.finish() }

    /// The service of requests that name no service; if it is `nil`, the default, loads of such requests fail with
    /// `invalidRequest`.
    ///
    /// Requests inside ``ReloginHandler/relogin()`` use the service whose login is renewed instead; see
    /// ``BaseAPIRequest/service``.
    public var defaultService: APIService? {
        get { state.withLock(\.service) }
        set { state.withLock { exchange(&$0.service, with: newValue) } }
    }

    /// Monitors that observe all loads and plain calls that begin from now on, before the ``APIService/monitors`` of their
    /// services; none by default.
    ///
    /// The proxy retains the monitors. A load is observed by the monitors that are set when it begins.
    public var monitors: [any APIMonitor] {
        get { monitorList.withLock { $0 }.all }
        set {
            // Calls the monitors, and so not under the lock.
            let new = ObservingMonitors(newValue)
            monitorList.withLock { exchange(&$0, with: new) }
        }
    }

    /// The loads that have begun and have not ended, oldest first.
    public var activeRequests: [ActiveRequest] { loads.activeRequests }

    /// The endings of this proxy's loads, for code that is not their delegate, such as statistics, tests, or a widget to update.
    ///
    /// ```swift
    /// for await load in APIProxy.shared.endings {
    ///     if case .failure(let error) = load.ending { print(load.path, error.type) }
    /// }
    /// ```
    ///
    /// The sequence contains each load and plain call that ends from now on, once, in the order of their endings. Any number of
    /// readers may exist, and all receive endings in the same order; without a reader, this costs nothing. An ending is given
    /// to the readers before the delegate, the closure or the caller of the load receives it. A load of a request ends on the
    /// main actor, a plain call on any thread.
    ///
    /// Up to 1,024 endings are buffered for a slow reader. After that, each new ending replaces the oldest one, and the next
    /// ending that is read contains the number of dropped endings before it; see ``EndedRequest/droppedCount``.
    ///
    /// The iteration ends when its task is cancelled or the proxy is released. The sequence does not retain the proxy.
    public var endings: some AsyncSequence<EndedRequest, Never> & Sendable { EndedRequests(of: endingPublisher) }

    /// Changes the priority of a load that waits in the queue, for example when its cell is scrolled into view.
    ///
    /// Among the loads of its new priority, the load has the place of its age. The priority of a load with
    /// ``APIRequestOptions/coalescesIdentical``, and of one that has had its turn, does not change. One that still looks for a stored
    /// response queues with the new priority.
    ///
    /// - Returns: Whether the load was waiting.
    @discardableResult
    public func setPriority(_ priority: RequestPriority, of id: RequestID) -> Bool {
        guard let load = loads[id], load.isQueued, var lane = load.lane else { return false }
        lane.priority = priority
        // First, because a load that looks for a stored response queues afterwards.
        loads.setPriority(priority, of: id)
        _ = queue.move(QueuePlace(number: id.queueNumber, lane: lane))
        return true
    }

    // MARK: Cancelling

    /// Cancels one load, in any state.
    ///
    /// After this call has returned, neither success nor failure is delivered for `id`. A request that is under way is stopped,
    /// unless other loads share it: its connection is closed or, over HTTP/2, its stream is reset. The delegate or the `async`
    /// caller is notified of the cancellation soon afterwards; for a download that does not resume, after its temporary file
    /// has been removed. The file that a download was to replace does not change. Does nothing for an unknown, ended or already
    /// cancelled load.
    ///
    /// - Returns: Whether this call ended the load.
    @discardableResult
    public func cancelRequest(_ id: RequestID) -> Bool {
        guard let load = loads.claim(id) else { return false }
        cancel([load])
        return true
    }

    /// Cancels a download that a later load continues; does nothing for any other load.
    ///
    /// For a list of transfers: the load ends as cancelled, and ``BaseAPIRequest/loadAgain()`` of its request continues where it
    /// has stopped. See ``APIRequestOptions/resumesDownload``.
    ///
    /// - Returns: Whether this call ended the load; `false` also for a download whose server does not say how to continue it.
    @discardableResult
    public func pauseRequest(_ id: RequestID) -> Bool {
        loads[id]?.canContinue == true && cancelRequest(id)
    }

    /// Cancels these loads, as ``cancelRequest(_:)`` does.
    public func cancelRequests(_ ids: some Sequence<RequestID>) {
        // A sequence may run code of the app, which must not happen under a lock.
        cancel(loads.claim(Array(ids)))
    }

    /// Cancels every load of this proxy, as ``cancelRequest(_:)`` does, except for those that ``ReloginHandler/relogin()`` makes.
    ///
    /// A relogin continues, as it does when each waiting load is cancelled alone: its server may have replaced a refresh token
    /// already, and the app would lose the new one. ``logout(from:)`` cancels it.
    public func cancelAllRequests() { cancel(loads.claimEvery()) }

    // MARK: Plain calls

    /// Sends a plain request, for code without a screen.
    ///
    /// Sends and stores cookies and follows redirects, with the jar and the error texts of ``defaultService``, but applies nothing
    /// else of a service. The call queues like a load of
    /// normal priority, unless it is made inside ``ReloginHandler/relogin()``. It is listed in ``activeRequests``, and can be
    /// cancelled by its ID or by cancelling the task. Its ``HTTPRequest/deadline`` does not run before its first turn.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - progress: Called on any thread while bytes are transferred. Not called after `send` has returned, except that one
    ///     report may follow a cancellation.
    /// - Returns: The response, whatever its status.
    /// - Throws: ``APIError`` when there is no complete response, `cancelled` when it was cancelled.
    public func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler? = nil
    ) async throws(APIError) -> APIResponse {
        try await PlainCall(request, service: nil, proxy: self).response(progress: progress)
    }

    /// Sends a plain request with the headers, the login and the retries of a service.
    ///
    /// ```swift
    /// let response = try await proxy.send(HTTPRequest(.get, URL(string: "/orders/7")!), to: service)
    /// ```
    ///
    /// A URL without a scheme is a path below ``APIService/baseURL``; any other URL must have the service's origin. Each attempt
    /// adds ``APIService/commonHeaders``, which the request's own headers replace, then calls ``Adapters/request``, and
    /// ``Adapters/response`` for the response. If the login has expired, it is renewed and the request is sent once more. The
    /// retry policy applies. ``logout(from:)`` cancels the call.
    ///
    /// The service's parameters, its adapters of parameters and data, its envelope and its failure reader do not apply. Timeout,
    /// limits and redirect policy are those of the request. Everything else is as with ``send(_:progress:)``,
    /// except that the call of a service with a ``ReloginHandler`` first waits for the main actor, within its deadline.
    ///
    /// - Parameters:
    ///   - request: The request to send. Its deadline applies to the whole call; without one, the service's deadline applies.
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

    /// Ends the session in the app, without notifying the server.
    ///
    /// Call this when the user signs out, and before another account signs in.
    ///
    /// Call this on the main actor. Immediately afterwards, before the main actor runs other code, remove the credentials that
    /// the service's common headers use. No load is sent in between, because all loads have ended and no other can begin.
    ///
    /// Every load of the service in its environment ends as cancelled, whether it is queued, under way, in a back-off, or
    /// waiting for a relogin; one of another proxy of the service, before it is sent. A running relogin is cancelled and its
    /// outcome is ignored; ``ReloginHandler/sessionDidExpire(_:)`` is not called for it. The cookies are cleared in memory and
    /// in their file, and a late response restores none of them. Loads that begin afterwards belong to the next session.
    ///
    /// What the ``cache`` has stored with these cookies is removed. Requests keep their responses; call
    /// ``BaseAPIRequest/reset()`` to remove them. If the service has no ``APIService/cookies``, the cookies of the proxy are
    /// cleared, which all services without their own jar share.
    ///
    /// Calls of ``send(_:progress:)`` belong to no session and continue. After all loads have ended, this blocks as
    /// ``CookieJar/removeAll()`` does.
    ///
    /// - Parameter service: The backend; `nil` is the default service.
    public func logout(from service: APIService? = nil) {
        let service = APIService.forNewLoad(service, or: defaultService)
        let jar = jar(of: service)
        jar.clearForNextUser()
        let logins = service.map { [$0.login] } ?? []
        endSessions(of: logins, [jar])
        // Once more, for a load of the old session that was sent in between, and then on the disk, which may be slow.
        jar.removeAll()
        // Once more, for calls that began on other threads meanwhile, with the credentials that the app still has.
        endSessions(of: logins, [jar])
        jar.clearInMemory()
    }

    /// Switches to another account: ends the sessions of all environments as ``logout(from:)`` ends one, but keeps the cookies
    /// of the old account.
    ///
    /// Call this on the main actor. Immediately afterwards, store the credentials of the new account where the service's common
    /// headers use them. If they were stored earlier, a load of the old account might be sent with them.
    ///
    /// From then on, every service without ``APIService/cookies`` uses `jar`, or in a named ``APIEnvironment`` a jar beside
    /// `jar`. The old jar is saved; a late response changes only the old jar. Blocks as ``CookieJar/flush()`` does. If the old
    /// jar cannot be saved, the error is reported to ``onError``, and the jar tries again as long as it is retained. Stored
    /// responses of the old jar's file are used again after a switch back.
    ///
    /// A service with ``APIService/cookies`` keeps that jar, with the cookies of the old account; set another one as well.
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
        guard let service = APIService.forNewLoad(service, or: defaultService) else { return old }
        // A service with its own jar keeps it, although it has another account.
        let kept = service.cookies.map { service.logins.environmentNames.map($0.jar(of:)) } ?? []
        endSessions(of: service.logins.all, kept)
        return old
    }

    /// The cookie jar for every request whose service has no ``APIService/cookies`` and whose environment has no name.
    ///
    /// Each named ``APIEnvironment`` has a separate jar beside this one.
    public var cookies: CookieJar { state.withLock(\.cookies) }

    /// Receives errors that no load can report: problems with the files of the cookie jars and of the cache; `nil` by default.
    ///
    /// Called with a ``CookieFileError`` or an ``APICacheError``, on any thread, never under a lock. Each kind of problem is
    /// reported once, and again only if it recurs after it was resolved; each stored response that is removed as damaged is
    /// reported. Problems from before the hook was set are reported when it is set, or with the next load of the service that
    /// uses the jar. A jar with its own error hook reports to that hook alone; a jar or a cache that several proxies use reports to
    /// the first of them.
    public var onError: (@Sendable (any Error) -> Void)? {
        get { state.withLock(\.onError) }
        set {
            state.withLock { exchange(&$0.onError, with: newValue) }
            cookies.reportProblems()
            cache?.problems.report()
        }
    }
}

extension APIProxy: ErrorHookOwner {
    func jar(for service: APIService?) -> CookieJar {
        guard let scope = ReloginScope.ofSession else { return jar(of: service) }
        let jar = scope.jar(for: service, sentBy: self, with: cookies)
        jar.attach(to: self)
        return jar
    }

    /// By now, also in a relogin.
    private func jar(of service: APIService?) -> CookieJar {
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
    ///
    /// What is stored with the cookies of `jars` is removed.
    private func endSessions(of logins: [LoginSession], _ jars: [CookieJar]) {
        let isOfSession = { (load: ActiveLoad) in logins.contains { $0 === load.login } }
        // Before the new session: it would let those through that wait for a login, with the old one's credentials.
        cancel(loads.claimAll(where: isOfSession))
        for login in logins { login.startNewSession() }
        queue.endPauses(of: logins)
        // Also without a default service: requests may have their own, with the cookies of the proxy.
        for jar in jars { cache?.endSessions(of: jar) }
        // Those that have begun meanwhile.
        cancel(loads.claimAll(where: isOfSession))
    }
}
