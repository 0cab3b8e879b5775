/// The settings with which ``APIProxy/shared`` is created; see ``APIProxy/configureShared(with:)``.
public struct APIProxyConfiguration: Sendable {
    /// The settings for connections; by default, those of a new ``TransportConfiguration``.
    public var transport = TransportConfiguration()
    /// A transport that replaces the ``SystemTransport`` with ``transport``, such as a transport of the app, or a scripted one in
    /// previews and user interface tests; `nil` by default.
    public var customTransport: (any HTTPTransport)?
    /// How many requests may be on the wire at a time, 64 for each host and 256 in all by default; the capacity of the transport
    /// applies as well.
    public var queueLimits = QueueLimits()
    /// The time of deadlines, back-off, cookies and stored responses; the machine's by default.
    public var clock: any APIClock = SystemClock()
    /// The observers of loads, as described at ``APIProxy/monitors``; none by default.
    public var monitors: [any APIMonitor] = []
    /// Stores responses, as ``APIRequestOptions/cachePolicy`` describes; none by default.
    public var cache: APICache?

    /// Creates the default configuration.
    public init() {}
}

extension APIProxyConfiguration: CustomReflectable {
    /// A mirror without clock, monitors and a custom transport, which are objects of the app.
    public var customMirror: Mirror { Mirror(self, children: ["transport": transport, "queueLimits": queueLimits]) }
}

extension APIProxy {
    static let sharedConfiguration = SharedProxyConfiguration()
}

/// Decides between the first use of the shared proxy and its configuration.
final class SharedProxyConfiguration: Sendable {
    private struct State {
        /// Has the transport; taken by the first use.
        var configuration: APIProxyConfiguration?
        /// Why it can no longer be configured.
        var obstacle: APIProxyConfigurationError?
    }

    private let state = Lock(State())

    func configure(with configuration: APIProxyConfiguration) throws(APIProxyConfigurationError) {
        // Checked before the transport is created, which reads files.
        if let error = state.withLock(\.obstacle) { throw error }
        var configuration = configuration
        do throws(TransportError) {
            if configuration.customTransport == nil {
                configuration.customTransport = try SystemTransport(configuration.transport)
            }
        } catch {
            throw .transport(error)
        }
        try state.withLock { [configuration] state throws(APIProxyConfigurationError) in
            if let obstacle = state.obstacle { throw obstacle }
            (state.configuration, state.obstacle) = (configuration, .alreadyConfigured)
        }
    }

    /// Ends the time in which the proxy can be configured.
    func use() -> APIProxyConfiguration? {
        state.withLock { state in
            state.obstacle = state.obstacle ?? .alreadyInUse
            return exchange(&state.configuration, with: nil)
        }
    }

    func makeProxy() -> APIProxy {
        let configuration = use() ?? APIProxyConfiguration()
        return APIProxy(
            transport: configuration.customTransport,
            cookies: CookieJar(file: CookieJar.defaultFile()),
            queueLimits: configuration.queueLimits,
            clock: configuration.clock,
            monitors: configuration.monitors,
            cache: configuration.cache
        )
    }
}

/// The reason why ``APIProxy/shared`` was not configured; the failed call changes nothing.
public enum APIProxyConfigurationError: Error, Sendable {
    /// The shared proxy has been used: it already has its transport, and requests may be under way.
    case alreadyInUse
    /// The shared proxy has already been configured.
    case alreadyConfigured
    /// The transport refuses its configuration, or cannot be created now.
    case transport(TransportError)
}

extension APIProxyConfigurationError: CustomStringConvertible {
    /// What to change.
    public var description: String {
        switch self {
        case .alreadyInUse: "APIProxy.shared is in use: configure it when the app starts, before its first use"
        case .alreadyConfigured: "APIProxy.shared has been configured before: configure it once"
        case .transport(let error): "the transport of APIProxy.shared cannot be made: \(error)"
        }
    }
}
