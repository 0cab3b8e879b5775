import Foundation

/// Throughput and CPU per request against concurrency, side by side, both axes logarithmic.
struct Plot {
    private static let size = (width: 460.0, height: 360.0)
    private static let colours: [Row: String] = [
        .layer: "#d62728", .proxy: "#ff7f0e", .floor: "#1f77b4", .floorRaw: "#17becf", .urlSession: "#7f7f7f",
        .urlSessionAsync: "#bcbd22",
    ]

    private let results: [RowResult]

    init(_ results: [RowResult]) {
        self.results = results.filter { $0.concurrency != nil }
    }

    /// The drawing.
    var svg: String {
        let panels = [
            panel("requests/s", "requests_per_s", at: 0), panel("CPU µs/request", "cpu_us_per_request", at: 1),
        ]
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(2 * Self.size.width)" height="\(Self.size.height)" \
            font-family="sans-serif" font-size="11">
            <rect width="100%" height="100%" fill="white"/>
            \(panels.joined(separator: "\n"))
            </svg>

            """
    }

    private func panel(_ title: String, _ field: String, at index: Int) -> String {
        let values = results.compactMap { $0.fields[field] }
        guard let least = values.min(), let greatest = values.max(), least > 0 else { return "" }
        let scale = PlotScale(
            concurrencies: Set(results.compactMap(\.concurrency)).sorted(),
            values: (least * 0.8)...(greatest * 1.25)
        )
        let curves = Row.allCases.filter(\.isPaired).enumerated().map { curve($1, field, scale, legendLine: $0) }
        return """
            <g transform="translate(\(Double(index) * Self.size.width) 0)">
            <text x="60" y="20" font-size="14">\(title)</text>
            \(scale.axes)
            \(curves.joined(separator: "\n"))
            </g>
            """
    }

    private func curve(_ row: Row, _ field: String, _ scale: PlotScale, legendLine: Int) -> String {
        let points = results.filter { $0.row == row }.compactMap { result in
            result.fields[field].map { "\(scale.x(result.concurrency ?? 1)),\(scale.y($0))" }
        }
        guard !points.isEmpty, let colour = Self.colours[row] else { return "" }
        let y = 45 + 14 * legendLine
        return """
            <polyline points="\(points.joined(separator: " "))" fill="none" stroke="\(colour)" stroke-width="2"/>
            <text x="350" y="\(y)" fill="\(colour)">\(row.rawValue)</text>
            """
    }
}

/// Where concurrencies and values stand in a panel.
private struct PlotScale {
    let concurrencies: [Int]
    let values: ClosedRange<Double>

    func x(_ concurrency: Int) -> Double {
        let span = max(1, log(Double(concurrencies.last ?? 1)) - log(Double(concurrencies.first ?? 1)))
        return 60 + (log(Double(concurrency)) - log(Double(concurrencies.first ?? 1))) / span * 280
    }

    func y(_ value: Double) -> Double {
        320 - (log(value) - log(values.lowerBound)) / (log(values.upperBound) - log(values.lowerBound)) * 280
    }

    /// Both axes with their numbers: the concurrencies, and 1, 2 and 5 times the powers of ten.
    var axes: String {
        let ticks = (0...6).flatMap { power in [1.0, 2, 5].map { $0 * pow(10, Double(power)) } }.filter(values.contains)
        let across = ticks.map { tick in
            """
            <line x1="60" x2="340" y1="\(y(tick))" y2="\(y(tick))" stroke="#ddd"/>
            <text x="54" y="\(y(tick) + 4)" text-anchor="end">\(Int(tick))</text>
            """
        }
        let below = concurrencies.map { #"<text x="\#(x($0))" y="338" text-anchor="middle">\#($0)</text>"# }
        let title = #"<text x="200" y="354" text-anchor="middle">in flight</text>"#
        return (across + below + [title]).joined(separator: "\n")
    }
}
