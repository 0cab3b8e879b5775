import Errand
import ErrandInspector
import ErrandTesting
import Foundation
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

    /// The monitors to measure, by their fields.
    private let monitors: [(field: Field, monitor: any APIMonitor)] = [
        (.counter, EventCounter()), (.log, APILog { _ in }), (.har, HARRecorder()),
    ]

    func run(_ order: Order) async throws -> Measurement {
        let loads = Order(requests: order.requests, concurrency: 64)
        let counter = EventCounter()
        _ = try await ScriptedLoads(monitors: [counter]).run(loads)
        var costs = try await costs(of: loads)
        // The last events follow the last ending without a delay.
        costs.merge([.loads: Double(order.requests), .events: Double(counter.events)]) { $1 }
        costs[.terminal] = Double(counter.endings)
        costs[.leaks] = Double(try SecretLeaks(planting: Self.isQuick(order) ? 1_000 : 10_000).count())
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
                let before = try await ScriptedLoads().run(turn)[.cpuPerLoad] ?? .nan
                let with = try await ScriptedLoads(monitors: [monitor]).run(turn)[.cpuPerLoad] ?? .nan
                let after = try await ScriptedLoads().run(turn)[.cpuPerLoad] ?? .nan
                off += [before, after]
                added[index].append(with - (before + after) / 2)
            }
        }
        var costs: Measurement = [.unmonitored: off.median]
        for (index, field) in monitors.map(\.field).enumerated() { costs[field] = added[index].median }
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

/// Planted secrets, searched in everything that the library prints of requests and responses.
struct SecretLeaks {
    private let planted: PlantedSecrets

    /// Plants at least `count` secrets.
    init(planting count: Int) {
        planted = PlantedSecrets(count: count)
    }

    /// Returns how many secrets are printed, by the log, cURL commands, an archive, a report, or descriptions.
    func count() throws -> Int {
        let lines = Lock("")
        let log = APILog(.everything, showing: [.queries, .headers, .bodies]) { line in lines.withLock { $0 += line } }
        let recorder = HARRecorder()
        var texts: [String] = []
        for (index, exchange) in planted.exchanges.enumerated() {
            let events = events(of: exchange, number: UInt64(index + 1))
            for event in events {
                log.observe(event)
                recorder.observe(event)
            }
            texts.append(try exchange.request.curlCommand())
            texts += events.map(printed) + [printed(exchange.request), printed(exchange.response)]
        }
        texts += [lines.withLock { $0 }, printed(recorder)]
        let files = [recorder.data(), recorder.report()]
        let leaks = texts.map { planted.leaks(in: $0) } + files.map { planted.leaks(in: $0) }
        return leaks.reduce(into: Set()) { $0.formUnion($1) }.count
    }

    private func printed(_ value: Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return "\(value) \(String(reflecting: value)) \(dumped)"
    }

    /// Returns the events of a load that fails after a redirect, or succeeds.
    private func events(of exchange: PlantedSecrets.Exchange, number: UInt64) -> [APIEvent] {
        let response = APIResponse(exchange.response, url: exchange.urlWithUser, redirects: [exchange.request.url])
        let error = APIError(.http, response: response)
        let ending: APIEnding = number.isMultiple(of: 2) ? .failure(error) : .success
        var final = exchange.request
        final.url = exchange.urlWithUser
        let kinds: [(APIEvent.Kind, UInt64?)] = [
            (.began, nil), (.requestMade(exchange.request), 2 * number),
            (.headReceived(status: 302, headers: exchange.response.headers), 2 * number),
            (.redirected(exchange.response), 2 * number), (.requestMade(final), 2 * number + 1),
            (number.isMultiple(of: 3) ? .failed(error) : .responded(response), 2 * number + 1), (.ended(ending), nil),
        ]
        let id = RequestID.next()
        let (method, path) = (exchange.request.method, exchange.urlWithUser.absoluteString)
        return kinds.map { APIEvent($0.0, id: id, method: method, path: path, attempt: 1, exchange: $0.1) }
    }
}
