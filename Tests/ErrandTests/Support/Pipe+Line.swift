import Foundation

/// A program ended before it had printed the line that a test waits for.
struct NoLine: Error {
    let prefix: String
    let text: String
}

extension Pipe {
    /// Reads what a program prints until a line begins with `prefix`, and returns the rest of that line.
    func line(behind prefix: String) throws -> String {
        var text = ""
        while true {
            let data = fileHandleForReading.availableData
            guard !data.isEmpty else { throw NoLine(prefix: prefix, text: text) }
            text += String(decoding: data, as: UTF8.self)
            let line = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().first {
                $0.hasPrefix(prefix)
            }
            if let line { return String(line.dropFirst(prefix.count)) }
        }
    }
}
