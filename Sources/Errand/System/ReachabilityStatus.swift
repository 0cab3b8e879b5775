/// Whether the network is reachable, as far as the system knows.
///
/// It is a hint: only a request shows whether a server responds.
public enum ReachabilityStatus: Sendable, Hashable {
    /// Nothing is known: there is only a loopback interface, or the system does not report the status.
    case unknown
    /// There is an interface with an address that other hosts can reach, including those of a VPN or a container's bridge.
    ///
    /// The kind is that of the interface with the default route, which a VPN may leave as it was.
    case reachable(NetworkKind)
    /// There are interfaces other than loopback, but none is connected and has an address.
    case unreachable
}
