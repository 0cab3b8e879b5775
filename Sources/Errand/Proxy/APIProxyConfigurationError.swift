/// Why ``APIProxy/shared`` was not configured; it is as it was before the call.
public enum APIProxyConfigurationError: Error, Sendable {
    /// It has been used: it has its transport, and requests may be under way.
    case alreadyInUse
    /// It has been configured before.
    case alreadyConfigured
    /// The transport refuses its configuration, or cannot be made now.
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
