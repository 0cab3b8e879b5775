import Foundation

/// The system calls of a probe that concern the cookie file and its neighbours, as strace sees them.
///
/// Other calls come in numbers that differ from run to run; to be killed at one of them is to be killed at the next of
/// these.
struct SaveTrace {
    struct Call: Sendable, CustomStringConvertible {
        let name: String
        /// Which call of this name it is.
        let ordinal: Int
        let text: String
        var description: String { "\(name) \(ordinal)" }
    }

    let calls: [Call]

    /// The options that restrict strace to these calls.
    static func options(for file: URL) -> [String] {
        let path = file.path(percentEncoded: false)
        let folder = file.deletingLastPathComponent().path(percentEncoded: false)
        let bareFolder = folder.hasSuffix("/") ? String(folder.dropLast()) : folder
        let neighbours = [".lock", ".errand-tmp", ".corrupt-1", ".corrupt-2"].map { path + $0 }
        return ([path, bareFolder, bareFolder + "/"] + neighbours).flatMap { ["-P", $0] }
    }

    /// Traces a probe that adds cookies to the file and saves once, from where it takes the lock for the first time.
    init(of file: URL, adding count: Int = 1) async throws {
        let folder = try TemporaryFolder()
        let log = folder.url.appending(path: "trace")
        let strace = ["strace", "-o", log.path(percentEncoded: false)] + Self.options(for: file)
        _ = try await CookieProbe.run(["save", file.path(percentEncoded: false), "new", "\(count)"], under: strace)
        var counts: [Substring: Int] = [:]
        var calls: [Call] = []
        for line in try String(decoding: Data(contentsOf: log), as: UTF8.self).split(separator: "\n") {
            let name = line.prefix { $0 != "(" }
            counts[name, default: 0] += 1
            calls.append(Call(name: String(name), ordinal: counts[name] ?? 0, text: String(line)))
        }
        let start = calls.firstIndex { $0.text.contains(".lock") } ?? calls.endIndex
        self.calls = calls[start...].filter { !$0.name.hasPrefix("+++") }
    }
}
