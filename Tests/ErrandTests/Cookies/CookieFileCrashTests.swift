import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// FAULTS 24, 25, 33 and 92: a process that is killed during a save, a disk that fails, and the order of system calls.
@Suite(
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .serialized,
    .enabled(if: CookieProbe.canTrace, "strace cannot trace here")
)
struct CookieFileCrashTests {
    /// How many cookies are on the disk before the save, which adds one; more would be saved in several steps.
    static let count = 100
    private static let kept: Set = ["cookies.txt", "cookies.txt.lock"]
    private let folder: TemporaryFolder

    init() async throws {
        folder = try TemporaryFolder()
        #expect(try await CookieProbe.run(["save", path, "old", "\(Self.count)"]).lines.contains("saved"))
    }

    private var path: String { folder.file.path(percentEncoded: false) }

    @Test(
        "A process that is killed during a save leaves the old or the new file, and no temporary one",
        .fault(24)
    )
    func survivesKill() async throws {
        let old = try Data(contentsOf: folder.file)
        let calls = try await trace().calls
        #expect(calls.count > 15)
        for call in calls {
            try old.write(to: folder.file)
            let outcome = try await probe(injecting: "signal=SIGKILL", at: call)
            #expect(outcome.lines.last == "saving", "\(call)")
            let jar = CookieJar(file: folder.file) { [weak folder] in recordIssue($0, "\(call): ", while: folder) }
            #expect([Self.count, Self.count + 1].contains(jar.cookies.count), "\(call)")
            #expect(Set(jar.cookies.map(\.name)).isSuperset(of: (0..<Self.count).map { "old-\($0)" }), "\(call)")
            #expect(try Set(folder.names).isSubset(of: Self.kept), "\(call)")
        }
    }

    @Test(
        "A process that is killed while it replaces a damaged file loses no cookies",
        .fault(92),
        arguments: [0, 3]
    )
    func survivesKillWithDamagedFile(_ added: Int) async throws {
        let damaged = try Data(contentsOf: folder.file).prefix(5_000)
        let count = CookieFileFormat.decode(Array(damaged), at: .now).cookies.count
        #expect((30..<Self.count).contains(count))
        try damaged.write(to: folder.file)
        let calls = try await SaveTrace(of: folder.file, adding: added).calls
        #expect(calls.count { $0.name.hasPrefix("rename") } >= 2)
        for call in calls {
            for name in try folder.names { try FileManager.default.removeItem(at: folder.url.appending(path: name)) }
            try damaged.write(to: folder.file)
            _ = try await probe(injecting: "signal=SIGKILL", at: call, adding: added)
            let jar = CookieJar(file: folder.file)
            #expect(jar.cookies.count { $0.name.hasPrefix("old") } == count, "\(call)")
            // The cookies are in the file now, and not only in memory.
            #expect(CookieJar(file: folder.file).cookies.count == jar.cookies.count, "\(call)")
            #expect(try Data(contentsOf: folder.url.appending(path: "cookies.txt.corrupt-1")) == damaged, "\(call)")
            #expect(try Set(folder.names) == Self.kept.union(["cookies.txt.corrupt-1"]), "\(call)")
        }
    }

    @Test("A damaged file stays at its path when the disk is full", .fault(92))
    func keepsDamagedFile() async throws {
        let damaged = try Data(contentsOf: folder.file).dropLast(100)
        try damaged.write(to: folder.file)
        let fault = ["-e", "inject=write:error=ENOSPC"] + SaveTrace.options(for: folder.file)
        let lines = try await CookieProbe.run(
            ["save", path, "new", "1"],
            under: ["strace", "-o", "/dev/null"] + fault
        ).lines
        #expect(lines.filter { $0.hasPrefix("problem") } == ["problem cannotWrite"])
        #expect(lines.last == "in memory \(Self.count)" || lines.last == "in memory \(Self.count + 1)")
        #expect(try Data(contentsOf: folder.file) == damaged)
        #expect(try Set(folder.names) == Self.kept)
    }

    @Test("A failed save is reported once, and changes neither the file nor the cookies in memory", .fault(25))
    func survivesError() async throws {
        let old = try Data(contentsOf: folder.file)
        let calls = try await trace().calls.filter { Self.mayFail.contains($0.name) }
        let full = calls.map { ("ENOSPC", $0) }
        let broken = calls.filter { Self.writes.contains($0.name) }.flatMap { [("EIO", $0), ("EDQUOT", $0)] }
        for (error, call) in full + broken {
            try old.write(to: folder.file)
            let lines = try await probe(injecting: "error=\(error)", at: call).lines
            #expect(lines.last == "in memory \(Self.count + 1)", "\(error) \(call)")
            #expect(lines.count { $0.hasPrefix("problem") } == 1, "\(error) \(call)")
            #expect(lines.count { $0.hasPrefix("failed") } == 1, "\(error) \(call)")
            // The file is replaced if only the directory fails, or if the scheduled save runs before the process exits.
            let isDone = try Data(contentsOf: folder.file) != old
            let jar = CookieJar(file: folder.file) { [weak folder] in
                recordIssue($0, "\(error) \(call): ", while: folder)
            }
            #expect(jar.cookies.count == Self.count + (isDone ? 1 : 0), "\(error) \(call)")
            #expect(try Set(folder.names).isSubset(of: Self.kept), "\(error) \(call)")
        }
    }

    @Test("A folder that cannot be read or synchronized makes no failure of a save", .fault(25))
    func savesInFolderWithoutSynchronization() async throws {
        let old = try Data(contentsOf: folder.file)
        let last = try await trace().calls.filter { Self.mayFail.contains($0.name) }.suffix(2)
        #expect(last.map(\.name) == ["openat", "fsync"])
        for (error, call) in zip(["EACCES", "EINVAL"], last) {
            try old.write(to: folder.file)
            let lines = try await probe(injecting: "error=\(error)", at: call).lines
            #expect(lines.contains("saved") && !lines.contains { $0.hasPrefix("problem") }, "\(lines)")
            #expect(CookieJar(file: folder.file).cookies.count == Self.count + 1)
        }
    }

    @Test("A logout is on the disk when it returns, even if the disk is full", .fault(33))
    func keepsLogout() async throws {
        let old = try Data(contentsOf: folder.file)
        for fault in [[], ["-e", "inject=write:error=ENOSPC"] + SaveTrace.options(for: folder.file)] {
            try old.write(to: folder.file)
            let outcome = try await CookieProbe.run(["clear", path], under: ["strace", "-o", "/dev/null"] + fault)
            #expect(outcome.lines.last == "cleared")
            #expect(CookieJar(file: folder.file).cookies.isEmpty)
        }
    }

    @Test(
        "A save synchronizes the file before and the directory after renaming, and only the owner may read it",
        .fault(33)
    )
    func ordersCalls() async throws {
        let calls = try await trace().calls.filter { Self.mayFail.contains($0.name) }
        let rename = try #require(calls.firstIndex { $0.name.hasPrefix("rename") })
        #expect(calls[..<rename].last?.name == "fsync")
        #expect(calls[rename...].map(\.name).suffix(2) == ["openat", "fsync"])
        let creation = try #require(calls.first { $0.text.contains("errand-tmp") && $0.name == "openat" })
        #expect(creation.text.contains("O_EXCL|O_NOFOLLOW|O_CLOEXEC, 0600"))
    }

    private static let writes: Set = ["write", "fsync", "rename", "renameat2"]
    private static let mayFail: Set = ["openat", "fchmod", "flock", "read", "write", "fsync", "rename", "renameat2"]

    private func trace() async throws -> SaveTrace {
        let old = try Data(contentsOf: folder.file)
        let trace = try await SaveTrace(of: folder.file)
        try old.write(to: folder.file)
        return trace
    }

    private func probe(
        injecting fault: String,
        at call: SaveTrace.Call,
        adding count: Int = 1
    ) async throws -> TestProgram.Ending {
        let fault = "inject=\(call.name):\(fault):when=\(call.ordinal)"
        return try await CookieProbe.run(
            ["save", path, "new", "\(count)"],
            under: ["strace", "-o", "/dev/null", "-e", fault] + SaveTrace.options(for: folder.file)
        )
    }
}
