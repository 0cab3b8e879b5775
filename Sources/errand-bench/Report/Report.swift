import Foundation

/// The report of the results.
struct Report {
    let results: [RowResult]
    let ratios: [Ratio]

    init(_ results: [RowResult]) {
        self.results = results
        ratios = Ratio.all(of: results)
    }

    /// Writes the results to the standard output, and the plot to its file when the plan names one.
    func write(as format: Plan.Format, plot: String?) throws {
        let lines = format == .json ? JSONLines(results, ratios).lines : TextTable(results, ratios).lines
        for line in lines { print(line) }
        if let plot { try Plot(results).svg.write(toFile: plot, atomically: true, encoding: .utf8) }
    }
}
