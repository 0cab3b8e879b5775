import Foundation

@testable import ErrandTestSupport

/// The system calls of a probe on the cookie file and the files next to it, recorded with strace.
///
/// The number of other calls varies from run to run. Killing the process at one of them has the same effect as killing it
/// at the next recorded call.
struct SaveTrace {
    struct Call: Sendable, CustomStringConvertible {
        let name: String
        /// The number of this call among the calls with this name.
        let ordinal: Int
        let text: String
        var description: String { "\(name) \(ordinal)" }
    }

    let calls: [Call]

    /// The options that limit strace to these calls.
    static func options(for file: URL) -> [String] {
        let path = file.path(percentEncoded: false)
        let folder = file.deletingLastPathComponent().path(percentEncoded: false)
        let bareFolder = folder.hasSuffix("/") ? String(folder.dropLast()) : folder
        let otherPaths = [".lock", ".errand-tmp", ".corrupt-1", ".corrupt-2"].map { path + $0 }
        return ([path, bareFolder, bareFolder + "/"] + otherPaths).flatMap { ["-P", $0] }
    }

    /// Traces a probe that adds cookies to the file and saves once, from the first use of the lock.
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
