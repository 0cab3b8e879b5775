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
