import Errand
import Foundation

/// The output of the shop: with colours and progress bars in a terminal, as plain lines elsewhere.
@MainActor final class Terminal {
    /// The style of a line where colours are supported.
    enum Style: String {
        case title = "1"
        case good = "32"
        case quiet = "2"
    }

    /// Whether a line can be redrawn.
    let isInteractive: Bool
    private let hasColours: Bool
    private var hasOpenLine = false
    private var endsWithTable = false

    /// Creates the terminal of the standard output; honours `NO_COLOR` (no-color.org) and `TERM=dumb`.
    init() {
        let environment = ProcessInfo.processInfo.environment
        isInteractive = isatty(STDOUT_FILENO) == 1 && environment["TERM"] != "dumb"
        hasColours = isInteractive && environment["NO_COLOR", default: ""].isEmpty
    }

    /// Writes a line.
    func write(_ text: String = "", _ style: Style? = nil) {
        let text = style.map { painted(text, $0) } ?? text
        put((hasOpenLine ? "\n" : "") + text + "\n")
        hasOpenLine = false
        endsWithTable = false
    }

    /// Writes a table, after an empty line if another table precedes it directly.
    func write(_ table: Table, _ style: Style? = nil) {
        if endsWithTable { write() }
        for line in table.lines { write("   " + line, style) }
        endsWithTable = true
    }

    /// Draws a line in place of the last drawn one; does nothing where lines cannot be redrawn.
    func draw(_ text: String) {
        guard isInteractive else { return }
        put("\r\u{1B}[K" + text)
        hasOpenLine = true
    }

    /// Erases the drawn line.
    func erase() {
        guard hasOpenLine else { return }
        put("\r\u{1B}[K")
        hasOpenLine = false
    }

    private func painted(_ text: String, _ style: Style) -> String {
        hasColours ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    // Errors are ignored, because the walk continues when the reader closes the pipe.
    private func put(_ text: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    }
}

/// A progress bar: redrawn in an interactive terminal, and written once at the end in any output.
@MainActor struct ProgressBar {
    private static let width = 30
    private let terminal: Terminal
    private let unit: String

    /// Creates a bar for progress that is counted in `unit`.
    init(_ terminal: Terminal, unit: String) {
        self.terminal = terminal
        self.unit = unit
    }

    /// Draws the bar in an interactive terminal; draws nothing otherwise.
    func show(_ done: Int, of total: Int) {
        terminal.draw("   " + text(done, total))
    }

    /// Draws the bar with a report of a transfer.
    func show(_ progress: TransferProgress) {
        show(Int(progress.completedBytes), of: Int(progress.totalBytes ?? 0))
    }

    /// Writes the final line.
    func finish(_ done: Int, of total: Int) {
        terminal.erase()
        terminal.write("   " + text(done, total))
    }

    /// Writes the final line with the transfer's last report.
    func finish(_ progress: TransferProgress?) {
        guard let progress else { return }
        finish(Int(progress.completedBytes), of: Int(progress.totalBytes ?? 0))
    }

    private func text(_ done: Int, _ total: Int) -> String {
        let part = total > 0 ? min(1, Double(done) / Double(total)) : 1
        let full = Int(part * Double(Self.width))
        let bar = String(repeating: "#", count: full) + String(repeating: ".", count: Self.width - full)
        return "[\(bar)] \(Int(part * 100)) %  \(done) of \(total) \(unit)"
    }
}

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
            ([titles] + rows).map { $0[column].columns }.max() ?? 0
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
            let room = String(repeating: " ", count: widths[index] - cells[index].columns)
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

    /// The width of the text in a terminal, in columns.
    fileprivate var columns: Int { reduce(0) { $0 + $1.columns } }
}

extension Character {
    /// The wide and fullwidth characters (Unicode Standard Annex 11).
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF,
        0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD,
    ]

    // Only the first scalar of a character takes columns; combining marks do not.
    fileprivate var columns: Int {
        guard let scalar = unicodeScalars.first else { return 0 }
        return Self.wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }
}
