/// One event of a load or a plain call, for an ``APIMonitor``.
///
/// The events of one ID are in a legal order: `began` is the first one and `ended` the last, except for ``Kind/released``.
public struct APIEvent: Sendable {
    /// What has happened.
    public enum Kind: Sendable {
        /// The load has its ID.
        case began
        /// The load waits in the queue of the proxy.
        case queued
        /// The load has its turn.
        case started
        /// The load shares the exchange of another one with an identical request.
        case joined
        /// The request is complete: headers, cookies and body as they are sent. Once for each redirect that is followed.
        case requestMade(HTTPRequest)
        /// The request has been sent.
        case sent
        /// Status and headers of the answer have been received.
        case headReceived(status: Int, headers: HTTPHeaders)
        /// The answer is a redirect that is followed.
        case redirected(HTTPResponse)
        /// The exchange has its answer, whatever its status.
        case answered(APIResponse)
        /// The answer was stored, and nothing was sent.
        case answeredFromCache(APIResponse)
        /// The exchange has ended without an answer.
        case failed(APIError)
        /// The load has a new login or session key.
        case renewed(Renewal)
        /// The load waits before it is sent, or sent again; for at most this long, if that is known.
        case waiting(Reason, limit: Duration?)
        /// The load is sent again.
        case tryingAgain
        /// The load has ended; the only event of this kind for its ID, and the last one.
        case ended(APIEnding)
        /// The request object was released while the load was active and its delegate still exists; debug builds only.
        case released
    }

    /// What was renewed.
    public enum Renewal: Sendable, Equatable {
        /// The login, by ``ReloginHandler``.
        case login
        /// The session key of sealed traffic.
        case key
    }

    /// Why a load waits.
    public enum Reason: Sendable, Equatable {
        /// A relogin runs.
        case login
        /// A session key is exchanged.
        case key
        /// The retry policy delays the next try.
        case retry
        /// An adapter has asked for another try.
        case adapter
        /// There is no network.
        case network
    }

    /// The ID of the load.
    public let id: RequestID
    /// The method of the request.
    public let method: HTTPMethod
    /// The path with `{name}` for its parameters; for a plain call the URL without user, password, query and fragment.
    public let path: String
    /// The number of the try, 1 for the first one; 0 before it.
    public let attempt: Int
    /// The number of the exchange, which all loads that share it have; `nil` for events outside an exchange.
    public let exchange: UInt64?
    /// When it happened.
    public let time: ContinuousClock.Instant
    /// What has happened.
    public let kind: Kind

    /// Creates an event, for example in a test of a monitor.
    public init(
        _ kind: Kind,
        id: RequestID,
        method: HTTPMethod = .get,
        path: String = "/",
        attempt: Int = 0,
        exchange: UInt64? = nil,
        time: ContinuousClock.Instant = .now
    ) {
        self.kind = kind
        self.id = id
        self.method = method
        self.path = URLRedaction.path(path)
        self.attempt = attempt
        self.exchange = exchange
        self.time = time
    }
}
