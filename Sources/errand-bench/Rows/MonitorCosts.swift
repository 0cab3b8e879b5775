import Errand
import ErrandInspector
import Synchronization

/// The CPU time that monitors add to a load, whether each load has its events, and how many planted secrets are printed.
///
/// No build is without the places of the monitors, so `off_us` shows what these cost only when it is compared with that of
/// another build, in turns.
@MainActor struct MonitorCosts: Workload {
    /// Whether the measurement only shows that the row works, as `--quick` does.
    private static func isQuick(_ order: Order) -> Bool { order.requests < 10_000 }

    /// How many turns have the median of a whole measurement.
    private static func rounds(of loads: Order) -> Int { isQuick(loads) ? 2 : 60 }

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
        costs["leaks"] = Double(try SecretLeaks(planting: Self.isQuick(order) ? 1_000 : 10_000).count())
        return costs
    }

    /// Returns the cost of a load without monitors, and what each monitor adds.
    ///
    /// The medians of many short turns: the speed of a machine that others use as well changes within seconds, and each cost is
    /// the difference of neighbours.
    private func costs(of loads: Order) async throws -> Measurement {
        let turn = Order(requests: max(1, loads.requests / 16), concurrency: loads.concurrency)
        var off: [Double] = []
        var added = [[Double]](repeating: [], count: monitors.count)
        for _ in 0..<Self.rounds(of: loads) {
            for (index, monitor) in monitors.map(\.monitor).enumerated() {
                let before = try await ScriptedLoads().run(turn)["cpu_us"] ?? .nan
                let with = try await ScriptedLoads(monitors: [monitor]).run(turn)["cpu_us"] ?? .nan
                let after = try await ScriptedLoads().run(turn)["cpu_us"] ?? .nan
                off += [before, after]
                added[index].append(with - (before + after) / 2)
            }
        }
        var costs = ["off_us": off.median]
        for (index, name) in monitors.map(\.name).enumerated() { costs[name] = added[index].median }
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
