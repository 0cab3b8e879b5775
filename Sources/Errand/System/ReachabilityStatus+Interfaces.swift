#if os(Linux)
extension ReachabilityStatus {
    /// The status that the interfaces of this machine amount to now.
    static var current: ReachabilityStatus { NetworkInterface.all().map { ReachabilityStatus(of: $0) } ?? .unknown }

    /// What a list of interfaces amounts to.
    ///
    /// In doubt it is not `unreachable`, the status that somebody may wait for the end of. Routes do not count: a server in
    /// the same network needs no default route.
    init(of interfaces: [NetworkInterface]) {
        let others = interfaces.filter { !$0.isLoopback && !$0.isPlaceholder }
        let scopes = others.filter(\.isRunning).map { AddressScope($0.address) }
        if scopes.contains(.network) {
            self = .reachable
        } else if scopes.contains(.selfAssigned) || others.isEmpty {
            self = .unknown
        } else {
            self = .unreachable
        }
    }
}
#endif
