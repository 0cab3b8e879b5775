import Dispatch
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// One jar that many threads use; the thread sanitizer runs these tests as well.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct CookieConcurrencyTests {
    private let folder: TemporaryFolder
    private let jar: CookieJar
    private let url = URL("https://shop.example.org/")

    init() throws {
        folder = try TemporaryFolder()
        jar = CookieJar(file: folder.file) { [weak folder] in recordIssue($0, while: folder) }
    }

    @Test("The last changes are saved when threads store, send, remove, save and clear at once")
    func survivesThreads() throws {
        DispatchQueue.concurrentPerform(iterations: 400) { number in
            switch number % 8 {
            case 0: try? jar.flush()
            case 1: jar.remove { $0.name == "c\(number % 7)" }
            case 2 where number % 40 == 2: jar.clear()
            case 3: _ = jar.cookies
            case 4: _ = jar.header(for: url)
            default: jar.store(setCookie: "c\(number % 7)=\(number); Max-Age=100", from: url)
            }
        }
        jar.store(setCookie: "last=1", from: url)
        try jar.flush()
        let saved = CookieJar(file: folder.file).cookies.map { "\($0.name)=\($0.value)" }
        #expect(saved == jar.cookies.map { "\($0.name)=\($0.value)" })
        #expect(saved.contains("last=1"))
    }

    @Test("A response that is stored during a logout is not kept")
    func respectsLogout() {
        for round in 0..<50 {
            let before = jar.generation
            DispatchQueue.concurrentPerform(iterations: 8) { number in
                if number == 3 { jar.clear() }
                jar.store(setCookie: "sid\(number)=\(round)", from: url, generation: before)
            }
            #expect(jar.cookies.isEmpty)
        }
        #expect(CookieJar(file: folder.file).cookies.isEmpty)
    }

    @Test("A cookie that changes back while its change is being saved is saved again")
    func savesWhatChangesBack() async throws {
        // So that a save takes a moment.
        for number in 0..<300 {
            let value = String(repeating: "x", count: 4_000)
            jar.store(setCookie: "c=\(value); Max-Age=1000", from: URL("https://s\(number).example.com/"))
        }
        jar.store(setCookie: "sid=0", from: url)
        try jar.flush()
        let file = CookieFile(folder.file)
        let former = stat(ofEntry: file.path)?.identity
        jar.store(setCookie: "sid=1", from: url)
        spin(while: stat(ofEntry: file.temporaryPath)?.identity == nil && stat(ofEntry: file.path)?.identity == former)
        jar.store(setCookie: "sid=0", from: url)
        spin(while: stat(ofEntry: file.path)?.identity == former)
        try await until { try Data(contentsOf: folder.file).range(of: Data("\tsid\t0\n".utf8)) != nil }
    }

    @Test("A jar that is released saves its changes")
    func savesWhenReleased() async throws {
        let file = folder.url.appending(path: "released.txt")
        CookieJar(file: file).store(setCookie: "a=1", from: url)
        try await until { !CookieJar(file: file).cookies.isEmpty }
    }
}
