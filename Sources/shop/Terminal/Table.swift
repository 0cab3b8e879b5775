/// Text in aligned columns.
struct Table {
    /// A column's title and the alignment of its cells.
    enum Column {
        case left(String)
        case right(String)
    }

    private static let gap = "  "
    private let columns: [Column]
    private var rows: [[String]] = []

    /// Creates a table without rows.
    init(_ columns: Column...) {
        self.columns = columns
    }

    /// Adds a row with a cell for each column.
    mutating func add(_ cells: String...) {
        rows.append(cells.map(\.printable))
    }

    /// The title, a rule and the rows, each as one line.
    var lines: [String] {
        let widths = columns.indices.map { column in
            ([titles] + rows).map { DisplayWidth.of($0[column]) }.max() ?? 0
        }
        let rule = widths.map { String(repeating: "-", count: $0) }
        return ([titles, rule] + rows).map { line($0, widths) }
    }

    private var titles: [String] {
        columns.map { column in
            switch column {
            case .left(let title), .right(let title): title
            }
        }
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        let padded = columns.indices.map { index in
            let room = String(repeating: " ", count: widths[index] - DisplayWidth.of(cells[index]))
            return switch columns[index] {
            case .left: cells[index] + room
            case .right: room + cells[index]
            }
        }
        let line = padded.joined(separator: Self.gap)
        return String(line.reversed().drop { $0 == " " }.reversed())
    }
}

extension String {
    /// The text without characters that move a terminal's cursor or change its colours.
    var printable: String {
        String(String.UnicodeScalarView(unicodeScalars.filter { $0.properties.generalCategory != .control }))
    }
}
