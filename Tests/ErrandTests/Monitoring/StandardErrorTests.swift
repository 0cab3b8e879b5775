import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Lines on standard error", .hangLimit, .timeLimit(.minutes(10)))
struct StandardErrorTests {
    @Test func `Lines of several threads that are longer than a pipe accepts at once are not mixed`() async throws {
        let pipe = Pipe()
        async let output = onSeparateThread { try pipe.fileHandleForReading.readToEnd() ?? Data() }
        let descriptor = pipe.fileHandleForWriting.fileDescriptor
        let written = "abcdefgh".map { String(repeating: $0, count: 100_000) }
        await withTaskGroup { group in
            for line in written {
                group.addTask {
                    for _ in 0..<20 { StandardError.write(line: line, to: descriptor) }
                }
            }
        }
        try pipe.fileHandleForWriting.close()
        let lines = String(decoding: try await output, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 160)
        for line in written { #expect(lines.count { $0 == line } == 20) }
    }

    @Test func `A pipe without a reader and a closed descriptor lose the line`() throws {
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        for _ in 0..<100 { StandardError.write(line: "lost", to: pipe.fileHandleForWriting.fileDescriptor) }
        StandardError.write(line: "lost", to: -1)
        var pending = sigset_t()
        sigpending(&pending)
        #expect(sigismember(&pending, SIGPIPE) == 0)
    }
}
