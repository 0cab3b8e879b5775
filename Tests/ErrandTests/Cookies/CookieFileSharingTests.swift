import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// FAULTS 27, 28, 31, 33 and 77: processes that share a file, that are killed or exit, and disks that fail.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)), .serialized)
struct CookieFileSharingTests {
    private let folder: TemporaryFolder
    private let url = URL("https://shop.example.org/")

    init() throws {
        folder = try TemporaryFolder()
    }

    private var path: String { folder.file.path(percentEncoded: false) }

    static let processCounts = CookieProbe.runsSlowTests ? [(2, 1_000), (10, 1_000)] : [(2, 1_000)]

    @Test(
        "Processes that share a file take over each other's cookies and removals",
        .startsPrograms,
        .fault(27),
        arguments: processCounts
    )
    func merges(processes: Int, count: Int) async throws {
        try await withThrowingTaskGroup(of: TestProgram.Ending.self) { group in
            for number in 0..<processes {
                group.addTask { [path] in
                    try await CookieProbe.run(["churn", path, String(UnicodeScalar(97 + UInt8(number))), "\(count)"])
                }
            }
            for try await outcome in group {
                #expect(outcome.status == 0 && outcome.lines.last == "saved")
            }
        }
        let jar = CookieJar(file: folder.file, capacity: processes * count) { [weak folder] in
            recordIssue($0, while: folder)
        }
        let cookies = jar.cookies
        #expect(cookies.count == processes * count * 9 / 10)
        #expect(cookies.allSatisfy { $0.value == "1" && !$0.name.hasSuffix("0") })
    }

    @Test("Two jars of one process share a file like two processes")
    func sharesInProcess() throws {
        let one = CookieJar(file: folder.file)
        let other = CookieJar(file: folder.file)
        one.store(setCookie: "a=1", from: url)
        other.store(setCookie: "b=1", from: url)
        try one.flush()
        try other.flush()
        #expect(other.cookies.map(\.name).sorted() == ["a", "b"])
        other.remove { $0.name == "a" }
        try other.flush()
        one.store(setCookie: "c=1", from: url)
        try one.flush()
        #expect(one.cookies.map(\.name).sorted() == ["b", "c"])
        one.clear()
        other.store(setCookie: "d=1", from: url)
        try other.flush()
        #expect(CookieJar(file: folder.file).cookies.map(\.name) == ["d"])
    }

    @Test(
        "A stopped process that holds the lock delays saves for a limited time; a killed one does not",
        .startsPrograms,
        .fault(28)
    )
    func waitsForLock() throws {
        let problems = CookieFileErrorRecorder()
        let jar = CookieJar(file: folder.file, onError: problems.report)
        let holder = try CookieFileLockProcess(of: folder.file)
        holder.send(SIGSTOP)
        jar.store(setCookie: "a=1", from: url)
        let start = ContinuousClock.now
        #expect(throws: CookieFileError.self) { try jar.flush() }
        #expect(start.duration(to: .now) < .seconds(5))
        #expect(problems.kinds == [.locked])
        #expect(jar.header(for: url) == "a=1")
        try holder.kill()
        try jar.flush()
        #expect(CookieJar(file: folder.file).cookies.count == 1)
    }

    @Test("The lock is released when the parent process ends", .startsPrograms)
    func releasesLock() async throws {
        let script = "\"$0\" hold \"$1\" < /dev/null"
        let ending = try await TestProgram.run(["sh", "-c", script, CookieProbe.path, path])
        #expect(ending.status == 0)
        #expect(ending.lines == ["opened 0", "held"])
    }

    @Test(
        "A failed save is repeated automatically",
        .startsPrograms,
        .fault(31),
        .enabled(if: CookieProbe.runsSlowTests, "ERRAND_SLOW_TESTS is not 1")
    )
    func retries() async throws {
        let jar = CookieJar(file: folder.file)
        let holder = try CookieFileLockProcess(of: folder.file)
        jar.store(setCookie: "a=1", from: url)
        #expect(throws: CookieFileError.self) { try jar.flush() }
        try holder.kill()
        try await until { !CookieJar(file: folder.file).cookies.isEmpty }
    }

    @Test("A deleted file is restored by the next save")
    func restores() throws {
        let jar = CookieJar(file: folder.file)
        jar.store(setCookie: "a=1", from: url)
        try jar.flush()
        try FileManager.default.removeItem(at: folder.file)
        jar.store(setCookie: "b=1", from: url)
        try jar.flush()
        #expect(CookieJar(file: folder.file).cookies.count == 2)
    }

    @Test(
        "A read-only directory is reported once, and a later save succeeds",
        .startsPrograms,
        .fault(31),
        .enabled(if: !CookieProbe.isRoot || CookieProbe.canRunUnprivileged, "cannot become another user")
    )
    func survivesReadOnlyDirectory() async throws {
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o555],
            ofItemAtPath: folder.url.path(percentEncoded: false)
        )
        let nobody = CookieProbe.isRoot ? CookieProbe.unprivilegedCommand : []
        let outcome = try await CookieProbe.run(["churn", path, "a", "600"], under: nobody)
        #expect(outcome.lines.count { $0.hasPrefix("problem cannotWrite") } == 1)
        #expect(outcome.lines.count { $0.hasPrefix("failed cannotWrite") } > 1)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755],
            ofItemAtPath: folder.url.path(percentEncoded: false)
        )
        #expect(try await CookieProbe.run(["save", path, "a", "300"]).lines.contains("saved"))
    }

    @Test(
        "Another user's file is neither read nor replaced",
        .fault(31),
        .enabled(if: CookieProbe.canRunUnprivileged, "cannot become another user")
    )
    func respectsOthersFile() async throws {
        try Data("secret".utf8).write(to: folder.file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o777],
            ofItemAtPath: folder.url.path(percentEncoded: false)
        )
        let outcome = try await CookieProbe.run(["save", path, "a", "10"], under: CookieProbe.unprivilegedCommand)
        #expect(outcome.lines == ["problem cannotRead", "opened 0", "saving", "failed cannotRead", "in memory 10"])
        #expect(try Data(contentsOf: folder.file) == Data("secret".utf8))
    }

    @Test(
        "A full disk is reported once, and no temporary file is left",
        .fault(31),
        .enabled(if: CookieProbe.canMount, "cannot mount")
    )
    func survivesFullDisk() async throws {
        let script = "mount -t tmpfs -o size=16k none \"$0\" && \"$1\" save \"$2\" \"$3\" 100; ls -A \"$0\""
        let command = [
            "unshare", "-m", "sh", "-c", script, folder.url.path(percentEncoded: false), CookieProbe.path, path,
            String(repeating: "n", count: 200),
        ]
        let outcome = try await TestProgram.run(command)
        #expect(outcome.lines.count { $0.hasPrefix("problem") } == 1)
        let end = try #require(outcome.lines.lastIndex(of: "failed cannotWrite"))
        #expect(outcome.lines[end...].prefix(2) == ["failed cannotWrite", "in memory 100"])
        // A slow process saves some of the cookies before the others are stored.
        let names = outcome.lines[end...].dropFirst(2).filter { $0 != "cookies.txt" }
        #expect(names == ["cookies.txt.lock"])
    }

    @Test(
        "The cookies are saved automatically when the disk is no longer full",
        .fault(31),
        .enabled(if: CookieProbe.canMount, "cannot mount")
    )
    func recoversFromFullDisk() async throws {
        let script = """
            mount -t tmpfs -o size=64k none "$0" && head -c 64k /dev/zero > "$0/ballast"; "$1" recover "$2" c 100
            """
        let place = folder.url.path(percentEncoded: false)
        let command = ["unshare", "-m", "sh", "-c", script, place, CookieProbe.path, path]
        let outcome = try await TestProgram.run(command)
        #expect(outcome.lines == ["opened 0", "saving", "problem cannotWrite", "failed cannotWrite", "on disk 100"])
    }

    @Test("Flushed cookies are in the file after the process is killed", .startsPrograms, .fault(33))
    func keepsFlushed() async throws {
        for number in 0..<3 {
            let outcome = try await CookieProbe.run(["crash", path, "new\(number)", "10"])
            #expect(outcome.status != 0 && outcome.lines.last == "saved")
            #expect(CookieJar(file: folder.file).cookies.count == 10 * (number + 1))
        }
    }

    @Test("A process that exits saves the changes of its jars", .startsPrograms, .fault(77))
    func savesAtExit() async throws {
        _ = try await CookieProbe.run(["exit", path, "a", "10"])
        #expect(CookieJar(file: folder.file).cookies.count == 10)
    }

    @Test(
        "A process that exits during requests ends at once, and saves the changes of its jars",
        .startsPrograms,
        .fault(77)
    )
    func savesAtExitInFlight() async throws {
        let gate = Gate()
        let server = try FixtureServer.start { request in
            request.path == "/exit" ? .status(200).preceded(by: .pass(gate)) : .hang
        }
        let places = [server.url("/hang"), server.url("/exit", host: "localhost")].map(\.absoluteString)
        async let outcome = CookieProbe.run(["exit", path, "a", "10"] + places)
        #expect(await server.waitForTotalRequests(17))
        let start = ContinuousClock.now
        gate.open()
        #expect(try await outcome.status == 0)
        if CookieProbe.runsSlowTests { #expect(start.duration(to: .now) < .seconds(1)) }
        #expect(CookieJar(file: folder.file).cookies.count == 10)
    }
}
