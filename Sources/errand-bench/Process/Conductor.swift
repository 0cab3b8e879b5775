import Foundation

/// Starts the server and the workers, and runs the workers in turns.
final class Conductor {
    private let plan: Plan
    private let server: Child
    private let address: String

    init(_ plan: Plan) throws {
        self.plan = plan
        server = try Child(["serve"])
        address = String(decoding: try server.readLine(), as: UTF8.self)
    }

    /// Measures every row of the plan.
    func measure() throws -> [RowResult] {
        let paired = plan.rows.filter(\.isPaired)
        return try plan.concurrencies.flatMap { try measure(paired, at: $0) }
            + plan.rows.filter { !$0.isPaired }.map(measure)
    }

    /// Runs the rows in the order A B A B …, so that a disturbance of the machine affects all of them.
    private func measure(_ rows: [Row], at concurrency: Int) throws -> [RowResult] {
        let workers = try rows.map { (row: $0, child: try worker($0)) }
        var results: [RowResult] = []
        for (row, child) in workers {
            let order = Order(requests: try pace(child, concurrency), concurrency: concurrency)
            results.append(RowResult(row: row, concurrency: concurrency, order: order))
        }
        for _ in 0..<plan.rounds {
            for index in workers.indices {
                results[index].turns.append(try carryOut(results[index].order, workers[index].child))
            }
        }
        return results
    }

    /// Warms a worker up, and returns the number of requests of one turn.
    private func pace(_ child: Child, _ concurrency: Int) throws -> Int {
        let trial = Order(requests: max(200, 2 * concurrency), concurrency: concurrency)
        let speed = try carryOut(trial, child)["requests_per_s"] ?? 0
        return max(trial.requests, Int(speed * plan.secondsPerTurn))
    }

    private func measure(_ row: Row) throws -> RowResult {
        if [.paging, .pagingSockets].contains(row) { return try measurePaging(row) }
        var order = Order(bytes: plan.transferBytes)
        switch row {
        case .cancel, .relogin, .adapters: order.requests = plan.isQuick ? 1_000 : 10_000
        case .race: order.requests = plan.isQuick ? 2_000 : 100_000
        case .monitors: order.requests = plan.isQuick ? 2_000 : 100_000
        case .queue: order.requests = plan.isQuick ? 2_000 : 200_000
        case .load: order = Order(requests: plan.isQuick ? 10_000 : 1_000_000, concurrency: 64)
        case .json: order.bytes = plan.isQuick ? 200_000 : 10_000_000
        case .soak: order = Order(requests: plan.soakRequests, concurrency: 64)
        default: break
        }
        return RowResult(row: row, concurrency: nil, order: order, turns: [try carryOut(order, worker(row))])
    }

    /// Runs each part in a separate process, so that no part measures the memory of another.
    private func measurePaging(_ row: Row) throws -> RowResult {
        var result = RowResult(row: row, concurrency: nil, order: Order(requests: plan.isQuick ? 100 : 1_000))
        for _ in 0..<(plan.isQuick ? 1 : plan.rounds) {
            var fields: Measurement = [:]
            for part in Paging.Part.allCases {
                var order = result.order
                order.part = part.rawValue
                fields.merge(try carryOut(order, worker(row))) { $1 }
            }
            result.turns.append(fields)
        }
        return result
    }

    private func worker(_ row: Row) throws -> Child {
        try Child(["work", row.rawValue, address])
    }

    private func carryOut(_ order: Order, _ child: Child) throws -> Measurement {
        try child.send(JSONEncoder().encode(order))
        return try JSONDecoder().decode(Measurement.self, from: child.readLine())
    }
}
