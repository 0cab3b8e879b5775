import Errand
import ErrandInspector
import Synchronization

/// The CPU time that monitors add to a load, whether each load has its events, and how many planted secrets are printed.
///
/// No build is without the places of the monitors, so `off_us` shows what these cost only when it is compared with that of
/// another build, in turns.
@MainActor struct MonitorCosts: Workload {
    private static let rounds = 5

    /// The monitors to measure, by the names of their fields.
    private let monitors: [(name: String, monitor: any APIMonitor)] = [
        ("count_us", EventCounter()), ("log_us", APILog { _ in }), ("har_us", HARRecorder()),
    ]

    func run(_ order: Order) async throws -> Measurement {
        let loads = Order(requests: order.requests, concurrency: 64)
        let counter = EventCounter()
        _ = try await ScriptedLoads(monitors: [counter]).run(loads)
        var costs = try await costs(of: loads)
        // The last events follow the last ending without a delay.
        costs.merge(["loads": Double(order.requests), "events": Double(counter.events)]) { $1 }
        costs["terminal"] = Double(counter.endings)
        costs["leaks"] = Double(try SecretLeaks().count())
        return costs
    }

    /// Returns the cost of a load without monitors, and what each monitor adds, measured in turns.
    private func costs(of loads: Order) async throws -> Measurement {
        var off: [Double] = []
        var on = [[Double]](repeating: [], count: monitors.count)
        for _ in 0..<Self.rounds {
            off.append(try await ScriptedLoads().run(loads)["cpu_us"] ?? .nan)
            for (index, monitor) in monitors.map(\.monitor).enumerated() {
                on[index].append(try await ScriptedLoads(monitors: [monitor]).run(loads)["cpu_us"] ?? .nan)
            }
        }
        var costs = ["off_us": off.median]
        for (index, name) in monitors.map(\.name).enumerated() { costs[name] = on[index].median - off.median }
        return costs
    }
}

/// A monitor that counts, which costs as little as any.
private final class EventCounter: APIMonitor {
    private let eventCount = Atomic(0)
    private let endingCount = Atomic(0)

    var events: Int { eventCount.load(ordering: .acquiring) }
    var endings: Int { endingCount.load(ordering: .acquiring) }

    func observe(_ event: APIEvent) {
        eventCount.add(1, ordering: .relaxed)
        if case .ended = event.kind { endingCount.add(1, ordering: .relaxed) }
    }
}
