/// One event of a load or a plain call, for an ``APIMonitor``.
///
/// The events of one ID are in this order:
///
/// | event | after | how often |
/// | --- | --- | --- |
/// | `began` | | once, the first event |
/// | `queued` | `began` | at most once, before `started`; only if the load has to wait for its first turn |
/// | `started` | `began` | at most once, before all events of exchanges but `joined` |
/// | `waiting` | `began` | before each wait outside the queue |
/// | `renewed` | `waiting` for the same | when the load continues with the new login or key |
/// | `tryingAgain` | a try | before each try but the first; then ``attempt`` is the number of the new try |
/// | `joined` | `began` | for each try that shares the exchange of another load |
/// | `missedCache` | `began` | at most once, also after `started` |
/// | `respondedFromCache` | `began` | for each stored response that is used, shown or confirmed |
/// | `requestMade` | `started` | once for each request on the wire, with a new number in ``exchange`` |
/// | `sent` | `requestMade` | at most once for each number |
/// | `headReceived` | `requestMade` | at most once for each number; may be without `sent`, which may then not follow |
/// | `redirected` | `requestMade` | ends a number; the next `requestMade` follows, unless the load ends |
/// | `responded`, `failed` | `requestMade` | ends a number |
/// | `decodedLeniently` | `responded`, or before or after `respondedFromCache` | once for each response of which a lenient decoder has converted something |
/// | `released` | `began` | at most once |
/// | `ended` | `began` | once, the last event |
///
/// A load that joins a running exchange receives only the events that follow, and so may have no `requestMade` for its number. A
/// load may end at any point; no event of an exchange that is still under way follows. With a custom transport, there are no
/// `sent` and `headReceived` events.
public final class APIEvent: Sendable {
    /// What has happened.
    public enum Kind: Sendable {
        /// The load has its ID.
        case began
        /// The load waits in the queue of the proxy.
        case queued
        /// The load has its turn.
        case started
        /// The load shares the exchange of another load with an identical request.
        case joined
        /// The request is complete: headers, cookies and body as they are sent.
        ///
        /// Once more for each redirect that is followed.
        case requestMade(HTTPRequest)
        /// The request has been sent.
        case sent
        /// Status and headers of the response have been received.
        case headReceived(status: Int, headers: HTTPHeaders)
        /// The response is a redirect that is followed; without its body, unless the transport is the app's own.
        case redirected(HTTPResponse)
        /// The exchange has its response, whatever its status, before response adapters change it.
        case responded(APIResponse)
        /// A stored response is used: nothing was sent, or the server has confirmed it; see ``APIResponse/source``.
        case respondedFromCache(APIResponse)
        /// A cache was asked, and had no response that could be used without the network.
        case missedCache(CacheMiss)
        /// The exchange has ended without a response.
        case failed(APIError)
        /// A ``ResponseDecoder/lenient`` decoder has converted values of the response, or left out elements of arrays.
        ///
        /// `converted` contains the number of converted values for each path, such as `data[].price`. `skipped` contains one
        /// reason for each omitted element, at most 100, such as `data.[3].price is no Int`. Neither contains values; the key of
        /// a dictionary is `*`.
        case decodedLeniently(converted: [String: Int], skipped: [String])
        /// The load has a new login or session key.
        case renewed(Renewal)
        /// The load waits before it is sent or sent again; `limit` is the longest wait, if known.
        case waiting(Reason, limit: Duration?)
        /// The load is sent again, after a relogin, a delay or a request of an adapter, or because its list was edited while it
        /// was loading.
        case tryingAgain
        /// The load has ended; the only event of this kind for its ID, and the last one.
        case ended(APIEnding)
        /// The request object was released while the load was active and its delegate existed.
        case released
    }

    /// The events that a monitor observes, or that a log shows; a greater level has those of the ones below it as well.
    public enum Level: Sendable, Comparable {
        /// ``Kind/ended(_:)`` of each load, and before it ``Kind/respondedFromCache(_:)`` if a stored response was used, which a
        /// log shows in the ending.
        case endings
        /// Also each request and its outcome: ``Kind/requestMade(_:)``, ``Kind/redirected(_:)``, ``Kind/responded(_:)`` and
        /// ``Kind/failed(_:)``.
        case exchanges
        /// Every event.
        case everything
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

    /// What all events of a load have in common.
    final class Common: Sendable {
        let id: RequestID
        let method: HTTPMethod
        /// Redacted.
        let path: String
        let began: Duration

        init(id: RequestID, method: HTTPMethod, path: String, began: Duration) {
            (self.id, self.method, self.path, self.began) = (id, method, URLRedaction.path(path), began)
        }
    }

    // A class, because each function between the load and its monitors copies an event.
    private let load: Common

    /// The ID of the load.
    public var id: RequestID { load.id }
    /// The method of the request.
    public var method: HTTPMethod { load.method }
    /// The path with `{name}` for its parameters; for a plain call the URL without user, password, query and fragment.
    public var path: String { load.path }
    /// The number of the attempt, from 1; 0 before the first one.
    public let attempt: Int
    /// The number of the request on the wire, unique in the process; `nil` for events outside an exchange.
    ///
    /// Each attempt and each followed redirect has its own number; loads that share an exchange have the same number.
    public let exchange: UInt64?
    /// When it happened.
    public var time: ContinuousClock.Instant { SystemClock.instant(of: uptime) }
    /// By ``SystemClock``.
    package let uptime: Duration
    /// From ``Kind/queued`` to ``Kind/started``, 0 without the first one; `nil` before the load has its first turn.
    package let queue: Duration?
    /// The time since the load began.
    package var elapsed: Duration { uptime - load.began }
    /// What has happened.
    public let kind: Kind
    /// The last response of an ended load, with the code and message read from it; `nil` for other events.
    public let response: APIResponse?

    /// Creates an event, for example in a test of a monitor.
    ///
    /// - Parameters:
    ///   - kind: What has happened.
    ///   - id: The ID of the load.
    ///   - method: The method of the request.
    ///   - path: The path; parts that may be secret are redacted.
    ///   - attempt: The number of the try.
    ///   - exchange: The number of the request on the wire.
    ///   - time: When it happened.
    ///   - elapsed: The time since the load began.
    ///   - response: The last response of a load that has ended.
    public convenience init(
        _ kind: Kind,
        id: RequestID,
        method: HTTPMethod = .get,
        path: String = "/",
        attempt: Int = 0,
        exchange: UInt64? = nil,
        time: ContinuousClock.Instant = .now,
        elapsed: Duration = .zero,
        response: APIResponse? = nil
    ) {
        let uptime = SystemClock.uptime(at: time)
        let load = Common(id: id, method: method, path: path, began: uptime - elapsed)
        self.init(kind, of: load, attempt: attempt, exchange: exchange, uptime: uptime, response: response)
    }

    init(
        _ kind: Kind,
        of load: Common,
        attempt: Int,
        exchange: UInt64?,
        uptime: Duration,
        queue: Duration? = nil,
        response: APIResponse? = nil
    ) {
        (self.kind, self.load, self.attempt) = (kind, load, attempt)
        (self.exchange, self.uptime, self.queue, self.response) = (exchange, uptime, queue, response)
    }
}

extension APIEvent: RedactedDescription {
    /// The load, the try and what has happened, without headers, bodies and queries.
    public var description: String {
        let exchange = exchange.map { ", exchange \($0)" } ?? ""
        return "\(method) \(path) (load \(id), try \(attempt)\(exchange)): \(kind)"
    }
}

extension APIEvent.Kind {
    /// The first level that has events of this kind.
    var level: APIEvent.Level {
        switch self {
        case .ended, .respondedFromCache: .endings
        case .requestMade, .redirected, .responded, .failed: .exchanges
        default: .everything
        }
    }
}

extension APIEvent.Kind: RedactedDescription {
    /// What has happened, without headers, bodies and queries.
    public var description: String {
        switch self {
        case .began: "began"
        case .queued: "queued"
        case .started: "started"
        case .joined: "joined"
        case .requestMade: "request made"
        case .sent: "sent"
        case .headReceived(let status, _): "head received, HTTP \(status)"
        case .redirected(let response): "redirected, HTTP \(response.status)"
        case .responded(let response): "responded, \(response)"
        case .respondedFromCache(let response): "responded from the cache, \(response)"
        case .missedCache(let reason): "missed the cache, \(reason.rawValue)"
        case .failed(let error): "failed, \(error.type)"
        case .decodedLeniently(let converted, let skipped):
            "decoded leniently, \(converted.values.reduce(0, +)) values converted, \(skipped.count) elements skipped"
        case .renewed(let renewal): "\(renewal) renewed"
        case .waiting(let reason, let limit): "waiting, \(reason)" + (limit.map { ", at most \($0)" } ?? "")
        case .tryingAgain: "trying again"
        case .ended(.success): "ended, success"
        case .ended(.failure(let error)): "ended, \(error.type.rawValue)"
        case .ended(.cancelled): "ended, cancelled"
        case .released: "released"
        }
    }
}
