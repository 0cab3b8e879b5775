import Synchronization

/// Carries the requests of an app: sends them, tracks them by ID, cancels them, and owns cookies and transport.
///
/// Everything here may be called from any thread or actor. Each ID ends exactly once: whoever takes it out of the table of
/// active loads owns its ending.
public final class APIProxy: Sendable {
    /// The proxy that requests use unless they are given another; its cookies persist in the application's own file.
    public static var shared: APIProxy { replacement ?? standard }

    /// What stands for ``shared`` in a test.
    @TaskLocal package static var replacement: APIProxy?
    private static let standard = APIProxy(cookies: CookieJar(file: CookieJar.defaultFile))

    struct State {
        var service: APIService?
        var cookies: CookieJar
        var onError: (@Sendable (any Error) -> Void)?
        var loads: [RequestID: ActiveLoad] = [:]
        var deliveries: [@MainActor @Sendable () -> Void] = []
        var progress: [RequestID: TransferProgress] = [:]
        var queue: RequestQueue
        var sharedExchanges: [SharedExchange.Key: SharedExchange] = [:]
    }

    /// What is known of an active load; the table holds no request object.
    struct ActiveLoad {
        let summary: ActiveRequest
        let endsWithOwner: Bool
        // Whose session it belongs to and ends with; a plain call belongs to none.
        let session: ObjectIdentifier?
        let loginRole: LoginRole
        let cancelled: @Sendable () -> Void
        // Where it stands in the queue, as long as it has no task.
        var position: (ticket: UInt64, place: RequestQueue.Place)?
        // What stood there, kept when it is taken out so that nothing is released under the lock.
        var waiter: RequestQueue.Waiter?
        var task: Task<Void, Never>?
        // The file of a download, which ends with the load.
        var file: StagedFile?
    }

    /// What is known of the way to the network; requests are sent whatever it is.
    public let reachability: Reachability
    let transport: any HTTPTransport
    let clock: any APIClock
    let state: Mutex<State>

    /// Creates a proxy of its own, for tests or for a part of an app that shares nothing with the rest.
    ///
    /// - Parameters:
    ///   - service: The default service.
    ///   - transport: The way to the network; libcurl on Linux and URLSession elsewhere by default.
    ///   - cookies: The cookie jar; without one, cookies live as long as the proxy. See ``switchAccount(of:to:)``.
    ///   - limits: How many requests may be under way at a time.
    ///   - reachability: What tells of the way to the network; the system's by default.
    ///   - clock: The time of deadlines, back-off and cookies; the machine's by default.
    public init(
        service: APIService? = nil,
        transport: (any HTTPTransport)? = nil,
        cookies: CookieJar = CookieJar(),
        limits: RequestLimits = RequestLimits(),
        reachability: Reachability = .system,
        clock: any APIClock = SystemClock()
    ) {
        state = Mutex(State(service: service, cookies: cookies, queue: RequestQueue(limits: limits)))
        self.transport = transport ?? DefaultTransport.make()
        self.clock = clock
        self.reachability = reachability
        cookies.attach(to: self)
    }

    /// The service of requests that name none.
    public var defaultService: APIService? {
        get { state.withLock(\.service) }
        set { state.take { Swift.exchange(&$0.service, with: newValue) } }
    }

    /// The loads that have begun and not ended, oldest first.
    public var activeRequests: [ActiveRequest] {
        state.withLock { $0.loads.values.map(\.summary) }.sorted { $0.id < $1.id }
    }
}
