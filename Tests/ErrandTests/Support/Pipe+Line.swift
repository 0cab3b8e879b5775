import Foundation

/// The error of a program that ends before it has printed the expected line.
struct NoLine: Error {
    let prefix: String
    let text: String
}

extension Pipe {
    /// Reads a program's output until a line begins with `prefix`, and returns the rest of that line.
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
