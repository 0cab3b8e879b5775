/// The measurements of one row at one concurrency.
struct RowResult {
    let row: Row
    let concurrency: Int?
    let order: Order
    var turns: [Measurement] = []

    /// The median of each field; the maximum of peaks.
    var fields: Measurement {
        var fields: Measurement = [:]
        for name in turns.first?.keys.sorted() ?? [] {
            let values = turns.compactMap { $0[name] }
            fields[name] = name == "peak_rss_mb" ? values.max() : values.median
        }
        return fields
    }
}

extension [Double] {
    /// The median.
    var median: Double {
        let values = sorted()
        guard !values.isEmpty else { return .nan }
        return (values[(count - 1) / 2] + values[count / 2]) / 2
    }
}
