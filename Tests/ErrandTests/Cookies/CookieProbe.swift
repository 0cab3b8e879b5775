import Foundation

/// Runs `cookie-probe`, the process of the cookie tests that may be killed, alone or under another program.
enum CookieProbe {
    struct Outcome: Sendable {
        let status: Int32
        let lines: [String]
    }

    static let path = URL(filePath: CommandLine.arguments[0])
        .deletingLastPathComponent().appending(path: "cookie-probe").path(percentEncoded: false)
    static let isRoot = geteuid() == 0
    static let runsSlowTests = ProcessInfo.processInfo.environment["ERRAND_SLOW_TESTS"] == "1"
    /// Whether strace is here and may trace.
    static let canTrace = succeeds(["strace", "-o", "/dev/null", "true"])
    static let canMount = succeeds(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"])
    static let isHere = FileManager.default.isExecutableFile(atPath: path)
    static let hasCurl = succeeds(["curl", "--version"])

    /// Runs the probe to its end.
    static func run(_ arguments: [String], under wrapper: [String] = []) async throws -> Outcome {
        try await command(wrapper + [path] + arguments)
    }

    /// Runs a command to its end, which a watchdog brings about after a minute.
    static func command(_ command: [String]) async throws -> Outcome {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["timeout", "-s", "KILL", "60"] + command
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try await withCheckedThrowingContinuation { (end: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in end.resume() }
            do { try process.run() } catch { end.resume(throwing: error) }
        }
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        return Outcome(status: process.terminationStatus, lines: lines)
    }

    static func succeeds(_ command: [String]) -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}

/// A probe that holds the lock of a cookie file until it is released.
final class LockHolder {
    private let process = Process()

    /// Returns when the lock is held.
    init(of file: URL) throws {
        let output = Pipe()
        process.executableURL = URL(filePath: CookieProbe.path)
        process.arguments = ["hold", file.path(percentEncoded: false)]
        process.standardOutput = output
        try process.run()
        var text = ""
        while !text.contains("held") {
            text += String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        }
    }

    deinit { kill() }

    func send(_ signal: Int32) { Foundation.kill(process.processIdentifier, signal) }

    func kill() {
        send(SIGKILL)
        process.waitUntilExit()
    }
}
