#if canImport(Darwin)
import Dispatch
import Network

/// Monitors whether the network is reachable.
///
/// Untested.
enum NetworkPathMonitor {
    // The monitor may be used on any thread, which not every SDK declares.
    private struct Monitor: @unchecked Sendable {
        let monitor = NWPathMonitor()
    }

    #if os(watchOS)
    /// Monitors nothing, so that the status remains unknown: a watch reports no path to an app that streams no audio (Technote
    /// TN3135).
    static func start(_ report: @escaping Reachability.Report) -> Reachability.Stop? { {} }
    #else
    /// The first status is reported later.
    static func start(_ report: @escaping Reachability.Report) -> Reachability.Stop? {
        let path = Monitor()
        path.monitor.pathUpdateHandler = { report(ReachabilityStatus($0)) }
        path.monitor.start(queue: DispatchQueue(label: "errand.reachability"))
        return { path.monitor.cancel() }
    }
    #endif
}

extension ReachabilityStatus {
    fileprivate init(_ path: NWPath) {
        switch path.status {
        case .satisfied: self = .reachable(NetworkKind(path))
        case .unsatisfied: self = .unreachable
        // An attempt to connect may make the path available.
        case .requiresConnection: self = .unknown
        @unknown default: self = .unknown
        }
    }
}

extension NetworkKind {
    fileprivate init(_ path: NWPath) {
        let kinds = [(NWInterface.InterfaceType.cellular, Self.cellular), (.wifi, .wireless), (.wiredEthernet, .wired)]
        self = kinds.first { path.usesInterfaceType($0.0) }?.1 ?? .other
    }
}
#endif
