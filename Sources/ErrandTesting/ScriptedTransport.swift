public import Errand
import Foundation
import Synchronization

/// A network that is a list of functions; it keeps what it was asked to send.
///
/// Apart from that it does what any transport does: a 2xx answer goes to the file that the request names, a body above the
/// request's limit fails with `responseTooLarge`, and progress is reported once for each body, when it has moved.
///
/// ```swift
/// let transport = ScriptedTransport()
/// transport.on(.get, "/orders") { _ in .json(#"{"errcode":200,"data":[]}"#) }
/// let proxy = APIProxy(service: service, transport: transport)
/// ```
public final class ScriptedTransport: HTTPTransport {
    /// Unlimited: a proxy's limits alone count.
    public let capacity = TransportCapacity.unlimited
    /// What answers a request; any error it throws fails the exchange.
    public typealias Script = @Sendable (HTTPRequest) async throws -> HTTPResponse

    private struct Route {
        let method: HTTPMethod
        let path: [Substring]
        let script: Script

        func matches(_ method: HTTPMethod, _ segments: [Substring]) -> Bool {
            guard method == self.method, segments.count >= path.count else { return false }
            return zip(path.reversed(), segments.reversed()).allSatisfy { $0 == "*" || $0 == $1 }
        }
    }

    private struct State {
        var routes: [Route] = []
        var sent: [HTTPRequest] = []
    }

    private let clock: (any APIClock)?
    private let keepsRequests: Bool
    private let fallback: Script
    private let state = Mutex(State())
    private let arrivals = Tally()

    /// Creates a network.
    ///
    /// - Parameters:
    ///   - clock: Ends an exchange with `timeout` when the request's time has passed on it; usually a ``ManualClock``.
    ///     Without one, no exchange ever times out.
    ///   - keepsRequests: Whether ``requests`` is kept; a test with a million loads can do without.
    ///   - fallback: Answers what no script is for; by default such an exchange fails, and says so.
    public init(
        clock: (any APIClock)? = nil,
        keepsRequests: Bool = true,
        fallback: @escaping Script = ScriptedTransport.refuse
    ) {
        self.clock = clock
        self.keepsRequests = keepsRequests
        self.fallback = fallback
    }

    /// Answers requests from now on; a newer script goes before an older one for the same.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The end of the URL's path, whole segments; `*` stands for any one of them.
    ///   - script: Called for each such request, on any thread; it may wait.
    public func on(_ method: HTTPMethod, _ path: String, _ script: @escaping Script) {
        let route = Route(method: method, path: path.split(separator: "/"), script: script)
        state.withLock { $0.routes.insert(route, at: 0) }
    }

    /// Everything that was sent, in its order.
    public var requests: [HTTPRequest] { state.withLock(\.sent) }

    /// Waits until at least `count` requests have been sent in all.
    public func waitForRequests(_ count: Int = 1) async {
        await arrivals.reach(count)
    }

    /// Answers as scripted.
    public func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler? = nil
    ) async throws(TransportError) -> HTTPResponse {
        let script = script(for: request)
        if keepsRequests { state.withLock { $0.sent.append(request) } }
        arrivals.add(1)
        if let progress { Self.reportUpload(of: request.body, to: progress) }
        return try await answer(to: request, script).delivered(to: request, progress)
    }

    /// Fails an exchange that nobody has scripted.
    public static let refuse: Script = { request in
        throw TransportError(.invalidRequest, "no script answers \(request.method) \(request.url.path)")
    }

    private func answer(
        to request: HTTPRequest,
        _ script: @escaping Script
    ) async throws(TransportError) -> HTTPResponse {
        guard let clock, let timeout = request.timeout else { return try await Self.run(script, request) }
        return try await Self.race(
            { () async throws(TransportError) in try await Self.run(script, request) },
            timeout,
            clock
        )
    }

    private func script(for request: HTTPRequest) -> Script {
        let routes = state.withLock(\.routes)
        guard !routes.isEmpty else { return fallback }
        let path = request.url.path.split(separator: "/")
        return routes.first { $0.matches(request.method, path) }?.script ?? fallback
    }

    private static func run(_ script: Script, _ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        do {
            return try await script(request)
        } catch let error as TransportError {
            throw error
        } catch is CancellationError {
            throw TransportError(.cancelled, "cancelled in its script")
        } catch {
            throw TransportError(.connectionLost, "its script threw \(type(of: error))", underlying: error)
        }
    }
}
