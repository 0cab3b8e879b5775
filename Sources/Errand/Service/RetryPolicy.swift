import Foundation

/// When a load that failed is sent again, and how long it waits before that.
///
/// A load is sent again only if the server may receive it several times: its method is idempotent (RFC 9110 section 9.2.2),
/// it has a ``APIRequestOptions/idempotencyKey``, or the response is 429 or 503 with `Retry-After` and without a redirect before
/// it, with which a server asks for another attempt after that time (``retryAfterAppliesToAllMethods``). Failures that a
/// retry cannot fix are not retried: a cancellation, a timeout, and the errors `security`, `decoding`, `invalidRequest`,
/// `loginExpired`, `responseTooLarge`, `server` and `storage`, unless ``decide`` has them retried.
public struct RetryPolicy: Sendable {
    /// How often a load may be sent again; 2 by default.
    public var maxRetries = 2
    /// The statuses after which a load is sent again; 408, 429, 500, 502, 503 and 504 by default.
    ///
    /// Also those with which a proxy server refuses a tunnel (`CONNECT`) on Linux: after 407, for example, it is not sent again.
    public var statuses: Set<Int> = [408, 429, 500, 502, 503, 504]
    /// How long the first wait may be; 200 ms by default.
    ///
    /// Each further wait may be twice as long. Each wait is a random value from 0 to that length ("full jitter"), so that
    /// clients that failed together do not retry together.
    public var baseDelay: Duration = .milliseconds(200)
    /// How long any of these waits may be; 10 s by default.
    public var maxDelay: Duration = .seconds(10)
    /// How long a server may make a load wait with `Retry-After` (RFC 9110 section 10.2.3); 60 s by default.
    ///
    /// A longer delay is reduced to this. With status 429 (RFC 6585 section 4), all requests of the service to the host wait as
    /// long, those that have not been sent included: they stay in the queue, in its order, and can be cancelled like any other.
    /// Requests of a relogin do not wait.
    public var maxRetryAfter: Duration = .seconds(60)
    /// Decides whether a load is sent again after an error; `nil`, the default, decides nothing.
    ///
    /// `true` sends it again, whatever its method and its status, after the delays of this policy; `false` does not; `nil` leaves
    /// the decision to ``statuses`` and to the rules above. Called with the number of the retry, from 1, for each failure after
    /// which ``maxRetries`` leaves one, after ``Adapters/failure`` and on any thread; ``budget`` limits what it decides. Not called
    /// for a cancellation, nor for a login that cannot be renewed. The load has no place in the queue meanwhile.
    public var decide: (@Sendable (_ error: APIError, _ retry: Int) async -> Bool?)?
    /// Whether a load of any method, also `POST`, is sent again after 429 or 503 with `Retry-After`; true by default.
    ///
    /// Assumes that a server which asks for another attempt has not executed this one (RFC 6585 section 4, RFC 9110 section
    /// 15.6.4). Neither RFC guarantees that: set this to false for a backend that may have, for instance behind a gateway that
    /// responds in its place.
    public var retryAfterAppliesToAllMethods = true
    /// How many retries there may be for each request of the service in the last minute; 0.1 by default.
    ///
    /// So retries add little to the load of a backend that is down. Counted in halves of a minute: the current one and the one
    /// before.
    public var budget = 0.1
    /// How many retries in a minute are allowed independently of ``budget``; 10 by default.
    public var minRetriesPerMinute = 10
    /// Whether a load that finds no network waits for one before it is sent again; false by default.
    ///
    /// It waits only while ``APIProxy/reachability`` reports none. Nothing was sent then, so any method may wait,
    /// and it is not counted as a retry.
    public var waitsForConnectivity = false
    /// How long each wait for a network may be before the load fails with `noNetwork`; 60 s by default.
    public var connectivityTimeout: Duration = .seconds(60)

    /// Creates the default policy.
    public init() {}

    /// Sends no load again.
    public static let never: RetryPolicy = {
        var policy = RetryPolicy()
        policy.maxRetries = 0
        return policy
    }()
}

extension RetryPolicy {
    var pausesHost: Bool { maxRetries > 0 && statuses.contains(429) }

    func isRetryable(_ error: APIError) -> Bool {
        switch error.type {
        case .http: error.status.map(statuses.contains) == true
        case .transport, .noNetwork: (error.underlying as? TransportError).map(isTransient) == true
        default: false
        }
    }

    /// Whether the connection failed, and not the request or the response; a proxy server's refusal is one of its status.
    private func isTransient(_ error: TransportError) -> Bool {
        guard [.cannotConnect, .connectionLost, .noNetwork, .hostNotFound].contains(error.kind) else { return false }
        return error.proxyStatus.map(statuses.contains) ?? true
    }

    /// `retry` counts from 0; `Retry-After` is considered later.
    func delay(before retry: Int) -> Duration {
        // In seconds, because multiplying a long `Duration` can overflow.
        let longest = min(baseDelay / .seconds(1) * Double(1 << min(max(retry, 0), 30)), maxDelay / .seconds(1))
        return .seconds(longest * Double.random(in: 0...1))
    }
}

extension APIError {
    /// Whether `Retry-After` asks for another attempt in the place of this one (RFC 6585 section 4, RFC 9110 section 15.6.4).
    ///
    /// Not after a redirect, before which the request may have been executed.
    var isOfPostponedRequest: Bool {
        guard let response, response.redirects.isEmpty else { return false }
        return response.status == 429 || response.status == 503
    }
}

extension HTTPHeaders {
    /// The delay that the server asks for (RFC 9110 section 10.2.3).
    func retryAfter(at date: Date, limit: Duration) -> Duration? {
        guard let text = self["Retry-After"]?.trimmingCharacters(in: .whitespaces), !text.isEmpty else { return nil }
        if text.utf8.allSatisfy(\.isASCIIDigit) {
            // A number that does not fit is above the limit as well.
            return Swift.min(Int32(text).map { .seconds($0) } ?? limit, limit)
        }
        guard let moment = CookieDate.parse(text.utf8) else { return nil }
        let seconds = moment.timeIntervalSince(date)
        return Swift.min(.seconds(Swift.min(Swift.max(seconds, 0), 1e9)), limit)
    }
}

/// Counts requests and retries of the last minute, so that the retries of all loads together stay few.
final class RetryBudget: Sendable {
    private struct Count {
        var requests = 0
        var retries = 0
    }

    /// Two halves of a minute, of which the older is dropped as a whole.
    private struct State {
        var half: Int64 = 0
        var current = Count()
        var previous = Count()

        mutating func move(to half: Int64) {
            guard half != self.half else { return }
            previous = half == self.half + 1 ? current : Count()
            current = Count()
            self.half = half
        }
    }

    private let state = Lock(State())

    func countRequest(at uptime: Duration) {
        state.withLock { state in
            state.move(to: uptime.components.seconds / 30)
            state.current.requests += 1
        }
    }

    func takeRetry(of policy: RetryPolicy, at uptime: Duration) -> Bool {
        state.withLock { state in
            state.move(to: uptime.components.seconds / 30)
            let requests = state.current.requests + state.previous.requests
            let retries = state.current.retries + state.previous.retries
            let allowed = max(Double(policy.minRetriesPerMinute), Double(requests) * policy.budget)
            guard Double(retries) < allowed else { return false }
            state.current.retries += 1
            return true
        }
    }
}
