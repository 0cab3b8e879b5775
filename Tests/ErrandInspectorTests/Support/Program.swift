import Foundation
import TestSupport

/// Runs programs that tests need; those that are missing skip their tests.
enum Program {
    /// A program's exit status and standard output.
    struct Ending: Sendable {
        let status: Int32
        let output: String
    }

    /// The folder with the programs of these tests.
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Programs")
        .standardizedFileURL
    /// The Python of `.ci/run` with a validator of JSON schemas and two readers of HAR.
    static let readers = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../.build/inspector/bin/python").path
    static let hasReaders = succeeds([readers, "-c", readerCheck])
    // Their import takes much longer.
    private static let readerCheck =
        "from importlib.util import find_spec as find;"
        + "exit(not all(map(find, ['jsonschema', 'haralyzer', 'hario_core'])))"
    static let python = path(of: "python3")
    static let browser = ["chromium", "chromium-browser", "google-chrome"].lazy.compactMap(path).first
    static let canMount = succeeds(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"])

    /// Runs a program to its end, which is forced after two minutes.
    static func run(_ command: [String]) async throws -> Ending {
        try await onSeparateThread { try wait(for: command) }
    }

    private static func wait(for command: [String]) throws -> Ending {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: path(of: command[0]) ?? command[0])
        process.arguments = Array(command.dropFirst())
        process.standardOutput = output
        try process.run()
        let limit = DispatchWorkItem { process.terminate() }
        DispatchQueue.global().asyncAfter(deadline: .now() + 120, execute: limit)
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        limit.cancel()
        return Ending(status: process.terminationStatus, output: String(decoding: bytes, as: UTF8.self))
    }

    private static func succeeds(_ command: [String]) -> Bool {
        let process = Process()
        guard let path = path(of: command[0]) else { return false }
        process.executableURL = URL(filePath: path)
        process.arguments = Array(command.dropFirst())
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    /// The path of a program that is built with the tests.
    static func built(_ name: String) -> String {
        Products.folder.appending(path: name).path
    }

    private static func path(of name: String) -> String? {
        guard ChildProcesses.areAllowed else { return nil }
        if name.contains("/") { return FileManager.default.isExecutableFile(atPath: name) ? name : nil }
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin"
        return path.split(separator: ":").map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
