/// The comparison of two rows, turn by turn.
struct Ratio {
    let name: String
    let concurrency: Int
    /// The CPU time per request of the first row, divided by that of the second.
    let cpu: Double
    /// The requests per second of the first row, divided by those of the second.
    let throughput: Double

    /// Compares two rows whose turns alternated; the ratios are medians over the turns.
    init(_ first: RowResult, _ second: RowResult, name: String? = nil) {
        func median(_ field: String) -> Double {
            zip(first.turns, second.turns).map { ($0[field] ?? .nan) / ($1[field] ?? .nan) }.median
        }
        self.name = name ?? "\(first.row.rawValue)/\(second.row.rawValue)"
        concurrency = first.concurrency ?? 1
        cpu = median("cpu_us_per_request")
        throughput = median("requests_per_s")
    }

    /// The pairs of rows that are compared.
    static func all(of results: [RowResult]) -> [Ratio] {
        let pairs: [(Row, Row)] = [
            (.layer, .floor), (.layer, .urlSession), (.layer, .urlSessionAsync), (.floor, .urlSession),
            (.proxy, .floorRaw),
        ]
        let paired = pairs.flatMap { first, second in
            results.filter { $0.row == first }.compactMap { result in
                results.first { $0.row == second && $0.concurrency == result.concurrency }.map { Ratio(result, $0) }
            }
        }
        return paired + scaling(results)
    }

    /// Compares the layer with 512 requests in flight to the layer with 64.
    private static func scaling(_ results: [RowResult]) -> [Ratio] {
        let layers = results.filter { $0.row == .layer }
        guard let many = layers.first(where: { $0.concurrency == 512 }),
            let few = layers.first(where: { $0.concurrency == 64 })
        else { return [] }
        return [Ratio(many, few, name: "layer 512/layer 64")]
    }
}
