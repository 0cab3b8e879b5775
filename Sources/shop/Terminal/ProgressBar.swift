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

    /// Writes the final line.
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
