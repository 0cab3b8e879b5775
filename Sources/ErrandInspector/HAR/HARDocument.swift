import Errand
import Foundation

/// An archive: one entry for each exchange and each unsent load, in the order of their beginnings.
struct HARDocument {
    private let entries: [PrintedExchange]
    private let comment: String
    private let printer: Printer

    init(_ recorder: HARRecorder) {
        let (exchanges, removed) = recorder.snapshot
        let printer = Printer(includesSecrets: recorder.includesSecrets)
        self.printer = printer
        entries = exchanges.map { PrintedExchange($0, printer, recorder.clock) }
        let comments = [
            printer.isRedacting ? "Values that are not known to be harmless are redacted." : "Secrets are included.",
            removed > 0 ? "\(removed) older exchanges were removed because of the limits of the recorder." : nil,
        ]
        comment = comments.compactMap { $0 }.joined(separator: " ")
    }

    /// The JSON text, with one line for each entry.
    var data: Data {
        var text = Array(
            #"{"log":{"version":"1.2","creator":{"name":"Errand","version":"1"},"pages":[],"comment":"#.utf8
        )
        HARValue.string(comment).write(to: &text)
        text += #","entries":["#.utf8
        for (index, entry) in entries.enumerated() {
            text += index > 0 ? ",\n".utf8 : "\n".utf8
            HARValue(entry, printer).write(to: &text)
        }
        text += "\n]}}\n".utf8
        return Data(text)
    }
}
