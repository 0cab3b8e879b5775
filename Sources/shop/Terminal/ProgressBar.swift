/// How far something has come: a bar that grows where lines can be drawn over, one line at the end everywhere.
@MainActor struct ProgressBar {
    private static let width = 30
    private let terminal: Terminal
    private let unit: String

    /// Creates a bar for something that is counted in `unit`.
    init(_ terminal: Terminal, unit: String) {
        self.terminal = terminal
        self.unit = unit
    }

    /// Shows that `done` of `total` are there.
    func show(_ done: Int, of total: Int) {
        terminal.draw("   " + text(done, total))
    }

    /// Leaves the line as it stands at the end.
    func finish(_ done: Int, of total: Int) {
        terminal.erase()
        terminal.write("   " + text(done, total))
    }

    private func text(_ done: Int, _ total: Int) -> String {
        let part = total > 0 ? min(1, Double(done) / Double(total)) : 1
        let full = Int(part * Double(Self.width))
        let bar = String(repeating: "#", count: full) + String(repeating: ".", count: Self.width - full)
        return "[\(bar)] \(Int(part * 100)) %  \(done) of \(total) \(unit)"
    }
}
