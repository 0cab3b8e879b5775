/// What the system knows of the way to the network.
///
/// It is a hint, never a verdict: only a request shows whether a server answers.
public enum ReachabilityStatus: Sendable {
    /// Nothing is known: loopback is all there is, or the system does not tell.
    case unknown
    /// There is an interface with an address that others can answer to; a VPN or a container's bridge counts.
    case reachable
    /// There are interfaces besides loopback, and none is connected and has an address.
    case unreachable
}
