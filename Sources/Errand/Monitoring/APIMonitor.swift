/// Observes the events of loads and plain calls, and changes nothing.
///
/// Add one to ``APIProxy/monitors`` for all loads of a proxy, or to ``APIService/monitors`` for those of a service. Without
/// monitors, events cost nothing.
public protocol APIMonitor: Sendable {
    /// Observes an event.
    ///
    /// Called on any thread but that of a transport, for one load in the order of its events and never at the same time; for
    /// several loads at once. Must not block: the events of its load wait, and a thread of the pool is occupied. May call the
    /// library; loads that it begins have separate events.
    ///
    /// - Parameter event: The event. It can contain secrets, which its description and ``Redactor`` do not print.
    func observe(_ event: APIEvent)

    /// Which events ``observe(_:)`` is called for; every event by default.
    ///
    /// Other events cost nothing: a monitor of endings is several times cheaper for a load than one of all events. Read when the
    /// monitor is added to a proxy, and by each load of a service that has monitors.
    var observedLevel: APIEvent.Level { get }
}

extension APIMonitor {
    /// Every event.
    public var observedLevel: APIEvent.Level { .everything }
}

struct ObservingMonitors: Sendable {
    private struct Entry {
        let monitor: any APIMonitor
        let level: APIEvent.Level
    }

    private var entries: [Entry]
    /// That of the monitor that observes most.
    private(set) var level: APIEvent.Level

    init(_ monitors: [any APIMonitor]) {
        entries = monitors.map { Entry(monitor: $0, level: $0.observedLevel) }
        level = entries.map(\.level).max() ?? .endings
    }

    var isEmpty: Bool { entries.isEmpty }
    var all: [any APIMonitor] { entries.map(\.monitor) }

    mutating func append(_ others: ObservingMonitors) {
        entries += others.entries
        level = max(level, others.level)
    }

    func observe(_ event: APIEvent) {
        let level = event.kind.level
        for entry in entries where entry.level >= level { entry.monitor.observe(event) }
    }
}

/// The monitors of a proxy, which loads read when they begin.
final class MonitorList: Sendable {
    private let monitors: Lock<ObservingMonitors>

    init(_ monitors: [any APIMonitor]) {
        self.monitors = Lock(ObservingMonitors(monitors))
    }

    var all: [any APIMonitor] {
        get { monitors.withLock { $0 }.all }
        set {
            // Calls the monitors, and so not under the lock.
            let new = ObservingMonitors(newValue)
            monitors.withLock { exchange(&$0, with: new) }
        }
    }

    /// `nil` when neither the proxy nor the service nor the load has a monitor.
    func trace(
        of id: RequestID,
        method: HTTPMethod,
        path: String,
        for service: APIService?,
        and own: (any APIMonitor)? = nil
    ) -> LoadTrace? {
        var monitors = monitors.withLock { $0 }
        if let own { monitors.append(ObservingMonitors([own])) }
        if let others = service?.monitors, !others.isEmpty { monitors.append(ObservingMonitors(others)) }
        return monitors.isEmpty ? nil : LoadTrace(id: id, method: method, path: path, monitors: monitors)
    }
}
