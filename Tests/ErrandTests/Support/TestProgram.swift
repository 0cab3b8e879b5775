import Foundation
import Testing
import TestSupport

@testable import Errand

/// A program that a test runs in a child process, with all processes that it starts.
///
/// It is ended when this object is released, at its deadline, or when the task that waits for it is cancelled.
final class TestProgram: Sendable {
    /// A program's exit status and output.
    struct Ending: Sendable {
        let status: Int32
        let output: String
        let standardError: String

        var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    /// The error of a program that is not installed.
    struct Missing: Error {
        let name: String
    }

    /// The error of a program that is still running at its deadline.
    struct TimedOut: Error, CustomStringConvertible {
        let command: [String]
        let deadline: Duration

        var description: String { "\(command) did not end within \(deadline)" }
    }

    private let command: [String]
    private let deadline: Duration
    private let process: Lock<Process>
    private let hasTimedOut = Lock(false)
    private let end = DispatchGroup()
    private let folder: TemporaryFolder

    /// Starts the program that `command` begins with, a path or a name.
    ///
    /// Its output is kept for ``ending()``, except for the standard output when `output` is given.
    init(
        _ command: [String],
        in directory: URL? = nil,
        environment: [String: String] = [:],
        input: FileHandle? = nil,
        output: Pipe? = nil,
        deadline: Duration = .seconds(300)
    ) throws {
        guard let path = Self.path(of: command[0]) else { throw Missing(name: command[0]) }
        let folder = try TemporaryFolder()
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = Array(command.dropFirst())
        process.currentDirectoryURL = directory
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let openInput = input == nil ? Pipe() : nil
        // Files, because they need not be read meanwhile, and a process that keeps them open does not delay the end.
        let files = (output == nil ? try folder.newFile("output") : nil, try folder.newFile("standardError"))
        process.standardInput = input ?? openInput
        process.standardOutput = output ?? files.0
        process.standardError = files.1
        process.terminationHandler = { [end] _ in
            try? openInput?.fileHandleForWriting.close()
            end.leave()
        }
        end.enter()
        do { try process.run() } catch {
            end.leave()
            throw error
        }
        // Foundation never releases a process, and programs that start later would find each descriptor.
        for file in [files.0, files.1] { try? file?.close() }
        (self.command, self.deadline, self.folder) = (command, deadline, folder)
        self.process = Lock(process)
        let time = DispatchTime.now() + deadline / .seconds(1)
        DispatchQueue.global().asyncAfter(deadline: time) { [weak self] in self?.expire() }
    }

    deinit { stop() }

    /// Whether the program is running.
    var isRunning: Bool { process.withLock { $0.isRunning } }

    /// Sends the program a signal.
    func send(_ signal: Int32) {
        process.withLock { if $0.isRunning { kill($0.processIdentifier, signal) } }
    }

    /// Ends the program and the processes that it has started.
    func stop() {
        // A program inherits the blocked signals of the thread that starts it; this signal is never blocked.
        // On Linux, Foundation makes the program the leader of a process group.
        process.withLock { process in
            guard process.isRunning else { return }
            if kill(-process.processIdentifier, SIGKILL) != 0 { kill(process.processIdentifier, SIGKILL) }
        }
    }

    private func expire() {
        guard isRunning else { return }
        hasTimedOut.withLock { $0 = true }
        stop()
    }

    // MARK: Ending

    /// Waits for the program's end; ends it when the task is cancelled.
    func ending() async throws -> Ending {
        await withTaskCancellationHandler {
            await withCheckedContinuation { end.notify(queue: .global(), execute: $0.resume) }
        } onCancel: {
            stop()
        }
        try Task.checkCancellation()
        return try result()
    }

    /// Waits for the program's end on this thread, for callers that cannot suspend: a suite's condition, an `init`.
    func waitForEnding() throws -> Ending {
        end.wait()
        return try result()
    }

    private func result() throws -> Ending {
        guard !hasTimedOut.withLock({ $0 }) else { throw TimedOut(command: command, deadline: deadline) }
        return Ending(
            status: process.withLock { $0.terminationStatus },
            output: folder.text("output"),
            standardError: folder.text("standardError")
        )
    }
}

extension TestProgram {
    /// The path of a program; `nil` when it is not installed.
    static func path(of name: String) -> String? {
        guard ChildProcesses.areAllowed else { return nil }
        guard !name.contains("/") else { return name }
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin"
        let candidates = path.split(separator: ":").map { "\($0)/\(name)" }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The path of a program that is built with the tests.
    static func built(_ name: String) -> String {
        Products.folder.appending(path: name).path
    }

    /// Runs a program to its end.
    static func run(_ command: [String], deadline: Duration = .seconds(300)) async throws -> Ending {
        try await TestProgram(command, deadline: deadline).ending()
    }

    /// What a program prints; nothing when it is not installed.
    static func output(of command: [String]) -> String {
        (try? TestProgram(command).waitForEnding().output) ?? ""
    }

    /// Whether a program is installed and succeeds.
    static func succeeds(_ command: [String]) -> Bool {
        (try? TestProgram(command).waitForEnding().status) == 0
    }
}

extension TemporaryFolder {
    fileprivate func newFile(_ name: String) throws -> FileHandle {
        try Data().write(to: url.appending(path: name))
        return try FileHandle(forWritingTo: url.appending(path: name))
    }

    /// The text of a file; empty for a missing one.
    fileprivate func text(_ name: String) -> String {
        String(decoding: FileManager.default.contents(atPath: url.appending(path: name).path) ?? Data(), as: UTF8.self)
    }
}

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

@Suite("A program of a test", .startsPrograms, .timeLimit(.minutes(10)))
struct TestProgramTests {
    @Test func `Its output and its exit status are reported`() async throws {
        let ending = try await TestProgram.run(["sh", "-c", "echo one; echo two; echo three >&2; exit 4"])
        #expect(ending.status == 4)
        #expect(ending.lines == ["one", "two"])
        #expect(ending.standardError == "three\n")
    }

    @Test func `A program that is not installed is an error`() async {
        await #expect(throws: TestProgram.Missing.self) { try await TestProgram.run(["no-such-program"]) }
        await #expect(throws: (any Error).self) { try await TestProgram.run(["/no/such/program"]) }
        #expect(!TestProgram.succeeds(["no-such-program"]))
        #expect(!TestProgram.succeeds(["false"]))
    }

    // The program ignores all other signals.
    private let deaf = ["sh", "-c", "trap '' TERM INT HUP; echo deaf; while true; do sleep 1000; done"]

    @Test func `Its deadline ends it`() async {
        let error = await #expect(throws: TestProgram.TimedOut.self) {
            try await TestProgram.run(deaf, deadline: .milliseconds(50))
        }
        #expect(error?.description.contains("did not end within 0.05 seconds") == true)
    }

    @Test func `Cancelling the task that waits for it ends it`() async throws {
        let output = Pipe()
        let program = try TestProgram(deaf, output: output)
        _ = try output.line(behind: "deaf")
        let task = Task { try await program.ending() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(!program.isRunning)
    }

    @Test func `The processes that it has started end with it`() async throws {
        let output = Pipe()
        let program = try TestProgram(["sh", "-c", "sleep 1000 & echo started; wait"], output: output)
        _ = try output.line(behind: "started")
        program.stop()
        #expect(try await program.ending().status == SIGKILL)
        let reading = output.fileHandleForReading.fileDescriptor
        #expect(fcntl(reading, F_SETFL, O_NONBLOCK) == 0)
        var byte: UInt8 = 0
        // The end of the file is reached when no process can write any more.
        try await until { read(reading, &byte, 1) == 0 }
    }

    @Test func `Waiting for a line of a program that has ended is an error`() throws {
        let output = Pipe()
        let program = try TestProgram(["echo", "other"], output: output)
        #expect(throws: NoLine.self) { try output.line(behind: "held") }
        #expect(try program.waitForEnding().status == 0)
    }
}
