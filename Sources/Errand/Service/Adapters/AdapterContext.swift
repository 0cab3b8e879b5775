import Foundation

/// Information about the attempt of a load for which an adapter is called.
public struct AdapterContext: Sendable {
    /// The ID of the load.
    public let id: RequestID
    /// The method of the request.
    public let method: HTTPMethod
    /// The path of the request, with `{name}` for its parameters and without a query, as in ``APIError/path``.
    public let path: String
    /// The number of the attempt within its load, starting at 1.
    ///
    /// Attempts after a relogin and retries count, sent or not.
    public internal(set) var attempt: Int
    /// The environment of the service in which the load has begun.
    public let environment: APIEnvironment
    /// The clock of the proxy.
    public let clock: any APIClock
    /// Before the first adapter; by ``SystemClock``, because tests may stop the proxy's clock.
    package let startedAt: Duration
    /// The same instant by the proxy's clock.
    package let begunAt: (date: Date, uptime: Duration)
    var trace: LoadTrace?
    /// Whether the elements of the response are delivered while it is received, without adapters.
    package var isOfStream = false
    /// Whether the URL is one of the server, which may have made it from that of an earlier request.
    package var isOfLink = false
    /// Whether the request is only compared with stored responses, and never sent; whether the response is a stored one.
    package internal(set) var isOfLookup = false
    /// Why the load has been sent again.
    var sentAgain: AdapterRetry.Cause = []

    /// The request of this attempt, after all request adapters; `nil` in parameter and request adapters, for a stored response of
    /// an app's rule, and for a failure from before the request was complete.
    public internal(set) var request: HTTPRequest?
    /// For adapters of parameters and requests that sign them.
    package internal(set) var sentParams: SentParams?
}

/// The owner of a request adapter that may need the network, and does without it for a lookup.
package protocol LookupAdapter: Sendable {}

extension AdapterContext {
    package func maySendAgain(for cause: AdapterRetry.Cause) -> Bool { !sentAgain.contains(cause) }

    package func willWait(for reason: APIEvent.Reason, limit: Duration?) {
        trace?.willWait(for: reason, limit: limit)
    }

    package func didRenew(_ renewal: APIEvent.Renewal) { trace?.emit(.renewed(renewal)) }
}
