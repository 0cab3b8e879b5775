import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
        for number in 0..<1_000 {
            var damaged = whole
            let (index, bit) = (number * whole.count / 1_000, UInt8.random(in: 0..<8, using: &random))
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
        defer { jar.clear() }
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
