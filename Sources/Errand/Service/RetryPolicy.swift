import Foundation

/// Rules for sending a failed load again, and for the delay before each retry.
///
/// A load is sent again only if the server may receive it several times. That is the case if the method is idempotent (RFC 9110
/// section 9.2.2), if the load has an ``APIRequestOptions/idempotencyKey``, or if the server asks for another attempt: with
/// status 429 or 503 and `Retry-After`, not after a redirect (``retryAfterAppliesToAllMethods``).
///
/// A cancellation is never retried. A timeout and the errors `security`, `decoding`, `invalidRequest`, `invalidResponse`,
/// `loginExpired`, `responseTooLarge`, `server` and `storage` are retried only if ``decide`` returns true, and so is `transport`,
/// unless there was no connection or it was lost.
public struct RetryPolicy: Sendable {
    /// The maximum number of retries of a load; 2 by default.
    ///
    /// A download with ``APIRequestOptions/resumesDownload`` counts anew when it has received at least 64 KiB since its last retry.
    public var maxRetries: Int
    /// The statuses after which a load is sent again; 408, 429, 500, 502, 503 and 504 by default.
    ///
    /// On Linux, this also applies to the status with which a proxy server refuses a tunnel (`CONNECT`): after 407, for example,
    /// a load is not sent again.
    public var statuses: Set<Int> = [408, 429, 500, 502, 503, 504]
    /// The longest delay before the first retry; 200 ms by default.
    ///
    /// The longest delay doubles with each further retry, up to ``maxDelay``. The actual delay is a random value between 0 and
    /// the longest delay ("full jitter"), so that clients that failed together do not retry together.
    public var baseDelay: Duration = .milliseconds(200)
    /// The upper limit of the longest delay before a retry; 10 s by default.
    public var maxDelay: Duration = .seconds(10)
    /// The longest delay that a server may request with `Retry-After` (RFC 9110 section 10.2.3); 60 s by default.
    ///
    /// A load whose server requests a longer delay fails at once, with the response, unless ``decide`` returns true: then it waits
    /// for this time. A load whose deadline would pass before the end of the delay fails at once as well, unless it has
    /// ``CachePolicy/fallback``. After status 429 (RFC 6585 section 4), all requests of the service to the host that are in the
    /// queue wait there, in order, for the delay, but at most for this time, and can be cancelled as usual; not those whose turn
    /// has come, whose headers or adapters take longer. Requests of a relogin do not wait. A logout ends the wait.
    public var maxRetryAfter: Duration = .seconds(60)
    /// Decides whether a load is sent again after an error; `nil` by default.
    ///
    /// Return `true` to send the load again with the delay of this policy, whatever its method and status; `false` to fail it;
    /// `nil` to leave the decision to ``statuses`` and the other rules of this policy. ``maxRetries`` and ``budget`` still apply.
    ///
    /// Called on any thread with the number of the retry, starting at 1, after ``Adapters/failure``, for each failure for which
    /// ``maxRetries`` allows a retry. The ``APIError/message`` is the final text: the server's, or that of
    /// ``APIService/errorMessages``. Not called for a cancellation, nor for a login whose renewal has failed. The load has no
    /// place in the queue during the call.
    public var decide: (@Sendable (_ error: APIError, _ retry: Int) async -> Bool?)?
    /// Whether a load of any method, also `POST`, is sent again after 429 or 503 with `Retry-After`; true by default.
    ///
    /// Relies on the server not having executed a request for which it asks for another attempt (RFC 6585 section 4, RFC 9110
    /// section 15.6.4). Neither RFC guarantees that. Set this to false if the backend may have executed the request, for instance
    /// because a gateway sends such responses in its place.
    public var retryAfterAppliesToAllMethods = true
    /// The maximum ratio of retries to requests of the service in the last minute; 0.1 by default.
    ///
    /// Ten retries in a minute are always allowed, and those that a server asks for, with 429 or 503 and `Retry-After`. A load that
    /// may not be sent again because of this limit says so in ``APIError/reason``.
    ///
    /// This limit keeps retries from adding much traffic to a backend that is down. The minute is counted as the current half
    /// minute and the one before it.
    public var budget = 0.1
    /// The number of retries in a minute that are allowed whatever the ``budget``; 10 by default.
    package var minRetriesPerMinute = 10
    /// Whether a load that fails because there is no network waits for a network and is then sent again; false by default.
    ///
    /// The load waits only while ``APIProxy/reachability`` reports that there is no network. Because nothing was sent, this
    /// applies to any method, and the new attempt does not count as a retry.
    public var waitsForConnectivity = false
    /// The longest wait for a network, after which the load fails with `noNetwork`; 60 s by default.
    public var connectivityTimeout: Duration = .seconds(60)

    /// Creates the default policy, with another maximum of retries if given.
    public init(maxRetries: Int = 2) { self.maxRetries = maxRetries }

    /// A policy that never sends a load again; what a transport may repeat is in ``HTTPTransport``.
    public static let never = RetryPolicy(maxRetries: 0)
}

extension RetryPolicy {
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
        let longest = Self.longestDelay(before: retry, from: baseDelay, to: maxDelay)
        return .seconds(longest * Double.random(in: 0...1))
    }

    /// In seconds, because multiplying a long `Duration` can overflow.
    static func longestDelay(before retry: Int, from base: Duration, to limit: Duration) -> Double {
        min(base / .seconds(1) * Double(1 << min(max(retry, 0), 30)), limit / .seconds(1))
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
    /// The delay that the server asks for (RFC 9110 section 10.2.3), at most about 68 years.
    func retryAfter(at date: Date) -> Duration? {
        let limit = Duration.seconds(Int32.max)
        guard let text = self["Retry-After"]?.trimmingCharacters(in: .whitespaces), !text.isEmpty else { return nil }
        if text.utf8.allSatisfy(\.isASCIIDigit) {
            // A number that does not fit is above the limit as well.
            return Int32(text).map { .seconds($0) } ?? limit
        }
        guard let moment = CookieDate.parse(text.utf8) else { return nil }
        // By the server's clock, if it is known (RFC 9111 section 4.2.3).
        let age = TimeInterval(CacheControl.seconds(self["Age"]) ?? 0)
        let now = self["Date"].flatMap(HTTPDate.parse)?.addingTimeInterval(age) ?? date
        let seconds = moment.timeIntervalSince(now)
        return .seconds(Swift.min(Swift.max(seconds, 0), limit / .seconds(1)))
    }
}

/// Counts requests and retries of the last minute, so that the retries of all loads together stay few.
final class RetryBudget: Sendable {
    /// Two halves of a minute, of which the older is dropped as a whole.
    private struct State {
        var half: Int64 = 0
        var current = (requests: 0, retries: 0)
        var previous = (requests: 0, retries: 0)

        mutating func move(to uptime: Duration) {
            let half = uptime.components.seconds / 30
            guard half != self.half else { return }
            previous = half == self.half + 1 ? current : (0, 0)
            (current, self.half) = ((0, 0), half)
        }
    }

    private let state = Lock(State())

    func countRequest(at uptime: Duration) {
        state.withLock { state in
            state.move(to: uptime)
            state.current.requests += 1
        }
    }

    func takeRetry(of policy: RetryPolicy, at uptime: Duration) -> Bool {
        state.withLock { state in
            state.move(to: uptime)
            let requests = state.current.requests + state.previous.requests
            let retries = state.current.retries + state.previous.retries
            let allowed = max(Double(policy.minRetriesPerMinute), Double(requests) * policy.budget)
            guard Double(retries) < allowed else { return false }
            state.current.retries += 1
            return true
        }
    }
}
