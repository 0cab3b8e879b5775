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
