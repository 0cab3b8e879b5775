/// What connects this machine to the network.
public enum NetworkKind: Sendable {
    /// A cable.
    case wired
    /// Wi-Fi.
    case wireless
    /// The network of a mobile operator, which may be expensive.
    case cellular
    /// Another kind, such as a VPN or a container's bridge, or one that the system does not report.
    case other
}
