import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
            errorReporter: CookieFileErrorReporter(hook: problems.report),
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
        jar.clear()
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
