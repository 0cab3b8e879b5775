import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
        one.clear()
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
        one.clear()
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
        one.clear()
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
        one.clear()
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
        one.clear()
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
        one.clear()
        #expect(other.cookies.isEmpty)
    }
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> Substring {
        hasSuffix(suffix) ? dropLast(suffix.count) : self[...]
    }
}
