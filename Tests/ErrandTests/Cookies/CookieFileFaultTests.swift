import Foundation
import Testing
import TestSupport

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
        let calls = try await trace().steps
        #expect(calls.count >= 6)
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
        let trace = try await SaveTrace(of: folder.file, adding: added)
        #expect(trace.calls.count { $0.name.hasPrefix("rename") } >= 2)
        for call in sampled(trace.steps) {
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
        for (error, call) in sampled(full + broken) {
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

/// FAULT 26: whatever is at the file's path, a jar opens, keeps it under another name, and reports it.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct CookieFileDamageTests {
    private let folder: TemporaryFolder
    private let url = URL("https://shop.example.org/")

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("A truncated file is set aside, and its complete lines are loaded", .fault(26))
    func survivesTruncation() throws {
        let whole = try bytes(of: 5)
        for length in 1..<whole.count {
            let contents = CookieFileFormat.decode(Array(whole.prefix(length)), at: .now)
            #expect(contents.damage != nil && contents.cookies.allSatisfy { $0.value == "value" }, "\(length)")
        }
        for length in stride(from: 1, to: whole.count, by: 25) {
            #expect(try open(whole.prefix(length), isDamaged: true).count <= 5, "\(length)")
        }
        #expect(try open(whole, isDamaged: false).count == 5)
        #expect(try open([], isDamaged: false).isEmpty)
    }

    @Test("A changed bit is detected, and loses the cookies of two lines at most", .fault(26))
    func survivesFlippedByte() throws {
        let whole = try bytes(of: 20)
        var random = SplitMix(seed: 26)
        let changes = rounds(1_000)
        for number in 0..<changes {
            var damaged = whole
            let (index, bit) = (number * whole.count / changes, UInt8.random(in: 0..<8, using: &random))
            damaged[index] ^= 1 << bit
            let contents = CookieFileFormat.decode(damaged, at: .now)
            let comment: Comment = "seed 26, bit \(bit) of byte \(index)"
            #expect(contents.damage != nil && contents.cookies.count >= 18, comment)
            if number % 50 == 0 { #expect(try open(damaged, isDamaged: true).count >= 18, comment) }
        }
    }

    @Test("A damaged line whose cookie has expired is neither kept nor written", .fault(26))
    func dropsExpired() throws {
        let whole = try String(decoding: bytes(of: 20), as: UTF8.self)
        let damaged = whole.replacing("\t0\tname2\t", with: "\t1\tname2\t")
        #expect(try !open(damaged.utf8, isDamaged: true).contains { $0.name == "name2" })
    }

    @Test("Random bytes are not loaded", .fault(26))
    func survivesNoise() throws {
        var random = SplitMix(seed: 26)
        for count in [1, 10, 1_000, 100_000] {
            // Not a comment, which may contain anything.
            let noise = [0xFF] + (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) } + [0]
            #expect(try open(noise, isDamaged: true).isEmpty, "seed 26, \(count) bytes")
        }
    }

    @Test("Only the beginning of a file with too many lines is read", .fault(26))
    func boundsLines() throws {
        let line = "shop.example.org\tFALSE\t/\tFALSE\t0\tn\tv\n"
        #expect(try open(Array(String(repeating: line, count: 20_000).utf8), isDamaged: true).count == 1)
    }

    #if os(Linux)
    @Test("A file of a gigabyte is not read", .fault(26))
    func boundsSize() async {
        await #expect(processExitsWith: .success) {
            let tests = try CookieFileDamageTests()
            let file = tests.folder.file
            _ = FileManager.default.createFile(atPath: file.path(percentEncoded: false), contents: nil)
            try FileHandle(forWritingTo: file).truncate(atOffset: 1 << 30)
            let before = ProcessMemory.peak
            try tests.expectSetAside()
            let growth = ProcessMemory.peak - before
            #expect(growth < 20_000_000, "\(growth) bytes")
        }
    }
    #endif

    @Test("A directory at the file's path is set aside with its contents", .fault(26))
    func survivesDirectory() throws {
        try FileManager.default.createDirectory(at: folder.file.appending(path: "x"), withIntermediateDirectories: true)
        try expectSetAside()
        #expect(
            FileManager.default.fileExists(atPath: folder.url.path(percentEncoded: false) + "/cookies.txt.corrupt-1/x")
        )
    }

    @Test("A pipe at the file's path does not block the jar", .fault(26))
    func survivesPipe() throws {
        #expect(mkfifo(folder.file.path(percentEncoded: false), 0o600) == 0)
        try expectSetAside()
    }

    #if os(Linux)
    /// Makes a device like `/dev/null`, which not even root may do in each container.
    private static func makeDevice(at file: URL) -> Bool {
        mknod(file.path(percentEncoded: false), S_IFCHR | 0o600, 259) == 0
    }

    private static let canMakeDevices = (try? TemporaryFolder()).map { makeDevice(at: $0.file) } ?? false

    @Test("A device at the file's path stays where it is", .enabled(if: canMakeDevices, "cannot make devices"))
    func leavesDevice() throws {
        try #require(Self.makeDevice(at: folder.file))
        let jar = CookieJar(file: folder.file)
        jar.store(setCookie: "a=1", from: url)
        let error = #expect(throws: CookieFileError.self) { try jar.flush() }
        #expect(error?.kind == .cannotRead && error?.reason == "it is a device")
        #expect(try folder.names.filter { !$0.hasSuffix(".lock") } == [folder.file.lastPathComponent])
    }
    #endif

    @Test("Files that were set aside earlier are not replaced", .fault(26))
    func numbersFiles() throws {
        for number in 1...3 {
            try Data("damaged \(number)".utf8).write(to: folder.file)
            _ = CookieJar(file: folder.file)
        }
        let third = folder.url.appending(path: "cookies.txt.corrupt-3")
        #expect(try Data(contentsOf: third) == Data("damaged 3".utf8))
        #expect(try folder.names.count == 4)
    }

    @Test("A file that is damaged while a jar is open loses no cookies")
    func survivesDamageWhileOpen() throws {
        let jar = CookieJar(file: folder.file)
        jar.store(setCookie: "a=1", from: url)
        try jar.flush()
        try Data("damaged".utf8).write(to: folder.file)
        jar.store(setCookie: "b=1", from: url)
        try jar.flush()
        #expect(CookieJar(file: folder.file).cookies.map(\.name) == ["a", "b"])
        #expect(try folder.names.contains("cookies.txt.corrupt-1"))
    }

    @Test("The temporary file of an interrupted save is removed")
    func removesTemporary() throws {
        try Data("half".utf8).write(to: folder.url.appending(path: "cookies.txt.errand-tmp"))
        _ = CookieJar(file: folder.file) { [weak folder] in recordIssue($0, while: folder) }
        #expect(try folder.names == ["cookies.txt.lock"])
    }

    private func bytes(of count: Int) throws -> [UInt8] {
        let jar = CookieJar(file: folder.file)
        for number in 0..<count { jar.store(setCookie: "name\(number)=value; HttpOnly", from: url) }
        try jar.flush()
        defer { jar.removeAll() }
        return try [UInt8](Data(contentsOf: folder.file))
    }

    /// Opens a jar with a file of these bytes, and returns its cookies.
    private func open(_ bytes: some Collection<UInt8>, isDamaged: Bool) throws -> [Cookie] {
        let folder = try TemporaryFolder()
        try Data(bytes).write(to: folder.file)
        let problems = CookieFileErrorRecorder()
        let jar = CookieJar(file: folder.file, onError: problems.report)
        let cookies = jar.cookies
        #expect(problems.kinds == (isDamaged ? [.setAside] : []))
        let aside = try? Data(contentsOf: folder.url.appending(path: "cookies.txt.corrupt-1"))
        #expect(aside == (isDamaged ? Data(bytes) : nil))
        try jar.flush()
        #expect(CookieJar(file: folder.file).cookies.map(\.name) == cookies.map(\.name))
        return cookies
    }

    private func expectSetAside() throws {
        let problems = CookieFileErrorRecorder()
        let jar = CookieJar(file: folder.file, onError: problems.report)
        jar.store(setCookie: "a=1", from: url)
        try jar.flush()
        #expect(problems.kinds == [.setAside])
        #expect(try folder.names == ["cookies.txt", "cookies.txt.corrupt-1", "cookies.txt.lock"])
        #expect(CookieJar(file: folder.file).cookies.count == 1)
    }
}

/// FAULT 95: a jar reads no file whose contents another user could have chosen.
@Suite("Cookie files of other users", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CookieFilePermissionTests {
    private let folder: TemporaryFolder
    private let url = URL("https://shop.example.org/")
    private let problems = CookieFileErrorRecorder()
    private static let cookie = "shop.example.org\tFALSE\t/\tFALSE\t0\tsid\tplanted\n"

    init() throws {
        folder = try TemporaryFolder()
    }

    private var place: String { folder.url.path(percentEncoded: false) }
    private var path: String { folder.file.path(percentEncoded: false) }

    /// Creates a file with this owner and mode, in a folder with this owner and mode.
    private func create(_ file: (owner: uid_t, mode: Int), in folder: (owner: uid_t, mode: Int)) throws {
        try Data(Self.cookie.utf8).write(to: self.folder.file)
        for (path, status) in [(path, file), (place, folder)] {
            try FileManager.default.setAttributes([.posixPermissions: status.mode], ofItemAtPath: path)
            if CookieProbe.isRoot { try #require(chown(path, status.owner, gid_t(status.owner)) == 0) }
        }
    }

    private static let me = geteuid()
    private static let other: uid_t = 1_234

    struct Case: Sendable, CustomTestStringConvertible {
        let file: (owner: uid_t, mode: Int)
        let folder: (owner: uid_t, mode: Int)
        let testDescription: String

        init(_ text: String, file: (uid_t, Int) = (me, 0o600), folder: (uid_t, Int) = (me, 0o755)) {
            (testDescription, self.file, self.folder) = (text, file, folder)
        }
    }

    @Test(arguments: [
        Case("a file that only its owner may write"), Case("a file that all may read", file: (me, 0o644)),
        Case("a private folder", folder: (me, 0o700)),
        Case("a sticky folder that all may write", folder: (me, 0o1777)),
    ])
    func `A file that no other user could change is read`(_ test: Case) throws {
        try create(test.file, in: test.folder)
        let jar = CookieJar(file: folder.file, onError: problems.report)
        #expect(jar.header(for: url) == "sid=planted")
        #expect(problems.kinds.isEmpty)
    }

    @Test(
        .fault(95),
        arguments: [
            Case("a folder that all may write", folder: (me, 0o777)),
            Case("a sticky folder does not help a file that all may write", file: (me, 0o602), folder: (me, 0o702)),
        ]
    )
    func `A jar in a folder that other users may write keeps its cookies in memory`(_ test: Case) throws {
        try expectRefusal(of: test)
    }

    @Test(
        .fault(95),
        .enabled(if: CookieProbe.isRoot, "only root can give files away"),
        arguments: [
            Case("another user's file", file: (other, 0o600)),
            Case("another user's file to read", file: (other, 0o644)),
            Case("another user's folder", folder: (other, 0o755)),
            Case("another user's sticky folder", folder: (other, 0o1777)),
            Case("another user's file and folder", file: (other, 0o600), folder: (other, 0o700)),
        ]
    )
    func `A file that another user owns is neither read nor replaced, also not by root`(_ test: Case) throws {
        try expectRefusal(of: test)
    }

    @Test func `A file that could not be read is read when it can be, and what has changed meanwhile is kept`()
        async throws
    {
        try Data(Self.cookie.utf8).write(to: folder.file)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: place)
        let suffixes = PublicSuffixList()
        let state = SharedCookieJarState(CookieJarState(CookieStore(capacity: 10, suffixes: suffixes), hasFile: true))
        let saver = CookieSaver(
            file: folder.file,
            state: state,
            errorReporter: ProblemReporter(repeating: .setAside, hook: problems.report),
            readInterval: .milliseconds(2)
        )
        saver.load(at: .now)
        #expect(problems.kinds == [.cannotRead])
        #expect(state.withLock(\.store.cookies).isEmpty)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: place)
        await suspend(while: state.withLock(\.store.cookies).isEmpty)
        #expect(problems.kinds == [.cannotRead])
        withExtendedLifetime(saver) {}
    }

    private func expectRefusal(of test: Case) throws {
        try create(test.file, in: test.folder)
        let jar = CookieJar(file: folder.file, onError: problems.report)
        #expect(jar.cookies.isEmpty)
        #expect(problems.kinds == [.cannotRead])
        jar.store(setCookie: "own=1", from: url)
        #expect(throws: CookieFileError.self) { try jar.flush() }
        jar.removeAll()
        #expect(problems.kinds == [.cannotRead])
        #expect(try Data(contentsOf: folder.file) == Data(Self.cookie.utf8))
        // Only the lock file may be created.
        #expect(try folder.names.filter { $0 != "cookies.txt.lock" } == ["cookies.txt"])
        if test.folder.owner != Self.me || test.folder.mode & 0o002 != 0 {
            #expect(try folder.names == ["cookies.txt"])
        }
    }

    @Test(.fault(95), arguments: [0o606, 0o666, 0o662])
    func `A file that other users may write is set aside`(_ mode: Int) throws {
        try create((Self.me, mode), in: (Self.me, 0o755))
        let jar = CookieJar(file: folder.file, onError: problems.report)
        #expect(jar.cookies.isEmpty)
        #expect(problems.kinds == [.setAside])
        jar.store(setCookie: "own=1", from: url)
        try jar.flush()
        #expect(CookieJar(file: folder.file).cookies.map(\.name) == ["own"])
    }

    @Test(
        "A group counts as other users unless it is the owner's private one",
        .fault(95),
        .enabled(if: CookieProbe.isRoot, "only root can choose a group")
    )
    func knowsPrivateGroup() throws {
        // 1 is a system group, and not the private group of root.
        for (group, isPrivate) in [(gid_t(0), true), (1, false)] {
            let (folder, problems) = (try TemporaryFolder(), CookieFileErrorRecorder())
            try Data(Self.cookie.utf8).write(to: folder.file)
            for (path, mode) in [(folder.file, 0o660), (folder.url, 0o775)] {
                let path = path.path(percentEncoded: false)
                try #require(chown(path, Self.me, group) == 0)
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            }
            let jar = CookieJar(file: folder.file, onError: problems.report)
            #expect(jar.cookies.isEmpty != isPrivate)
            #expect(problems.kinds == (isPrivate ? [] : [.cannotRead]))
        }
    }

    @Test(
        "A user reads files of root, and none of other users",
        .fault(95),
        .enabled(if: CookieProbe.canRunUnprivileged, "cannot become another user"),
        arguments: [
            (0, 0, 1), (65_534, 65_534, 1), (0, 65_534, 1), (1_234, 65_534, 0), (65_534, 1_234, 0), (0, 1_234, 0),
        ]
    )
    func trustsRoot(file: Int, folder: Int, count: Int) async throws {
        try create((uid_t(file), 0o644), in: (uid_t(folder), 0o755))
        let ending = try await CookieProbe.run(["save", path, "a", "0"], under: CookieProbe.unprivilegedCommand)
        #expect(ending.lines.contains("opened \(count)"))
        #expect(ending.lines.contains("problem cannotRead") == (count == 0))
    }
}

/// The system calls of a probe on the cookie file and the files next to it, recorded with strace.
///
/// The number of other calls varies from run to run. Killing the process at one of them has the same effect as killing it
/// at the next recorded call.
struct SaveTrace {
    struct Call: Sendable, CustomStringConvertible {
        let name: String
        /// The number of this call among the calls with this name.
        let ordinal: Int
        let text: String
        var description: String { "\(name) \(ordinal)" }

        /// Whether the files are different after it, unless it fails.
        fileprivate var changesFiles: Bool {
            ["write", "fchmod", "unlink", "rename"].contains { name.hasPrefix($0) } || text.contains("O_CREAT")
        }
    }

    let calls: [Call]

    /// The options that limit strace to these calls.
    static func options(for file: URL) -> [String] {
        let path = file.path(percentEncoded: false)
        let folder = file.deletingLastPathComponent().path(percentEncoded: false)
        let bareFolder = folder.hasSuffix("/") ? String(folder.dropLast()) : folder
        let otherPaths = [".lock", ".errand-tmp", ".corrupt-1", ".corrupt-2"].map { path + $0 }
        return ([path, bareFolder, bareFolder + "/"] + otherPaths).flatMap { ["-P", $0] }
    }

    /// Traces a probe that adds cookies to the file and saves once, from the first use of the lock.
    init(of file: URL, adding count: Int = 1) async throws {
        let folder = try TemporaryFolder()
        let log = folder.url.appending(path: "trace")
        let strace = ["strace", "-o", log.path(percentEncoded: false)] + Self.options(for: file)
        _ = try await CookieProbe.run(["save", file.path(percentEncoded: false), "new", "\(count)"], under: strace)
        var counts: [Substring: Int] = [:]
        var calls: [Call] = []
        for line in try String(decoding: Data(contentsOf: log), as: UTF8.self).split(separator: "\n") {
            let name = line.prefix { $0 != "(" }
            counts[name, default: 0] += 1
            calls.append(Call(name: String(name), ordinal: counts[name] ?? 0, text: String(line)))
        }
        let start = calls.firstIndex { $0.text.contains(".lock") } ?? calls.endIndex
        self.calls = calls[start...].filter { !$0.name.hasPrefix("+++") }
    }

    /// The calls before which the files are different from those before the previous one.
    var steps: [Call] { calls.prefix(1) + zip(calls, calls.dropFirst()).compactMap { $0.changesFiles ? $1 : nil } }
}

/// Header fields and files from a fixed seed, for ten minutes with `ERRAND_SLOW_TESTS=1` and for a second otherwise.
@Suite(.limitedConcurrency, .timeLimit(.minutes(15)))
struct CookieFuzzTests {
    private static let duration: Duration = CookieProbe.runsSlowTests ? .seconds(600) : .seconds(1)
    /// Fragments that are significant in the grammars.
    private static let pieces = [
        "a=b", "=", ";", "; ", "\t", " ", ",", "\"", "\0", "\u{7F}", "é", "Domain=", "example.org", ".org", "..",
        "127.0.0.1",
        "Path=", "/", "/shop", "Max-Age=", "-", "99999999999999999999", "0", "Expires=",
        "Thu, 31 Dec 9999 23:59:59 GMT",
        "00:00:00", "Feb", "29", "SameSite=", "None", "Secure", "HttpOnly", "__Host-", "__Secure-", "#HttpOnly_",
        "TRUE",
        "FALSE", "\n", "#Errand ", "#Errand-end ", "#Errand-cleared ", "\r", "::1", "xn--", "0x1",
    ].map { Array($0.utf8) }

    @Test("No header field and no file traps, and every stored cookie can be saved and read again")
    func survives() async throws {
        let url = URL("https://shop.example.org/shop/cart")
        let end = ContinuousClock.now + Self.duration
        let jar = CookieJar()
        var (random, round) = (SplitMix(seed: 2026), 0)
        while ContinuousClock.now < end {
            round += 1
            for _ in 0..<100 { jar.store(setCookie: Self.bytes(&random), from: url, at: Self.date(&random)) }
            _ = CookieFileFormat.decode(Self.bytes(&random), at: Self.date(&random))
            let cookies = jar.cookies.filter { !$0.isExpired(at: .now) && CookieFileFormat.canRepresent($0) }
            let cleared = CookieTimestamp(.now)
            let written = CookieFileFormat.Contents(cookies: cookies, cleared: cleared)
            let contents = CookieFileFormat.decode(CookieFileFormat.encode(written), at: .now)
            try #require(contents.damage == nil, "round \(round) of seed 2026")
            try #require(contents.cleared == written.cleared, "round \(round) of seed 2026")
            try #require(contents.cookies.map(\.key) == cookies.map(\.key), "round \(round) of seed 2026")
            try #require(contents.cookies.map(\.updated) == cookies.map(\.updated), "round \(round) of seed 2026")
            try #require(contents.cookies.map(\.valueBytes) == cookies.map(\.valueBytes), "round \(round) of seed 2026")
            _ = jar.header(for: url)
            // Other tests need the thread.
            await Task.yield()
        }
    }

    private static func bytes(_ random: inout SplitMix) -> [UInt8] {
        (0..<Int.random(in: 1...12, using: &random)).flatMap { _ -> [UInt8] in
            guard Bool.random(using: &random) else {
                return (0..<3).map { _ in UInt8.random(in: 0...255, using: &random) }
            }
            return pieces.randomElement(using: &random) ?? []
        }
    }

    private static func date(_ random: inout SplitMix) -> Date {
        let seconds: [TimeInterval] = [0, 1.8e9, -1e12, 1e300, .infinity, .nan]
        return Date(timeIntervalSince1970: seconds.randomElement(using: &random) ?? 0)
    }
}
