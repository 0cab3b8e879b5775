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
        let lines = format == .json ? results.map(\.json) + ratios.map(\.json) : TextTable(results, ratios).lines
        for line in lines { print(line) }
        if let plot { try Plot(results).svg.write(toFile: plot, atomically: true, encoding: .utf8) }
    }
}

/// The measurements of one row at one concurrency.
struct RowResult {
    let row: Row
    let concurrency: Int?
    let order: Order
    var turns: [Measurement] = []

    /// The names of the fields in the order of the report, with their values.
    var members: [(name: String, value: Double)] {
        Field.allCases.compactMap { field in self[field].map { (field.rawValue, $0) } }
    }

    /// The median of a field, or the maximum of peaks, in the unit of the field.
    subscript(field: Field) -> Double? {
        let values = turns.compactMap { $0[field] }
        guard let greatest = values.max() else { return nil }
        return (field == .peakMemory ? greatest : values.median) * field.scale
    }
}

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
        func median(_ field: Field) -> Double {
            zip(first.turns, second.turns).map { ($0[field] ?? .nan) / ($1[field] ?? .nan) }.median
        }
        self.name = name ?? "\(first.row.rawValue)/\(second.row.rawValue)"
        concurrency = first.concurrency ?? 1
        cpu = median(.cpuPerRequest)
        throughput = median(.requestRate)
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

extension RowResult {
    /// A JSON object with members in a fixed order.
    fileprivate var json: String {
        let concurrency = concurrency.map { [(name: "concurrency", value: Double($0))] } ?? []
        return object("row", row.rawValue, concurrency + members)
    }
}

extension Ratio {
    /// A JSON object with members in a fixed order.
    fileprivate var json: String {
        object("ratio", name, [("concurrency", Double(concurrency)), ("cpu", cpu), ("throughput", throughput)])
    }
}

private func object(_ kind: String, _ name: String, _ numbers: [(name: String, value: Double)]) -> String {
    func text(_ number: Double) -> String {
        guard number.isFinite else { return "null" }
        return number == number.rounded() ? String(Int(number)) : String(format: "%.3f", number)
    }
    let members = [#""\#(kind)":"\#(name)""#] + numbers.map { #""\#($0.name)":\#(text($0.value))"# }
    return "{" + members.joined(separator: ",") + "}"
}

/// The results as a table of text.
private struct TextTable {
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
            let fields: [Field] = [.requestRate, .cpuPerRequest, .peakMemory, .memoryGrowth]
            let numbers = fields.map { result[$0] }
            add(result.row.rawValue, ["\(result.concurrency ?? 1)"] + numbers.map { $0.map(Self.text) ?? "" })
        }
        lines.append("")
    }

    private mutating func addLine(_ result: RowResult) {
        let fields = result.members.map { "\($0.name) \(Self.text($0.value))" }
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

/// A plot of throughput and CPU per request against concurrency, side by side, with logarithmic axes.
private struct Plot {
    private static let size = (width: 960.0, height: 440.0)
    private static let styles: [(row: Row, colour: String, text: String)] = [
        (.floorRaw, "#17becf", "bare libcurl, not decoded"), (.floor, "#1f77b4", "bare libcurl"),
        (.proxy, "#ff7f0e", "APIProxy.send, not decoded"), (.layer, "#d62728", "loadData to delegate"),
        (.urlSession, "#555555", "URLSession, handlers"), (.urlSessionAsync, "#9a8f1f", "URLSession, async"),
    ]

    private let results: [RowResult]

    init(_ results: [RowResult]) {
        self.results = results.filter { $0.concurrency != nil }
    }

    /// The plot in SVG.
    var svg: String {
        let panels = [
            panel("Requests per second (more is better)", .requestRate, at: 0),
            panel("CPU per request, µs (less is better)", .cpuPerRequest, at: 1),
        ]
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Self.size.width) \(Self.size.height)" \
            width="\(Self.size.width)" height="\(Self.size.height)" font-family="sans-serif" font-size="12" fill="#333">
            <rect width="100%" height="100%" fill="white"/>
            \((panels + legend).joined(separator: "\n"))
            </svg>

            """
    }

    private var drawn: [(row: Row, colour: String, text: String)] {
        Self.styles.filter { style in results.contains { $0.row == style.row } }
    }

    private func panel(_ title: String, _ field: Field, at index: Int) -> String {
        let values = results.compactMap { $0[field] }
        guard let scale = PlotScale(concurrencies: results.compactMap(\.concurrency), values: values) else { return "" }
        let curves = drawn.map { curve($0.row, $0.colour, field, scale) }
        return """
            <g transform="translate(\(Double(index) * Self.size.width / 2) 0)">
            <text x="\(PlotScale.left)" y="24" font-size="14" font-weight="bold">\(title)</text>
            \(scale.axes)
            \(curves.joined(separator: "\n"))
            </g>
            """
    }

    private func curve(_ row: Row, _ colour: String, _ field: Field, _ scale: PlotScale) -> String {
        let points = results.filter { $0.row == row }.compactMap { result in
            result[field].map { (x: scale.x(result.concurrency ?? 1), y: scale.y($0)) }
        }
        let line = points.map { "\($0.x.short),\($0.y.short)" }.joined(separator: " ")
        let dots = points.map { #"<circle cx="\#($0.x.short)" cy="\#($0.y.short)" r="3.5" fill="\#(colour)"/>"# }
        let curve = #"<polyline points="\#(line)" fill="none" stroke="\#(colour)" stroke-width="2"/>"#
        return ([curve] + dots).joined(separator: "\n")
    }

    /// Three columns below the panels.
    private var legend: [String] {
        drawn.enumerated().map { index, style in
            let (x, y) = (PlotScale.left + Double(index % 3) * 290, 396 + Double(index / 3) * 22)
            return """
                <line x1="\(x)" x2="\(x + 24)" y1="\(y)" y2="\(y)" stroke="\(style.colour)" stroke-width="2"/>
                <circle cx="\(x + 12)" cy="\(y)" r="3.5" fill="\(style.colour)"/>
                <text x="\(x + 32)" y="\(y + 4)">\(style.row.rawValue): \(style.text)</text>
                """
        }
    }
}

/// The scales of a panel: positions of concurrencies and values.
private struct PlotScale {
    static let left = 70.0
    private static let (right, top, bottom) = (450.0, 40.0, 330.0)

    private let concurrencies: [Int]
    private let values: ClosedRange<Double>

    /// `nil` without values above 0.
    init?(concurrencies: [Int], values: [Double]) {
        guard let least = values.min(), let greatest = values.max(), least > 0, greatest.isFinite else { return nil }
        self.concurrencies = Set(concurrencies).sorted()
        self.values = (least / 1.3)...(greatest * 1.3)
    }

    func x(_ concurrency: Int) -> Double {
        let (first, last) = (log(Double(concurrencies.first ?? 1)), log(Double(concurrencies.last ?? 1)))
        let part = last > first ? (log(Double(concurrency)) - first) / (last - first) : 0.5
        return Self.left + 20 + part * (Self.right - Self.left - 40)
    }

    func y(_ value: Double) -> Double {
        let (least, greatest) = (log(values.lowerBound), log(values.upperBound))
        return Self.bottom - (log(value) - least) / (greatest - least) * (Self.bottom - Self.top)
    }

    /// The frame and both axes with their numbers: the concurrencies, and 1, 2 and 5 times the powers of ten.
    var axes: String {
        let ticks = (-1...7).flatMap { power in [1.0, 2, 5].map { $0 * pow(10, Double(power)) } }
        let middle = (Self.left + Self.right) / 2
        let frame = """
            <rect x="\(Self.left)" y="\(Self.top)" width="\(Self.right - Self.left)" height="\(Self.bottom - Self.top)" \
            fill="none" stroke="#999"/>
            <text x="\(middle)" y="\(Self.bottom + 38)" text-anchor="middle">requests in flight</text>
            """
        let grid = ticks.filter(values.contains).map(across) + concurrencies.map(upwards)
        return (grid + [frame]).joined(separator: "\n")
    }

    private func across(_ tick: Double) -> String {
        let (y, number) = (y(tick), tick.formatted(.number.locale(.english)))
        return """
            <line x1="\(Self.left)" x2="\(Self.right)" y1="\(y.short)" y2="\(y.short)" stroke="#e4e4e4"/>
            <text x="\(Self.left - 8)" y="\((y + 4).short)" text-anchor="end">\(number)</text>
            """
    }

    private func upwards(_ concurrency: Int) -> String {
        let x = x(concurrency).short
        return """
            <line x1="\(x)" x2="\(x)" y1="\(Self.top)" y2="\(Self.bottom)" stroke="#e4e4e4"/>
            <text x="\(x)" y="\(Self.bottom + 18)" text-anchor="middle">\(concurrency)</text>
            """
    }
}

extension Double {
    /// Returns a coordinate rounded to a tenth of a pixel.
    fileprivate var short: Double { (self * 10).rounded() / 10 }
}

extension Locale {
    /// The locale of numbers, such as 10,000.5, on every machine.
    fileprivate static let english = Locale(identifier: "en_US")
}
