#if os(Linux)
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("A download that continues in another process", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct ResumedDownloadProcessTests {
    private let folder: TemporaryFolder
    private var target: URL { folder.url.appending(path: "photo.jpg") }

    init() throws { folder = try TemporaryFolder() }

    private func server(_ length: Int64, bytesPerSecond rate: Int64 = 0) throws -> FixtureServer {
        try FixtureServer.start { request in
            .representation(of: .counting(length), etag: "\"1\"", to: request).throttled(bytesPerSecond: rate)
        }
    }

    private func probe(_ server: FixtureServer) throws -> TestProgram {
        try TestProgram([CookieProbe.path, "resume", target.path, server.url("/photo").absoluteString])
    }

    @Test(.fault(112)) func `Killed at random bytes, it is complete in the end, and little is sent again`() async throws
    {
        let length: Int64 = 24 << 20
        let server = try server(length, bytesPerSecond: 48 << 20)
        var random = SplitMix(seed: 34)
        for point in (0..<8).map({ _ in Int64.random(in: 1..<length, using: &random) }).sorted() {
            let program = try probe(server)
            await suspend(
                while: DownloadedFile.partialProgress(of: target)?.completedBytes ?? 0 < point && program.isRunning
            )
            program.stop()
            _ = try await program.ending()
        }
        // A process may be killed when everything is complete.
        if FileManager.default.fileExists(atPath: target.path) { try FileManager.default.removeItem(at: target) }
        let stored = DownloadedFile.partialProgress(of: target)?.completedBytes
        #expect(try await probe(server).ending().lines == ["downloaded"])
        #expect(try Data(contentsOf: target) == .counting(Int(length)))
        #expect(try folder.names == ["photo.jpg"])
        #expect(server.requests.last?.header("Range") == stored.map { "bytes=\($0)-" })
        let starts = server.requests.compactMap { $0.header("Range")?.dropFirst(6).dropLast() }.compactMap { Int64($0) }
        #expect(starts == starts.sorted())
    }

    /// Starts a process, and kills it once so many bytes are in the partial file.
    private func kill(at bytes: Int64, of server: FixtureServer) async throws {
        let program = try probe(server)
        let part = folder.url.appending(path: ".photo.jpg.errand-part1").path
        await suspend(while: stat(ofTarget: part).map { Int64($0.st_size) } != bytes && program.isRunning)
        program.stop()
        _ = try await program.ending()
    }

    @Test(.fault(112)) func `Killed before anything was on the disk for certain, it continues where it was`()
        async throws
    {
        let files = try FileServer()
        files.cutNext(after: 100_000, .hang)
        try await kill(at: 100_000, of: files.server)
        #expect(try await probe(files.server).ending().lines == ["downloaded"])
        #expect(files.ranges == [nil, "bytes=100000-"])
        #expect(try Data(contentsOf: target) == .counting(Int(FileServer.length)))
    }

    /// As of two servers behind one name, of which one has the older version.
    @Test(.fault(110), .fault(112)) func `Killed in a version that cannot be continued, it continues no other one`()
        async throws
    {
        let files = try FileServer()
        files.cutNext(after: 100_000, .hang)
        try await kill(at: 100_000, of: files.server)
        files.change { ($0.source, $0.etag) = (.bytes([UInt8](repeating: 9, count: 200_000)), nil) }
        files.cutNext(after: 150_000, .hang)
        try await kill(at: 150_000, of: files.server)
        files.change { ($0.source, $0.etag) = (.counting(FileServer.length), "\"1\"") }
        #expect(try await probe(files.server).ending().lines == ["downloaded"])
        #expect(files.ranges == [nil, "bytes=100000-", nil])
        #expect(try Data(contentsOf: target) == .counting(Int(FileServer.length)))
    }

    @Test(.fault(115)) func `Two processes do not write one file`() async throws {
        let server = try server(4 << 20, bytesPerSecond: 1 << 20)
        let first = try probe(server)
        await suspend(while: DownloadedFile.partialProgress(of: target) == nil)
        let second = try await probe(server).ending()
        #expect(second.lines == ["failed storage: another download to photo.jpg is running"])
        // Nor does this one remove it.
        DownloadedFile.removePartialFile(of: target)
        #expect(DownloadedFile.partialProgress(of: target) != nil)
        first.stop()
        _ = try await first.ending()
    }

    /// The system reports a failure to the first `fsync` alone.
    @Test(.fault(70), .enabled(if: CookieProbe.canTrace, "strace is not here"), arguments: ["EIO", "ENOSPC"])
    func `What could not be written to the disk is neither complete nor continued`(_ error: String) async throws {
        let server = try server(40 << 20)
        let outcome = try await CookieProbe.run(
            ["resume", target.path, server.url("/photo").absoluteString],
            under: ["strace", "-f", "-o", "/dev/null", "-e", "inject=fsync:error=\(error):when=1"]
        )
        #expect(outcome.lines.count == 1)
        #expect(outcome.lines[0].hasPrefix("failed storage: photo.jpg cannot be written (fsync: "))
        #expect(try folder.names == [])
    }

    @Test(.fault(70), .fault(116), .enabled(if: CookieProbe.canMount, "cannot mount"))
    func `A full disk fails the download, and with room again it continues`() async throws {
        let server = try server(4 << 20, bytesPerSecond: 16 << 20)
        let script = #"""
            mount -t tmpfs -o size=2m none "$0" && "$1" resume "$0/file" "$2" && ls -A "$0" \
                && mount -o remount,size=9m "$0" && "$1" resume "$0/file" "$2" && ls -A "$0"
            """#
        let outcome = try await TestProgram.run(
            ["unshare", "-m", "sh", "-c", script, folder.url.path, CookieProbe.path, server.url("/").absoluteString]
        )
        #expect(
            outcome.lines == [
                "failed storage: file cannot be written (write: No space left on device)", ".file.errand-part1",
                ".file.errand-part1.json", "downloaded", "file",
            ]
        )
        #expect(server.requests.last?.header("Range")?.hasPrefix("bytes=") == true)
    }
}
#endif
