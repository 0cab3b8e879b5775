#if os(Linux)
import FixtureServer
import Foundation
import Testing

@Suite("The disk under a download", .takesTurns, .timeLimit(.minutes(2)))
struct DownloadDiskTests {
    @Test(
        "A byte that finds no room is an error, even where the system tells it late",
        .fault(70),
        .enabled(if: CookieProbe.canTrace, "strace is not here"),
        arguments: [("none", "downloaded"), ("fsync:error=EIO", "failed file"), ("fsync:error=ENOSPC", "failed file")]
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
}
#endif
