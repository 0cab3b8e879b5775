@testable import Errand
import Foundation
import Synchronization
import Testing

@testable import Errand

/// A program of the machine that a test runs, and that ends with the test.
final class TestProgram: Sendable {
    private let process: Mutex<Process>
    private let output: FileHandle

    /// The path of a program, `nil` when the machine does not have it.
    static func path(of name: String) -> String? {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin"
        let candidates = path.split(separator: ":").map { "\($0)/\(name)" }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Runs a program to its end.
    static func run(_ name: String, _ arguments: [String], in directory: URL) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(path(of: name)))
        process.arguments = arguments
        process.currentDirectoryURL = directory
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(name) \(arguments)")
    }

    /// Starts a program.
    init(_ name: String, _ arguments: [String], in directory: URL) throws {
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: try #require(Self.path(of: name)))
        process.arguments = arguments
        process.currentDirectoryURL = directory
        process.standardInput = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        output = pipe.fileHandleForReading
        self.process = Mutex(process)
    }

    deinit {
        stop()
    }

    /// Ends the program, as the end of this object does.
    func stop() {
        process.withLock { process in
            // A program starts with the signals blocked that are blocked in the thread that starts it; this one never is.
            if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        }
    }

    /// Whether the program has not ended.
    var isRunning: Bool { process.withLock { $0.isRunning } }

    /// Reads what the program prints until a line begins with `prefix`, and returns the rest of that line.
    func line(behind prefix: String) throws -> String {
        var text = ""
        while true {
            let data = output.availableData
            try #require(!data.isEmpty, "the program ended")
            text += String(decoding: data, as: UTF8.self)
            let line = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().first {
                $0.hasPrefix(prefix)
            }
            if let line { return String(line.dropFirst(prefix.count)) }
        }
    }
}
