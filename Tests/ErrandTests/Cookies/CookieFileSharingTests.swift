import FixtureServer
import ErrandTesting
import Foundation
import Testing
import TestSupport

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

    static let processCounts = CookieProbe.runsSlowTests ? [(2, 1_000), (10, 1_000)] : [(2, rounds(1_000))]

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
        other.removeAll { $0.name == "a" }
        try other.flush()
        one.store(setCookie: "c=1", from: url)
        try one.flush()
        #expect(one.cookies.map(\.name).sorted() == ["b", "c"])
        one.removeAll()
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

/// FAULT 92: each jar saves its own changes to a file that several jars share.
@Suite("Updates of a shared cookie file", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CookieMergeTests {
    private let folder: TemporaryFolder
    private let url = URL("https://shop.example.org/")
    private let start = Date.now

    init() throws {
        folder = try TemporaryFolder()
    }

    private func jar() -> CookieJar { CookieJar(file: folder.file) { [weak folder] in recordIssue($0, while: folder) } }

    private func pairs(of jar: CookieJar) -> Set<String> { Set(jar.cookies.map { "\($0.name)=\($0.value)" }) }

    @Test(arguments: ["Max-Age=0", "Max-Age=-1", "Expires=Thu, 01 Jan 1970 00:00:01 GMT"])
    func `A removal of a cookie that is in the file only is saved`(_ attribute: String) throws {
        let (one, other) = (jar(), jar())
        other.store(setCookie: "sid=1; Max-Age=1000", from: url)
        other.store(setCookie: "lang=de; Max-Age=1000", from: url)
        try other.flush()
        #expect(one.store(setCookie: "sid=; \(attribute)", from: url) == .removed)
        try one.flush()
        #expect(pairs(of: jar()) == ["lang=de"])
        #expect(pairs(of: one) == ["lang=de"])
        other.store(setCookie: "theme=dark", from: url)
        try other.flush()
        #expect(pairs(of: other) == ["lang=de", "theme=dark"])
    }

    @Test func `A repeated removal removes what another jar has saved in between`() throws {
        let (one, other) = (jar(), jar())
        one.store(setCookie: "sid=; Max-Age=0", from: url, at: start)
        try one.flush()
        other.store(setCookie: "sid=1", from: url, at: start + 1)
        try other.flush()
        one.store(setCookie: "sid=; Max-Age=0", from: url, at: start + 2)
        try one.flush()
        #expect(pairs(of: jar()).isEmpty)
    }

    /// States instead of jars, which save after a moment.
    @Test(arguments: [false, true])
    func `Of a cookie that two jars change before either saves, the last save counts`(_ isReversed: Bool) throws {
        var file = CookieFileSnapshot()
        var states = [state(), state()]
        for (number, names) in [["a", "b"], ["a", "c"]].enumerated() {
            for name in names { try set(name, to: "\(number)", in: &states[number]) }
            try set(["c", "b"][number], to: nil, in: &states[number])
        }
        for number in isReversed ? [1, 0] : [0, 1] { save(&states[number], to: &file) }
        #expect(pairs(of: file) == (isReversed ? ["a=0", "b=0"] : ["a=1", "c=1"]))
        for number in 0...1 {
            try set("touch", to: "1", in: &states[number])
            save(&states[number], to: &file)
            #expect(Set(states[number].store.cookies.map(\.key)) == Set(file.contents.cookies.map(\.key)))
        }
        #expect(pairs(of: file) == (isReversed ? ["a=0", "b=0", "touch=1"] : ["a=1", "c=1", "touch=1"]))
    }

    @Test func `What changes during a save is saved later, and what changes back is not`() throws {
        var (state, file) = (state(), CookieFileSnapshot())
        try set("a", to: "1", in: &state)
        try set("b", to: "1", in: &state)
        let before = state
        try set("a", to: "2", in: &state)
        try set("b", to: nil, in: &state)
        try set("c", to: "1", in: &state)
        state.commit(CookieFileSnapshot(contents: before.fileContents, checksum: 1), of: before, merged: before.store)
        #expect(Set(state.changes.keys.map { String(decoding: $0.name, as: UTF8.self) }) == ["a", "b", "c"])
        save(&state, to: &file)
        #expect(pairs(of: file) == ["a=2", "c=1"])
        #expect(!state.hasChanges)
        try set("a", to: "3", in: &state)
        let other = state
        try set("a", to: "2", in: &state)
        #expect(!state.hasChanges)
        state.commit(CookieFileSnapshot(contents: other.fileContents, checksum: 2), of: other, merged: other.store)
        #expect(state.hasChanges)
        save(&state, to: &file)
        #expect(pairs(of: file) == ["a=2", "c=1"])
    }

    @Test func `An update is not lost when the clock was set back`() throws {
        let first = jar()
        first.store(setCookie: "sid=1", from: url, at: start + 86_400)
        first.store(setCookie: "lang=de", from: url, at: start + 86_400)
        try first.flush()
        let second = jar()
        second.store(setCookie: "sid=2", from: url, at: start)
        second.store(setCookie: "lang=; Max-Age=0", from: url, at: start)
        try second.flush()
        #expect(pairs(of: jar()) == ["sid=2"])
        first.store(setCookie: "touch=1", from: url)
        try first.flush()
        #expect(pairs(of: first) == ["sid=2", "touch=1"])
    }

    @Test(.startsPrograms)
    func `A logout removes cookies that another process set before it, and none that were set after it`() throws {
        let other = try RemoteCookieFileClient(of: folder.file)
        let one = jar()
        try other.store("before=1", from: url, at: .now)
        one.store(setCookie: "sid=1", from: url)
        one.removeAll()
        try other.store("after=1", from: url, at: .now)
        try other.flush()
        #expect(pairs(of: jar()) == ["after=1"])
        #expect(try other.pairs() == ["after=1"])
    }

    @Test(.startsPrograms) func `What was requested before a logout of another process sets no cookie afterwards`()
        throws
    {
        let other = try RemoteCookieFileClient(of: folder.file)
        let (one, clock) = (jar(), ManualClock())
        one.store(setCookie: "sid=1", from: url)
        try one.flush()
        let session = CookieSession(one, clock: clock)
        try other.clear()
        session.store(from: ["Set-Cookie": "sid=2"], url: url, status: 200)
        try one.flush()
        #expect(one.cookies.isEmpty)
        #expect(jar().cookies.isEmpty)
    }

    @Test(.startsPrograms) func `A logout that is saved late keeps cookies that another process set after it`() throws {
        let other = try RemoteCookieFileClient(of: folder.file)
        let one = jar()
        try other.store("sid=1", from: url, at: .now)
        try other.flush()
        one.clearInMemory()
        try other.store("sid=2", from: url, at: .now)
        try other.flush()
        try one.flush()
        #expect(one.cookies.isEmpty)
        #expect(pairs(of: CookieJar(file: folder.file)) == ["sid=2"])
    }

    @Test(.startsPrograms) func `A logout removes cookies with a timestamp in the future`() throws {
        let other = try RemoteCookieFileClient(of: folder.file)
        let one = jar()
        try other.store("sid=1", from: url, at: .now + 86_400)
        try other.flush()
        one.removeAll()
        #expect(jar().cookies.isEmpty)
    }

    @Test(arguments: ["sid=; Max-Age=0", "sid=evil", "sid=evil; Domain=example.org"])
    func `An insecure response neither removes nor shadows a Secure cookie of another process`(_ line: String) throws {
        let (one, other) = (jar(), jar())
        other.store(setCookie: "sid=1; Secure", from: url, at: start)
        try other.flush()
        one.store(setCookie: line, from: URL("http://shop.example.org/"), at: start + 1)
        try one.flush()
        #expect(pairs(of: jar()) == ["sid=1"])
    }

    @Test func `A removal by an insecure response does not apply to a Secure cookie that is saved later`() throws {
        let (one, other) = (jar(), jar())
        other.store(setCookie: "sid=1; Secure", from: url, at: start)
        one.store(setCookie: "sid=; Max-Age=0", from: URL("http://shop.example.org/"), at: start + 1)
        try one.flush()
        try other.flush()
        #expect(pairs(of: jar()) == ["sid=1"])
    }

    @Test func `A cookie that another tool changes is updated, and other cookies keep their attributes`() throws {
        let one = jar()
        one.store(setCookie: "a=1; Max-Age=1000; SameSite=Lax", from: url, at: start)
        one.store(setCookie: "b=1; Max-Age=1000", from: url, at: start)
        try one.flush()
        let text = try String(contentsOf: folder.file, encoding: .utf8)
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        try (lines.joined(separator: "\n").replacing("\tb\t1", with: "\tb\t2") + "\n")
            .write(to: folder.file, atomically: true, encoding: .utf8)
        one.store(setCookie: "c=1", from: url)
        try one.flush()
        #expect(pairs(of: one) == ["a=1", "b=2", "c=1"])
        #expect(one.cookies.first { $0.name == "a" }?.sameSite == .lax)
        #expect(jar().cookies.map(\.name) == ["a", "b", "c"])
    }

    @Test func `A file that was read before or during a save is not taken over after it`() throws {
        var (state, file) = (state(), CookieFileSnapshot())
        let before = state
        try set("a", to: "1", in: &state)
        _ = state.setSaving(true)
        let isAdoptedDuringSave = state.adopt(file, readAfter: before, at: start)
        save(&state, to: &file)
        let isAdoptedAfterSave = state.adopt(CookieFileSnapshot(checksum: 7), readAfter: before, at: start)
        #expect(!isAdoptedDuringSave && !isAdoptedAfterSave)
        #expect(state.store.cookies.map(\.name) == ["a"])
        let isAdopted = state.adopt(CookieFileSnapshot(checksum: 7), readAfter: state, at: start)
        #expect(isAdopted && state.store.cookies.isEmpty)
    }

    @Test func `Removals of cookies that the file does not have cause no write`() throws {
        let one = jar()
        one.store(setCookie: "a=1", from: url)
        try one.flush()
        let file = CookieFile(folder.file).path
        let version = stat(ofEntry: file)?.version
        for _ in 0..<3 {
            one.store(setCookie: "flash=; Max-Age=0", from: url)
            try one.flush()
        }
        #expect(version != nil && stat(ofEntry: file)?.version == version)
    }

    @Test func `Removals that cannot be saved do not grow without limit`() throws {
        var state = state()
        try set("kept", to: "1", in: &state)
        for number in 0..<2_000 { try set("r\(number)", to: nil, in: &state) }
        #expect(state.changes.count < 500)
        #expect(state.changes.keys.contains { $0.name == Array("kept".utf8) })
    }

    @Test func `A logout that is saved late keeps what another process has stored since`() throws {
        let earlier = start - 60
        var (local, other, file) = (state(), state(), CookieFileSnapshot())
        try set("old", to: "1", in: &other, at: earlier - 1)
        _ = local.clear(at: earlier)
        try set("new", to: "1", in: &local, at: earlier + 1)
        try set("theirs", to: "1", in: &other, at: earlier + 2)
        save(&other, to: &file)
        save(&local, to: &file)
        #expect(pairs(of: file) == ["new=1", "theirs=1"])
        #expect(local.store.cookies.map(\.name) == ["new"])
    }

    @Test func `A change that is saved late is ended by the logout of another process`() throws {
        var (local, other, file) = (state(), state(), CookieFileSnapshot())
        try set("old", to: "1", in: &local, at: start - 1)
        _ = other.clear(at: start)
        save(&other, to: &file)
        try set("new", to: "1", in: &local, at: start + 1)
        save(&local, to: &file)
        #expect(pairs(of: file) == ["new=1"])
        #expect(local.store.cookies.map(\.name) == ["new"])
    }

    @Test func `A logout in memory is saved soon`() async throws {
        let one = jar()
        one.store(setCookie: "sid=1; Max-Age=1000", from: url)
        try one.flush()
        one.clearInMemory()
        try await until { try !String(contentsOf: folder.file, encoding: .utf8).contains("sid") }
    }

    @Test func `A jar that was opened long ago does not shorten the lifetime of another jar's cookies`() throws {
        let noon = Date(timeIntervalSince1970: 1_800_000_000)
        let later = noon + 300 * 86_400
        let old = CookieJar(file: folder.file, at: noon)
        let new = CookieJar(file: folder.file, at: later)
        new.store(setCookie: "a=1; Max-Age=34560000", from: url, at: later)
        try new.flush()
        old.store(setCookie: "b=1", from: url, at: later)
        try old.flush()
        for jar in [old, CookieJar(file: folder.file, at: later)] {
            #expect(jar.cookies.first { $0.name == "a" }?.expires == later + 34_560_000)
        }
    }

    @Test func `A removal by a secure response during the save of an insecure one is saved`() throws {
        var (mine, theirs, file) = (state(), state(), CookieFileSnapshot())
        try set("sid", to: "1; Secure", in: &theirs)
        save(&theirs, to: &file)
        try set("sid", to: nil, in: &mine, isSecure: false)
        let before = mine.setSaving(true)
        let merged = before.merged(with: before.accepted(file), at: before.changeDate)
        try set("sid", to: nil, in: &mine)
        file = CookieFileSnapshot(contents: merged.fileContents, checksum: 200)
        #expect(pairs(of: file) == ["sid=1"])
        mine.commit(file, of: before, merged: merged.store)
        save(&mine, to: &file)
        #expect(pairs(of: file).isEmpty && mine.store.isEmpty)
    }

    @Test func `An insecure session cookie that a Secure one in the file refuses is not kept`() throws {
        var (mine, theirs, file) = (state(.drop), state(), CookieFileSnapshot())
        try set("sid", to: "1; Secure; Path=/; Max-Age=86400", in: &theirs)
        save(&theirs, to: &file)
        try set("sid", to: "x; Path=/cart", in: &mine, isSecure: false)
        save(&mine, to: &file)
        #expect(mine.store.cookies.map(\.value) == ["1"])
    }

    // MARK: States

    private func state(_ sessionCookies: CookieJar.SessionCookies = .keep) -> CookieJarState {
        let store = CookieStore(capacity: 10, suffixes: PublicSuffixList())
        return CookieJarState(store, hasFile: true, sessionCookies: sessionCookies)
    }

    /// Sets or removes a cookie as a response does.
    private func set(
        _ name: String,
        to value: String?,
        in state: inout CookieJarState,
        isSecure: Bool = true,
        at date: Date? = nil
    ) throws {
        let date = date ?? start
        let line = value.map { "\(name)=\($0)" } ?? "\(name)=; Max-Age=0"
        let header = try SetCookieHeader(parsing: Array(line.utf8))
        let place = try #require(CookieURL(url, trustsLoopback: false))
        let cookie = try Cookie(header, from: place, suffixes: PublicSuffixList(), at: date)
        _ = state.insert(cookie, isFromSecureOrigin: isSecure, sentIn: nil, at: date)
    }

    /// Saves as a jar of another process does.
    private func save(_ state: inout CookieJarState, to file: inout CookieFileSnapshot) {
        let merged = state.merged(with: state.accepted(file), at: state.changeDate)
        file = CookieFileSnapshot(contents: merged.fileContents, checksum: (file.checksum ?? 100) + 1)
        state.commit(file, of: state, merged: merged.store)
    }

    private func pairs(of file: CookieFileSnapshot) -> Set<String> {
        Set(file.contents.cookies.map { "\($0.name)=\($0.value)" })
    }
}
