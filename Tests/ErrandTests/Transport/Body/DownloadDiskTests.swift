#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

@Suite("The disk during a download", .limitedConcurrency, .timeLimit(.minutes(10)))
struct DownloadDiskTests {
    /// Where the transport stores the body: in a file, or for a status that is no 2xx in memory, from where the load stores it.
    enum Source: Sendable, CaseIterable {
        case file, memory
    }

    /// Downloads in a child process, under strace with these options.
    private func download(_ source: Source, to folder: TemporaryFolder, _ options: [String]) async throws -> [String] {
        let (command, status) = source == .file ? ("download", 200) : ("accept", 404)
        let server = try FixtureServer.start { _ in .stream(.counting(1_000_000), status: status) }
        return try await CookieProbe.run(
            [command, folder.file.path, server.url("/").absoluteString],
            under: ["strace", "-f"] + options
        ).lines
    }

    @Test(
        "A full disk is an error, even where the system reports it late",
        .fault(70),
        .enabled(if: CookieProbe.canTrace, "strace is not here"),
        arguments: [
            ("none", "downloaded"),
            ("fsync:error=EIO", "failed storage: cookies.txt cannot be written (fsync: Input/output error)"),
            ("fsync:error=ENOSPC", "failed storage: cookies.txt cannot be written (fsync: No space left on device)"),
            ("rename:error=EDQUOT", "failed storage: cookies.txt cannot be written (rename: Disk quota exceeded)"),
            ("mkdir:error=EACCES", "failed storage: cookies.txt cannot be written (mkdir: Permission denied)"),
        ],
        Source.allCases
    )
    func late(_ fault: (call: String, ending: String), source: Source) async throws {
        for old in [nil, "old"] {
            let folder = try TemporaryFolder()
            try old.map { try Data($0.utf8).write(to: folder.file) }
            let inject = fault.call == "none" ? [] : ["-e", "inject=\(fault.call)"]
            let lines = try await download(source, to: folder, ["-o", "/dev/null"] + inject)
            #expect(lines == [fault.ending])
            let isStored = fault.call == "none"
            #expect(try folder.names == (isStored || old != nil ? [folder.file.lastPathComponent] : []))
            let size = isStored ? 1_000_000 : old?.utf8.count
            #expect(FileManager.default.contents(atPath: folder.file.path)?.count == size)
        }
    }

    @Test(
        "A download is on the disk before it replaces its target, wherever the transport has stored the body",
        .fault(70),
        .enabled(if: CookieProbe.canTrace, "strace is not here"),
        arguments: Source.allCases
    )
    func synchronizes(_ source: Source) async throws {
        let (folder, logs) = (try TemporaryFolder(), try TemporaryFolder())
        try Data("old".utf8).write(to: folder.file)
        let options = ["-y", "-o", logs.file.path, "-e", "trace=write,fsync,fdatasync,rename,renameat,renameat2"]
        #expect(try await download(source, to: folder, options) == ["downloaded"])
        let log = try String(contentsOf: logs.file, encoding: .utf8)
        // Of the folder's files alone: by their paths, as another thread may write them.
        let calls = log.split(separator: "\n").filter { $0.contains(folder.url.path) }.compactMap { line in
            line.firstMatch(of: /(write|fsync|fdatasync|rename)(at|at2)?\(/).map { "\($0.1)" }
        }
        let written = try #require(calls.lastIndex(of: "write"))
        #expect(calls[written...] == ["write", "fsync", "rename"], "\(calls)")
    }

    @Test(
        "A hundred downloads to a full disk fail once each and leave no file",
        .fault(70),
        .enabled(if: CookieProbe.canMount, "cannot mount")
    )
    func full() async throws {
        let folder = try TemporaryFolder()
        let server = try FixtureServer.start { _ in .stream(.counting(300_000)) }
        let script = #"mount -t tmpfs -o size=64k none "$0" && "$1" download "$0/file" "$2" 100 && ls -A "$0""#
        let outcome = try await TestProgram.run(
            ["unshare", "-m", "sh", "-c", script, folder.url.path, CookieProbe.path, server.url("/").absoluteString]
        )
        let failure = "failed storage: file cannot be written (write: No space left on device)"
        #expect(outcome.lines == Array(repeating: failure, count: 100))
        #expect(server.totalRequests == 100)
    }
}
#endif
