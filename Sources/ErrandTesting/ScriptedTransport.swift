public import Errand
import Foundation

/// A transport without a network: scripts respond to the requests, and the requests are recorded.
///
/// In all other respects, it behaves like any transport. It refuses an invalid request, and removes header lines that transports
/// write themselves, such as `Host`. It reads files and streams of a request to their end before it calls the script. A response
/// to `HEAD` or with status 204 or 304 has no body. A 2xx response is written to the request's destination file. Header lines or
/// a body above the request's limits fail with `responseTooLarge`. Progress is reported once for each body, when the body is
/// complete, and for each element of a streamed response to a stream.
///
/// ```swift
/// let transport = ScriptedTransport()
/// transport.on(.get, "/orders") { _ in .json(#"{"errcode":200,"data":[]}"#) }
/// let proxy = APIProxy(service: service, transport: transport)
/// ```
public final class ScriptedTransport: HTTPTransport, HeadReporting {
    /// How many exchanges a proxy gives to the transport at a time.
    public let capacity: TransportCapacity
    /// A function that responds to a request, called on any thread.
    ///
    /// A `TransportError` that it throws fails the exchange unchanged, `CancellationError` fails it with `cancelled`,
    /// and any other error with `connectionLost`.
    public typealias Script = @Sendable (HTTPRequest) async throws -> HTTPResponse

    private struct Route {
        let method: HTTPMethod
        let path: [String]
        let script: Script

        func matches(_ method: HTTPMethod, _ segments: [String]) -> Bool {
            guard method == self.method, segments.count >= path.count, !path.isEmpty || segments.isEmpty else {
                return false
            }
            return zip(path.reversed(), segments.reversed()).allSatisfy { pattern, segment in
                pattern == segment || pattern == "*" || pattern.hasPrefix("{") && pattern.hasSuffix("}")
            }
        }
    }

    private struct State {
        var routes: [Route] = []
        var sent: [HTTPRequest] = []
    }

    private let clock: (any APIClock)?
    private let keepsRequests: Bool
    private let fallback: Script
    private let state = Lock(State())
    private let arrivals = WaitableCounter()

    /// Creates a transport without scripts.
    ///
    /// - Parameters:
    ///   - clock: Measures each request's `timeout` and `deadline`, after which the exchange fails with `timeout`; usually a
    ///     ``ManualClock``. No bytes are transferred until a script responds, so the whole run of a script counts as silence. The
    ///     clock's `sleep` must wait: if it returns at once, an exchange may fail with `timeout`. Without a clock, the default,
    ///     no exchange times out.
    ///   - capacity: How many exchanges a proxy gives to the transport at a time; `nil`, the default, is unlimited, so that only
    ///     the limits of the proxy apply. `TransportCapacity()` is that of the platform's transport.
    ///   - keepsRequests: Whether ``requests`` is recorded; `false` saves memory in a test with a million loads. A script that
    ///     ignores its cancel then delays the end of its exchange, unless there is a clock.
    ///   - fallback: Responds to the requests that no script matches; ``refuse`` by default.
    public init(
        clock: (any APIClock)? = nil,
        capacity: TransportCapacity? = nil,
        keepsRequests: Bool = true,
        fallback: @escaping Script = ScriptedTransport.refuse
    ) {
        self.clock = clock
        self.capacity = capacity ?? .unlimited
        self.keepsRequests = keepsRequests
        self.fallback = fallback
    }

    /// Adds a script, which takes precedence over the older ones.
    ///
    /// - Parameters:
    ///   - method: The method of the requests that the script responds to.
    ///   - path: The last segments of the URL's path, percent-encoded or not, without the path of the service's base URL;
    ///     `*` and a parameter, such as `{id}`, match any one segment, and `/` is the empty path alone. Host and query are
    ///     not compared, and must not be in it.
    ///   - script: Called for each matching request, on any thread; it may suspend.
    public func on(_ method: HTTPMethod, _ path: String, _ script: @escaping Script) {
        precondition(!path.contains("?"), "The path of a script has no query; the script can read that of the request")
        let isURL = path.prefixMatch(of: /[A-Za-z]+:\/\//) != nil
        precondition(!isURL, "The path of a script has no host; the script can read that of the request")
        let route = Route(method: method, path: Self.segments(of: path), script: script)
        state.withLock { $0.routes.insert(route, at: 0) }
    }

    /// Every request so far, in the order in which they were sent; empty without `keepsRequests`.
    public var requests: [HTTPRequest] { state.withLock(\.sent) }

    /// Waits until at least `count` requests have been sent in total.
    ///
    /// Returns at once when the calling task is cancelled.
    public func waitForRequests(_ count: Int = 1) async {
        await arrivals.reach(count)
    }

    /// Responds to a request by its script.
    ///
    /// - Throws: The script's error, `timeout`, `cancelled` or `responseTooLarge`; `invalidRequest` when the request is invalid
    ///   or a file to send is missing; `storage` when a file or stream cannot be read to its end, and when the file cannot be
    ///   written.
    public func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler? = nil
    ) async throws(TransportError) -> HTTPResponse {
        try request.validate()
        let request = request.asSent
        let deadlines = ScriptedDeadlines(request, clock)
        let script = script(for: request)
        if keepsRequests {
            // Without what belongs to the load, which may keep the proxy and this transport.
            var sent = request
            (sent.observer, sent.didReceiveHead) = (nil, nil)
            if case .stream = sent.destination { sent.destination = .memory }
            state.withLock { $0.sent.append(sent) }
        }
        return try await response(to: request, script, progress, deadlines).delivered(to: request, progress)
    }

    /// A script that fails every exchange with `invalidRequest` and names the request's method and path.
    public static let refuse: Script = { request in
        let path = request.url.path(percentEncoded: true)
        throw TransportError(.invalidRequest, "no script responds to \(request.method) \(path)")
    }

    /// The segments of a path, decoded one by one: an encoded slash is part of a segment.
    private static func segments(of path: String) -> [String] {
        path.split(separator: "/").map { $0.removingPercentEncoding ?? String($0) }
    }

    private func response(
        to request: HTTPRequest,
        _ script: @escaping Script,
        _ progress: TransferProgress.Handler?,
        _ deadlines: ScriptedDeadlines?
    ) async throws(TransportError) -> HTTPResponse {
        do {
            // In a task of its own, because a transport ends with the cancellation of its task, whatever a script does.
            if keepsRequests || clock != nil {
                return try await Self.race(deadlines) {
                    self.arrivals.add(1)
                    return try await Self.run(script, for: request, progress, deadlines)
                }
            }
            arrivals.add(1)
            let response = try await Self.run(script, for: request, progress, deadlines)
            try Task.checkCancellation()
            return response
        } catch {
            throw Self.failure(error)
        }
    }

    private func script(for request: HTTPRequest) -> Script {
        let routes = state.withLock(\.routes)
        guard !routes.isEmpty else { return fallback }
        let path = Self.segments(of: request.url.path(percentEncoded: true))
        return routes.first { $0.matches(request.method, path) }?.script ?? fallback
    }

    /// Returns the error of an exchange whose script has thrown `error`.
    static func failure(_ error: any Error) -> TransportError {
        if let error = error as? TransportError { return error }
        guard error is CancellationError else {
            return TransportError(.connectionLost, "its script threw \(type(of: error))", underlying: error)
        }
        return TransportError(.cancelled, "cancelled in its script")
    }
}
