import Synchronization

/// Observes the events of loads and plain calls, and changes nothing.
///
/// Add one to ``APIProxy/monitors`` for all loads of a proxy, or to ``APIService/monitors`` for those of a service. Without monitors, events
/// cost nothing.
public protocol APIMonitor: Sendable {
    /// Observes an event.
    ///
    /// Called on any thread, for one load in the order of its events and never at the same time; for several loads at once. Must
    /// not block. May call the library; what it begins has events of its own.
    ///
    /// - Parameter event: The event. It can contain secrets, which its description and ``Redactor`` do not print.
    func observe(_ event: APIEvent)
}

/// The monitors of a proxy, which loads read when they begin.
final class MonitorList: Sendable {
    private let monitors: Mutex<[any APIMonitor]>
    // Read by every load instead of the list.
    private let hasMonitors: Atomic<Bool>

    init(_ monitors: [any APIMonitor]) {
        self.monitors = Mutex(monitors)
        hasMonitors = Atomic(!monitors.isEmpty)
    }

    var all: [any APIMonitor] {
        get { hasMonitors.load(ordering: .acquiring) ? monitors.withLock { $0 } : [] }
        set {
            monitors.take { monitors in
                hasMonitors.store(!newValue.isEmpty, ordering: .releasing)
                return exchange(&monitors, with: newValue)
            }
        }
    }

    /// Returns the trace of a load that begins; `nil` when neither the proxy nor the service has a monitor.
    func trace(of id: RequestID, _ method: HTTPMethod, path: String, for service: APIService?) -> LoadTrace? {
        let hasOthers = service?.monitors.isEmpty == false
        guard hasOthers || hasMonitors.load(ordering: .acquiring) else { return nil }
        return makeTrace(of: id, method, path, for: service)
    }

    @inline(never) private func makeTrace(
        of id: RequestID,
        _ method: HTTPMethod,
        _ path: String,
        for service: APIService?
    ) -> LoadTrace? {
        let monitors = all + (service?.monitors ?? [])
        return monitors.isEmpty ? nil : LoadTrace(id: id, method: method, path: path, monitors: monitors)
    }
}
