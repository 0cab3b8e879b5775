public import Errand

extension Reachability {
    /// Returns the network of a proxy in a test, whose status is `status` until ``change(to:)``.
    public static func scripted(_ status: ReachabilityStatus) -> Reachability { Reachability(status: status) }

    /// Reports another status to those that observe this network, such as loads that wait for it.
    ///
    /// May be called on any thread.
    ///
    /// - Precondition: The object was made by ``scripted(_:)``; the network of the system changes by itself.
    public func change(to status: ReachabilityStatus) {
        precondition(self !== Self.system, "only a network of Reachability.scripted(_:) can be changed")
        report(status)
    }
}
