import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

/// FAULTS 29, 30 and 34, and the contents of the file.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct CookieFileTests {
    private let folder: TemporaryFolder
    private let url = URL("https://shop.example.org/cart/list")
    private let problems = CookieFileErrorRecorder()

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("A cookie that was no longer in the file is saved again")
    func savesAgain() throws {
        let jar = CookieJar(file: folder.file, sessionCookies: .drop)
        for line in ["k=1; Max-Age=86400", "k=1", "k=1; Max-Age=86400"] {
            jar.store(setCookie: line, from: url)
            try jar.flush()
        }
        #expect(CookieJar(file: folder.file).cookies.map(\.name) == ["k"])
    }

    @Test("A cookie that a full jar has evicted does not come back from the file")
    func keepsEvictionsInFile() throws {
        let jar = CookieJar(file: folder.file, capacity: 2)
        for names in [["a", "b"], ["c"]] {
            for name in names { jar.store(setCookie: "\(name)=1; Max-Age=86400", from: url) }
            try jar.flush()
        }
        #expect(Set(jar.cookies.map(\.name)) == ["b", "c"])
        #expect(Set(CookieJar(file: folder.file, capacity: 3).cookies.map(\.name)) == ["b", "c"])
    }

    @Test("A jar that is opened again has the same cookies")
    func survives() throws {
        let noon = Date(timeIntervalSince1970: 1_800_000_000)
        let first = CookieJar(file: folder.file, at: noon)
        first.store(setCookie: "sid=1; Path=/; Secure; HttpOnly; SameSite=Lax", from: url, at: noon)
        first.store(setCookie: "lang=de; Domain=example.org; Max-Age=86400", from: url, at: noon + 1)
        first.store(setCookie: "theme=; SameSite=Strict", from: url, at: noon + 2)
        try first.flush()
        let second = CookieJar(file: folder.file, at: noon + 3)
        #expect(second.cookies == first.cookies)
        #expect(second.header(for: url, at: noon + 3) == "lang=de; theme=; sid=1")
    }

    @Test("The file is a Netscape cookies.txt: seven fields, and comments")
    func writesNetscapeFormat() throws {
        let noon = Date(timeIntervalSince1970: 1_800_000_000)
        let jar = CookieJar(file: folder.file, at: noon)
        jar.store(setCookie: "sid=1; Path=/; Secure; HttpOnly; SameSite=Lax", from: url, at: noon)
        jar.store(setCookie: "lang=de; Domain=example.org; Max-Age=86400", from: url, at: noon)
        try jar.flush()
        let lines = try text(of: folder.file).split(separator: "\n")
        #expect(lines.first?.hasPrefix("# Netscape HTTP Cookie File") == true)
        #expect(
            lines.filter { !$0.hasPrefix("#") || $0.hasPrefix("#HttpOnly_") } == [
                "#HttpOnly_shop.example.org\tFALSE\t/\tTRUE\t0\tsid\t1",
                ".example.org\tTRUE\t/cart\tFALSE\t1800086400\tlang\tde",
            ]
        )
    }

    @Test("A file of another tool is read")
    func readsForeignFile() throws {
        let later = Int(Date.now.timeIntervalSince1970) + 1_000
        let lines = [
            "# Netscape HTTP Cookie File",
            "",
            "# a comment",
            ".example.org\tTRUE\t/\tFALSE\t\(later)\tdomain\t1",
            "example.org\tTRUE\t/\tFALSE\t0\tundotted\t",
            "#HttpOnly_shop.example.org\tFALSE\t/\tTRUE\t253402300799\thost\ta b",
            "shop.example.org\tFALSE\t/\tFALSE\t1\tpast\t1",
            "shop.example.org\tFALSE\t/\tFALSE\t0\t__Host-false\t1",
            ".org\tTRUE\t/\tFALSE\t0\twide\t1",
            "shop.example.org\tFALSE\t/\tFALSE\t0\tforged\t1; sid=2",
            "shop.example.org\tFALSE\t/\tFALSE\t0\tforged=1\t2",
        ]
        try write(lines.map { "\($0)\r\n" }.joined())
        let jar = CookieJar(file: folder.file, onError: problems.report)
        #expect(problems.kinds.isEmpty)
        #expect(jar.header(for: url) == "domain=1; undotted=; host=a b")
        #expect(jar.cookies.map(\.isHostOnly) == [false, false, true, true])
        #expect(jar.cookies.allSatisfy { ($0.expires ?? .now) < .now + 401 * 86_400 })
    }

    @Test("A line that is added to the file is kept")
    func keepsAddedLine() throws {
        let jar = CookieJar(file: folder.file)
        jar.store(setCookie: "a=1", from: url)
        try jar.flush()
        try write(text(of: folder.file) + "shop.example.org\tFALSE\t/\tFALSE\t0\tb\t2\n")
        jar.store(setCookie: "c=3", from: url)
        try jar.flush()
        #expect(jar.cookies.map(\.name).sorted() == ["a", "b", "c"])
        #expect(CookieJar(file: folder.file, onError: problems.report).cookies.count == 3)
        #expect(problems.kinds.isEmpty)
    }

    @Test("Session cookies are saved or dropped as the app chooses")
    func dropsSessionCookies() throws {
        for policy in [CookieJar.SessionCookies.drop, .keep, .drop] {
            let jar = CookieJar(file: folder.file, sessionCookies: policy)
            jar.store(setCookie: "session=1", from: url)
            jar.store(setCookie: "lasting=1; Max-Age=1000", from: url)
            try jar.flush()
            #expect(jar.cookies.count == 2)
            #expect(CookieJar(file: folder.file).cookies.count == (policy == .keep ? 2 : 1))
            #expect(CookieJar(file: folder.file, sessionCookies: .drop).cookies.map(\.name) == ["lasting"])
        }
    }

    @Test(
        "A cookie that the format cannot express is in memory only, and is reported once",
        .fault(34),
        arguments: [
            "a=b\tc", "a\tb=c", "a=b; Path=/x\ty", "nameless", "=\(String(repeating: "#HttpOnly_", count: 3))",
        ]
    )
    func keepsInMemory(_ line: String) throws {
        let jar = CookieJar(file: folder.file, onError: problems.report)
        for _ in 0..<3 {
            jar.store(setCookie: line, from: url)
            jar.store(setCookie: "count=\(problems.kinds.count)", from: url)
            try jar.flush()
        }
        #expect(problems.kinds == [.notRepresentable])
        #expect(jar.cookies.count == 2)
        #expect(CookieJar(file: folder.file).cookies.map(\.name) == ["count"])
    }

    @Test("Names and values of any bytes are saved unchanged, and add no lines", .fault(34))
    func keepsBytes() throws {
        var random = SystemRandomNumberGenerator()
        let jar = CookieJar(file: folder.file, onError: problems.report)
        jar.store(setCookie: "#HttpOnly_x=#y", from: url)
        jar.store(setCookie: "# =TRUE", from: url)
        jar.store(setCookie: "FALSE=\\n.example.org", from: url)
        for _ in 0..<150 {
            let bytes = (0..<40).map { _ in UInt8.random(in: 0...255, using: &random) }
            jar.store(setCookie: bytes.filter { $0 != 0x09 && ($0 >= 0x20 || Bool.random()) }, from: url)
        }
        try jar.flush()
        let lasting = jar.cookies.filter { !$0.nameBytes.isEmpty && !$0.path.contains("\t") }
        let read = CookieJar(file: folder.file, onError: problems.report).cookies
        #expect(read.map(\.nameBytes) == lasting.map(\.nameBytes))
        #expect(read.map(\.valueBytes) == lasting.map(\.valueBytes))
        #expect(problems.kinds.allSatisfy { $0 == .notRepresentable })
    }

    @Test("Only the owner may read the files of a jar; other permissions are removed", .startsPrograms, .fault(29))
    func restrictsAccess() async throws {
        let file = folder.url.appending(path: "deep/er/cookies.txt")
        let path = file.path(percentEncoded: false)
        _ = try await TestProgram.run(["sh", "-c", "umask 0 && \"$0\" save \"$1\" a 1", CookieProbe.path, path])
        #expect(
            try ["deep", "deep/er", "deep/er/cookies.txt", "deep/er/cookies.txt.lock"].map(mode) == [
                0o700, 0o700, 0o600, 0o600,
            ]
        )
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        #expect(CookieJar(file: file).cookies.count == 1)
        #expect(try mode("deep/er/cookies.txt") == 0o600)
    }

    @Test("A symbolic link at the file's path is set aside; its target is neither read nor written", .fault(30))
    func avoidsSymbolicLink() throws {
        let target = folder.url.appending(path: "target")
        let content = Data("shop.example.org\tFALSE\t/\tFALSE\t0\ta\t1\n".utf8)
        try content.write(to: target)
        try FileManager.default.createSymbolicLink(at: folder.file, withDestinationURL: target)
        let jar = CookieJar(file: folder.file, onError: problems.report)
        #expect(problems.kinds == [.setAside])
        jar.store(setCookie: "b=1", from: url)
        try jar.flush()
        #expect(jar.cookies.map(\.name) == ["b"])
        #expect(try Data(contentsOf: target) == content)
        #expect(try folder.names == ["cookies.txt", "cookies.txt.corrupt-1", "cookies.txt.lock", "target"])
    }

    @Test("Responses that change nothing cause no write")
    func staysIdle() throws {
        let jar = CookieJar(file: folder.file)
        let noon = Date.now
        for number in 0..<1_000 {
            let now = noon + Double(number) / 100
            jar.store(setCookie: "sid=1; Path=/; Max-Age=86400", from: url, at: now)
            jar.store(setCookie: "lang=de; Path=/", from: url, at: now)
            _ = jar.header(for: url, at: now)
            if number == 0 { try jar.flush() }
            if number == 1 { try FileManager.default.removeItem(at: folder.file) }
        }
        try jar.flush()
        #expect(try folder.names == ["cookies.txt.lock"])
        #expect(jar.cookies.first?.expires == noon + 9.99 + 86_400)
        jar.store(setCookie: "sid=1; Path=/; Max-Age=86400", from: url, at: noon + 1_000)
        try jar.flush()
        #expect(CookieJar(file: folder.file).cookies.count == 2)
    }

    @Test("A change that is reverted causes no write")
    func noticesNoChange() throws {
        let jar = CookieJar(file: folder.file)
        jar.store(setCookie: "a=1", from: url)
        try jar.flush()
        let path = folder.file.path(percentEncoded: false)
        let before = try FileManager.default.attributesOfItem(atPath: path)
        jar.store(setCookie: "a=2", from: url)
        jar.store(setCookie: "a=1", from: url)
        try jar.flush()
        let after = try FileManager.default.attributesOfItem(atPath: path)
        #expect(before[.systemFileNumber] as? Int == after[.systemFileNumber] as? Int)
        #expect(before[.modificationDate] as? Date == after[.modificationDate] as? Date)
    }

    @Test("A change is saved automatically")
    func savesAutomatically() async throws {
        let jar = CookieJar(file: folder.file)
        jar.store(setCookie: "a=1", from: url)
        try await until { !CookieJar(file: folder.file).cookies.isEmpty }
        #expect(jar.cookies.count == 1)
    }

    @Test("A logout removes the cookies of other processes too, and is on the disk when it returns")
    func clearsFile() throws {
        let jar = CookieJar(file: folder.file)
        jar.store(setCookie: "a=1", from: url)
        try jar.flush()
        try write(text(of: folder.file) + "other.example.org\tFALSE\t/\tFALSE\t0\tb\t2\n")
        jar.removeAll()
        #expect(CookieJar(file: folder.file).cookies.isEmpty)
        #expect(try folder.names == ["cookies.txt", "cookies.txt.lock"])
    }

    @Test("The default file is in the XDG state folder, and its name cannot leave that folder")
    func knowsDefaultPlace() {
        let path = { CookieJar.defaultFile(named: $0).path(percentEncoded: false) }
        #expect(path("shop").hasSuffix("/shop/cookies.txt"))
        #expect(path("../x").hasSuffix("/..%2Fx/cookies.txt"))
        #expect(path("a%2Fb") != path("a/b"))
        #expect(path("..").hasSuffix("/-/cookies.txt"))
        #expect(CookieJar.defaultFile().lastPathComponent == "cookies.txt")
    }

    private func mode(_ path: String) throws -> Int? {
        let path = folder.url.appending(path: path).path(percentEncoded: false)
        return try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func text(of file: URL) throws -> String { try String(decoding: Data(contentsOf: file), as: UTF8.self) }
    private func write(_ text: String) throws { try Data(text.utf8).write(to: folder.file) }
}

@Suite("Cookie files of other tools", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CookieFileInteroperabilityTests {
    private let folder: TemporaryFolder
    private let url = URL("https://shop.example.org/")
    private let noon = Date(timeIntervalSince1970: 1_800_000_000)

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test(arguments: [
        // Python's MozillaCookieJar writes session cookies like this.
        ("shop.example.org\tFALSE\t/\tFALSE\t\ta\t1", "a=1", nil),
        ("shop.example.org\tFALSE\t/\tFALSE\t1800000100.75\ta\t1", "a=1", 1_800_000_100),
        ("shop.example.org\tFALSE\t/\tFALSE\t1800000100\ta", "a=", 1_800_000_100),
    ])
    func `Lines of other tools are accepted`(_ line: String, _ header: String, _ expiry: TimeInterval?) throws {
        try Data("# Netscape HTTP Cookie File\n\(line)\n".utf8).write(to: folder.file)
        let jar = CookieJar(file: folder.file, at: noon) { [weak folder] in recordIssue($0, while: folder) }
        #expect(jar.header(for: url, at: noon) == header)
        #expect(jar.cookies.first?.expires?.timeIntervalSince1970 == expiry)
    }

    @Test(arguments: [
        "shop.example.org\tFALSE\t/\tFALSE\tsoon\ta\t1", "shop.example.org\tFALSE\t/\tFALSE\t1.5e9\ta\t1",
        "shop.example.org\tFALSE\t/\tFALSE\t0", "shop.example.org\tFALSE\t/\tFALSE\t0\ta\t1\t2",
    ])
    func `Invalid lines are damage`(_ line: String) {
        #expect(CookieFileFormat.decode(Array("\(line)\n".utf8), at: noon).damage != nil)
    }

    @Test(
        arguments: ["", "# Netscape HTTP Cookie File\n", "# http://curl.haxx.se/rfc/cookie_spec.html\r\n\r\n"],
        [
            "shop.example.org\tFALSE\t/\tFALSE\t0\tz\t1", "shop.example.org\tFALSE\t/\tFALSE\t0\tz\t1\r",
            "shop.example.org\tFALSE\t/\tFALSE\t0\tz", "#HttpOnly_shop.example.org\tFALSE\t/\tFALSE\t0\tz\t1",
            ".example.org\tTRUE\t/\tFALSE\t1800000100\tz\t", "# the end", "#", "",
        ]
    )
    func `A file without a final line feed is as complete as one with it`(_ head: String, _ last: String) throws {
        let text = "\(head)shop.example.org\tFALSE\t/\tFALSE\t0\ta\t1\n\(last)"
        let complete = CookieFileFormat.decode(Array("\(text)\n".utf8), at: noon)
        #expect(CookieFileFormat.decode(Array(text.utf8), at: noon).cookies == complete.cookies)
        try Data(text.utf8).write(to: folder.file)
        let jar = CookieJar(file: folder.file, at: noon) { [weak folder] in recordIssue($0, while: folder) }
        #expect(jar.cookies.map(\.name) == (last.contains("\t") ? ["a", "z"] : ["a"]))
        #expect(try !folder.names.contains { $0.contains("corrupt") })
    }

    @Test func `A last line that is no cookie is damage, with a line feed and without`() {
        for end in ["", "\n"] {
            let text = "a.test\tFALSE\t/\tFALSE\t0\ta\t1\na.test\tFALSE\t/\tFA\(end)"
            let contents = CookieFileFormat.decode(Array(text.utf8), at: noon)
            #expect(contents.damage != nil && contents.cookies.count == 1)
        }
    }

    @Test func `A file may be as large as the cookies of its jar`() throws {
        let padding = Data(repeating: UInt8(ascii: "#"), count: 33 << 20)
        try (padding + Data("\nshop.example.org\tFALSE\t/\tFALSE\t0\ta\t1\n".utf8)).write(to: folder.file)
        let jar = CookieJar(file: folder.file, capacity: 10_000) { [weak folder] in recordIssue($0, while: folder) }
        #expect(jar.cookies.map(\.name) == ["a"])
    }
}

/// FAULT 92: jars of one file are found even when their paths are spelled differently.
@Suite("Spellings of a cookie file's path", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CookieFileIdentityTests {
    private let folder: TemporaryFolder
    private let url = URL("https://shop.example.org/")

    init() throws {
        folder = try TemporaryFolder()
        try link("link", to: "real")
        try link("deep", to: "real/x/y")
    }

    private var root: String { String(folder.url.path(percentEncoded: false).trimmingSuffix("/")) }

    private func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: "\(root)/\(name)", withDestinationPath: target)
    }

    private func makeFolders() throws {
        try FileManager.default.createDirectory(atPath: "\(root)/real/x/y", withIntermediateDirectories: true)
    }

    private func jar(_ path: String) -> CookieJar {
        CookieJar(file: URL(filePath: "\(root)/\(path)")) { [weak folder] in recordIssue($0, while: folder) }
    }

    private static let spellings = [
        "real/cookies.txt", "real//cookies.txt", "real/./cookies.txt", "real/x/../cookies.txt", "link/cookies.txt",
        "link/x/y/../../cookies.txt", "deep/../../cookies.txt", "./link/../real/cookies.txt", "real/cookies.txt/",
    ]

    @Test(.fault(92), arguments: spellings)
    func `A logout clears every jar of the file`(_ spelling: String) throws {
        try makeFolders()
        let (one, other) = (jar("real/cookies.txt"), jar(spelling))
        one.store(setCookie: "a=1", from: url)
        try one.flush()
        other.store(setCookie: "b=1", from: url)
        try other.flush()
        #expect(other.cookies.count == 2)
        other.store(setCookie: "c=1", from: url)
        one.removeAll()
        #expect(other.cookies.isEmpty)
        try other.flush()
        #expect(jar("link/cookies.txt").cookies.isEmpty)
        #expect(other.cookies.isEmpty)
    }

    @Test(arguments: [
        "missing/cookies.txt", "missing//cookies.txt", "./missing/./cookies.txt", "real/../missing/cookies.txt",
    ])
    func `A logout clears jars of a file whose folder is missing`(_ spelling: String) throws {
        try makeFolders()
        let (one, other) = (jar("missing/cookies.txt"), jar(spelling))
        other.store(setCookie: "b=1", from: url)
        one.removeAll()
        #expect(other.cookies.isEmpty)
    }

    @Test func `A logout that is not saved yet clears a jar that is opened by another path`() throws {
        try makeFolders()
        let one = jar("real/cookies.txt")
        one.store(setCookie: "a=1", from: url)
        try one.flush()
        one.clearInMemory()
        #expect(jar("link/cookies.txt").cookies.isEmpty)
    }

    @Test func `A path with a changed symbolic link is another file from then on`() throws {
        try makeFolders()
        let (one, other) = (jar("real/cookies.txt"), jar("link/cookies.txt"))
        try FileManager.default.removeItem(atPath: "\(root)/link")
        try link("link", to: "real/x")
        other.store(setCookie: "b=1", from: url)
        one.removeAll()
        #expect(other.cookies.count == 1)
    }

    @Test(arguments: [
        ("real/cookies.txt", "real/x/cookies.txt"), ("real/cookies.txt", "real/cookies.text"),
        ("real/\u{E9}.txt", "real/e\u{301}.txt"), ("missing/cookies.txt", "missing/x/cookies.txt"),
    ])
    func `Different files are not confused`(_ one: String, _ other: String) throws {
        try makeFolders()
        #if os(Linux)
        let (one, other) = (jar(one), jar(other))
        other.store(setCookie: "b=1", from: url)
        try other.flush()
        one.removeAll()
        #expect(other.cookies.count == 1)
        #endif
    }

    @Test func `The target of a symbolic link at the file's path is another file`() throws {
        try makeFolders()
        let one = jar("real/cookies.txt")
        one.store(setCookie: "a=1", from: url)
        try one.flush()
        try link("real/alias.txt", to: "cookies.txt")
        let other = CookieJar(file: URL(filePath: "\(root)/real/alias.txt"))
        #expect(other.cookies.isEmpty)
        other.store(setCookie: "b=1", from: url)
        try other.flush()
        one.removeAll()
        #expect(other.cookies.map(\.name) == ["b"])
    }

    // Hard links imitate a file system that has one entry for both names.
    @Test func `Names that differ in case are one file if the file system has one entry for them`() throws {
        try makeFolders()
        let (one, other) = (jar("real/cookies.txt"), jar("real/Cookies.TXT"))
        one.store(setCookie: "a=1", from: url)
        try one.flush()
        for suffix in ["", ".lock"] {
            let names = ["cookies.txt", "Cookies.TXT"].map { "\(root)/real/\($0)\(suffix)" }
            if !FileManager.default.fileExists(atPath: names[1]) {
                try FileManager.default.linkItem(atPath: names[0], toPath: names[1])
            }
        }
        other.store(setCookie: "b=1", from: url)
        one.removeAll()
        #expect(other.cookies.isEmpty)
    }
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> Substring {
        hasSuffix(suffix) ? dropLast(suffix.count) : self[...]
    }
}

@Suite("Reports of problems with a cookie file", .timeLimit(.minutes(10)))
struct ProblemReporterTests {
    private final class Owner: ErrorHookOwner {
        let problems = CookieFileErrorRecorder()
        var onError: (@Sendable (any Error) -> Void)? {
            { [problems] error in if let error = error as? CookieFileError { problems.report(error) } }
        }
    }

    private let problems = CookieFileErrorRecorder()

    private func error(_ kind: CookieFileError.Kind) -> CookieFileError {
        CookieFileError(kind, file: URL(filePath: "/cookies.txt"), reason: "a reason")
    }

    @Test func `A kind is reported again only after it was resolved`() {
        let reporter = ProblemReporter<CookieFileError>(repeating: .setAside, hook: problems.report)
        for _ in 0..<3 {
            reporter.record([error(.locked)])
            reporter.report()
        }
        #expect(problems.kinds == [.locked])
        reporter.record([], resolved: [.locked])
        reporter.record([error(.locked)])
        reporter.report()
        #expect(problems.kinds == [.locked, .locked])
    }

    @Test func `Each file that is set aside is reported`() {
        let reporter = ProblemReporter<CookieFileError>(repeating: .setAside, hook: problems.report)
        reporter.record([error(.setAside), error(.cannotWrite)])
        reporter.record([error(.setAside), error(.cannotWrite)])
        reporter.report()
        #expect(problems.kinds == [.setAside, .cannotWrite, .setAside])
    }

    @Test func `As many as wait for a hook are reported, and without one a hundred are kept`() {
        for hook in [problems.report, nil] {
            let reporter = ProblemReporter<CookieFileError>(repeating: .setAside, hook: hook)
            for _ in 0..<150 { reporter.record([error(.setAside)]) }
            let owner = Owner()
            reporter.attach(to: owner)
            #expect(owner.problems.kinds.count == (hook == nil ? 100 : 0))
        }
        #expect(problems.kinds.count == 150)
    }

    @Test func `Errors are kept until there is an owner, and reported to the first one`() {
        let reporter = ProblemReporter<CookieFileError>(repeating: .setAside)
        reporter.record([error(.cannotRead)])
        reporter.report()
        let (first, second) = (Owner(), Owner())
        reporter.attach(to: first)
        reporter.attach(to: second)
        #expect(first.problems.kinds == [.cannotRead])
        reporter.record([error(.locked)])
        reporter.report()
        #expect(first.problems.kinds == [.cannotRead, .locked])
        #expect(second.problems.kinds.isEmpty)
    }

    @Test func `An owner is not retained`() {
        let reporter = ProblemReporter<CookieFileError>(repeating: .setAside)
        reporter.attach(to: Owner())
        let owner = Owner()
        reporter.attach(to: owner)
        reporter.record([error(.locked)])
        reporter.report()
        #expect(owner.problems.kinds == [.locked])
    }
}
