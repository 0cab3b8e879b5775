import Foundation

/// Where the shop writes: colours and bars for people, plain lines for programs.
@MainActor final class Terminal {
    /// How a line stands out where there are colours.
    enum Style: String {
        case title = "1"
        case good = "32"
        case quiet = "2"
    }

    /// Whether a line can be drawn over.
    let isInteractive: Bool
    private let hasColours: Bool
    private var hasOpenLine = false
    private var endsWithTable = false

    /// Takes standard output as it is; `NO_COLOR` (no-color.org) and `TERM=dumb` are respected.
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

    /// Writes a table, apart from one that stands directly above.
    func write(_ table: Table, _ style: Style? = nil) {
        if endsWithTable { write() }
        for line in table.lines { write("   " + line, style) }
        endsWithTable = true
    }

    /// Draws a line over the one that was drawn last; nothing where lines cannot be drawn over.
    func draw(_ text: String) {
        guard isInteractive else { return }
        put("\r\u{1B}[K" + text)
        hasOpenLine = true
    }

    /// Takes back the drawn line.
    func erase() {
        guard hasOpenLine else { return }
        put("\r\u{1B}[K")
        hasOpenLine = false
    }

    private func painted(_ text: String, _ style: Style) -> String {
        hasColours ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    // A reader that has gone away is no reason to stop the walk.
    private func put(_ text: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    }
}
