/// Observes the events of loads and plain calls, without changing them.
///
/// Add a monitor to ``APIProxy/monitors`` for all loads of a proxy, or to ``APIService/monitors`` for those of a service. Without
/// monitors, events cost nothing.
public protocol APIMonitor: Sendable {
    /// Observes an event.
    ///
    /// Called on any thread except a transport's. The events of one load are observed in order, one at a time; those of several
    /// loads may be observed concurrently. Must not block, because the next events of the load wait, and a thread of the pool is
    /// occupied. May call the library; loads that it begins have their own events.
    ///
    /// - Parameter event: The event. It may contain secrets; its description and ``Redactor`` do not show them.
    func observe(_ event: APIEvent)

    /// Which events ``observe(_:)`` is called for; every event by default.
    ///
    /// Other events cost nothing: a monitor that observes only endings costs a load several times less than one that observes all
    /// events. Read when the monitor is added to a proxy, and by each load of a service with monitors.
    var observedLevel: APIEvent.Level { get }
}

extension APIMonitor {
    /// Every event.
    public var observedLevel: APIEvent.Level { .everything }
}

/// The monitors of a proxy, which loads copy when they begin.
struct ObservingMonitors: Sendable {
    private var entries: [(monitor: any APIMonitor, level: APIEvent.Level)]
    /// That of the monitor that observes most.
    private(set) var level: APIEvent.Level

    init(_ monitors: [any APIMonitor]) {
        entries = monitors.map { ($0, $0.observedLevel) }
        level = entries.map(\.level).max() ?? .endings
    }

    var all: [any APIMonitor] { entries.map(\.monitor) }

    func observe(_ event: APIEvent) {
        let level = event.kind.level
        for entry in entries where entry.level >= level { entry.monitor.observe(event) }
    }

    /// `nil` when neither the proxy nor the service nor the load has a monitor.
    func trace(
        of id: RequestID,
        method: HTTPMethod,
        path: String,
        for service: APIService?,
        and own: (any APIMonitor)? = nil
    ) -> LoadTrace? {
        var monitors = self
        let others = ObservingMonitors((own.map { [$0] } ?? []) + (service?.monitors ?? []))
        monitors.entries += others.entries
        monitors.level = max(level, others.level)
        return monitors.entries.isEmpty ? nil : LoadTrace(id: id, method: method, path: path, monitors: monitors)
    }
}
