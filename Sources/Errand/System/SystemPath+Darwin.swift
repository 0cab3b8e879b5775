// Untested: everything is built and run on Linux.
#if canImport(Darwin)
import Dispatch
import Network

/// What the system tells of the way to the network.
enum SystemPath {
    // The monitor may be used on any thread, which not every SDK says.
    private struct Monitor: @unchecked Sendable {
        let monitor = NWPathMonitor()
    }

    /// Watches the default path; the first status comes a moment later.
    static func watch(_ report: @escaping Reachability.Report) -> Reachability.Stop? {
        let path = Monitor()
        path.monitor.pathUpdateHandler = { report(ReachabilityStatus($0.status)) }
        path.monitor.start(queue: DispatchQueue(label: "errand.reachability"))
        return { path.monitor.cancel() }
    }
}

extension ReachabilityStatus {
    fileprivate init(_ status: NWPath.Status) {
        switch status {
        case .satisfied: self = .reachable
        case .unsatisfied: self = .unreachable
        // An attempt may bring the path up.
        case .requiresConnection: self = .unknown
        @unknown default: self = .unknown
        }
    }
}
#endif
