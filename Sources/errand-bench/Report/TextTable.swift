import Foundation

/// The results as a table of text.
struct TextTable {
    private(set) var lines: [String] = []

    init(_ results: [RowResult], _ ratios: [Ratio]) {
        addRows(results.filter { $0.concurrency != nil })
        for result in results where result.concurrency == nil { addLine(result) }
        addRatios(ratios)
    }

    private mutating func addRows(_ results: [RowResult]) {
        guard !results.isEmpty else { return }
        add("row", ["in flight", "requests/s", "CPU µs/request", "peak RSS MB", "RSS growth MB"])
        for result in results {
            let fields = result.fields
            let numbers = ["requests_per_s", "cpu_us_per_request", "peak_rss_mb", "rss_growth_mb"].map { fields[$0] }
            add(result.row.rawValue, ["\(result.concurrency ?? 1)"] + numbers.map { $0.map(Self.text) ?? "" })
        }
        lines.append("")
    }

    private mutating func addLine(_ result: RowResult) {
        let fields = Field.sorted(result.fields).map { "\($0.0) \(Self.text($0.1))" }
        lines.append(Self.left(result.row.rawValue, 28) + fields.joined(separator: ", "))
    }

    private mutating func addRatios(_ ratios: [Ratio]) {
        guard !ratios.isEmpty else { return }
        lines.append("")
        add("ratio", ["in flight", "throughput", "CPU"])
        for ratio in ratios {
            let numbers = [ratio.throughput, ratio.cpu].map { String(format: "%.2f", $0) }
            add(ratio.name, ["\(ratio.concurrency)"] + numbers)
        }
    }

    private mutating func add(_ name: String, _ cells: [String]) {
        lines.append(Self.left(name, 28) + cells.map { Self.right($0, 15) }.joined())
    }

    private static func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.count)) + text
    }

    private static func text(_ number: Double) -> String {
        String(format: number == number.rounded() ? "%.0f" : number < 100 ? "%.2f" : "%.0f", number)
    }
}
