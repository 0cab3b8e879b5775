import Foundation
import TestSupport
import Testing

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
