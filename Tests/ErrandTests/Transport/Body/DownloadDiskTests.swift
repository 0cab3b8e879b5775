#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

@Suite("The disk during a download", .limitedConcurrency, .timeLimit(.minutes(10)))
struct DownloadDiskTests {
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
        ]
    )
    func late(fault: String, ending: String) async throws {
        let folder = try TemporaryFolder()
        let server = try FixtureServer.start { _ in .stream(.counting(1_000_000)) }
        let inject = fault == "none" ? [] : ["-e", "inject=\(fault)"]
        let outcome = try await CookieProbe.run(
            ["download", folder.file.path, server.url("/").absoluteString],
            under: ["strace", "-f", "-o", "/dev/null"] + inject
        )
        #expect(outcome.lines == [ending])
        #expect(try folder.names == (fault == "none" ? [folder.file.lastPathComponent] : []))
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
