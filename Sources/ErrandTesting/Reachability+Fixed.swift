public import Errand

extension Reachability {
    /// Returns a state of the network that does not change, for a proxy whose ``APIProxy/reachability`` a test decides.
    public static func fixed(_ status: ReachabilityStatus) -> Reachability { Reachability(status: status) }
}
