import Foundation

/// The results as one JSON object per row, then one per ratio, with members in a fixed order.
struct JSONLines {
    let lines: [String]

    init(_ results: [RowResult], _ ratios: [Ratio]) {
        lines = results.map(Self.line) + ratios.map(Self.line)
    }

    private static func line(_ result: RowResult) -> String {
        let concurrency = result.concurrency.map { [("concurrency", Double($0))] } ?? []
        return object("row", result.row.rawValue, concurrency + Field.sorted(result.fields))
    }

    private static func line(_ ratio: Ratio) -> String {
        let numbers = [
            ("concurrency", Double(ratio.concurrency)), ("cpu", ratio.cpu), ("throughput", ratio.throughput),
        ]
        return object("ratio", ratio.name, numbers)
    }

    private static func object(_ kind: String, _ name: String, _ numbers: [(String, Double)]) -> String {
        let members = [#""\#(kind)":"\#(name)""#] + numbers.map { #""\#($0.0)":\#(text($0.1))"# }
        return "{" + members.joined(separator: ",") + "}"
    }

    private static func text(_ number: Double) -> String {
        guard number.isFinite else { return "null" }
        return number == number.rounded() ? String(Int(number)) : String(format: "%.3f", number)
    }
}
