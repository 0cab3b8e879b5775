import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// A logout through one jar while another jar of the same file loads or saves.
@Suite("A logout while other jars load or save", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CookieLogoutRaceTests {
    private let folder: TemporaryFolder
    private let url = URL("https://shop.example.org/")

    init() throws {
        folder = try TemporaryFolder()
    }

    private func cookie(_ name: String) throws -> Cookie {
        let jar = CookieJar()
        jar.store(setCookie: "\(name)=1", from: url)
        return try #require(jar.cookies.first)
    }

    private func state() -> CookieJarState {
        CookieJarState(hasFile: true, capacity: 100, suffixes: PublicSuffixList())
    }

    private func store(_ names: String...) throws -> CookieStore {
        var store = CookieStore(capacity: 100, suffixes: PublicSuffixList(), recordsRemovals: true)
        for name in names { store.insert(try cookie(name)) }
        return store
    }

    @Test func `A logout during a save discards the merged cookies`() throws {
        var state = state()
        let unsaved = state.takeChanges()
        state.clear(upTo: CookieTimestamp(.now))
        state.commit(try store("sid"), after: unsaved.changes, checksum: 2)
        #expect(state.store.cookies.isEmpty)
        let next = state.takeChanges()
        #expect(next.fileChecksum == 2)
        state.commit(try store("new"), after: next.changes, checksum: 4)
        #expect(state.store.cookies.map(\.name) == ["new"])
    }

    @Test func `Cookies that were read before a logout are not loaded after it`() throws {
        var state = state()
        let generation = state.generation
        state.clear(upTo: CookieTimestamp(.now))
        state.load(try store("sid"), checksum: 1, readIn: generation, at: .now)
        #expect(state.store.cookies.isEmpty)
    }

    @Test func `A jar that is opened before the logout is saved is empty`() throws {
        let jar = CookieJar(file: folder.file)
        jar.store(setCookie: "sid=1", from: url)
        try jar.flush()
        jar.clearInMemory()
        let other = CookieJar(file: folder.file)
        #expect(other.cookies.isEmpty)
        try jar.flush()
        #expect(CookieJar(file: folder.file).cookies.isEmpty)
        jar.store(setCookie: "sid=2", from: url)
        try jar.flush()
        #expect(CookieJar(file: folder.file).cookies.map(\.value) == ["2"])
        other.store(setCookie: "lang=de", from: url)
        try other.flush()
        #expect(Set(other.cookies.map(\.name)) == ["sid", "lang"])
    }

    @Test(arguments: [false, true])
    func `A jar that saves before the logout is saved restores nothing`(_ isOlder: Bool) throws {
        let older = CookieJar(file: folder.file)
        let jar = CookieJar(file: folder.file)
        jar.store(setCookie: "sid=1", from: url)
        try jar.flush()
        jar.clearInMemory()
        let other = isOlder ? older : CookieJar(file: folder.file)
        other.store(setCookie: "lang=de", from: url)
        try other.flush()
        #expect(other.cookies.map(\.name) == ["lang"])
        #expect(try !String(contentsOf: folder.file, encoding: .utf8).contains("sid"))
        try jar.flush()
        #expect(jar.cookies.isEmpty)
    }

    @Test func `Two logouts do not prevent a later jar from reading the file`() throws {
        let (one, other) = (CookieJar(file: folder.file), CookieJar(file: folder.file))
        one.store(setCookie: "sid=1", from: url)
        try one.flush()
        one.clearInMemory()
        other.clearInMemory()
        try one.flush()
        try other.flush()
        #expect(CookieJar(file: folder.file).cookies.isEmpty)
        other.store(setCookie: "sid=2", from: url)
        try other.flush()
        #expect(CookieJar(file: folder.file).cookies.map(\.value) == ["2"])
    }

    private var names: [String] { (try? folder.names) ?? [] }

    @Test func `A logout discards the cookies of a jar that is saving`() throws {
        for _ in 0..<100 {
            let (one, other) = (CookieJar(file: folder.file), CookieJar(file: folder.file))
            one.store(setCookie: "sid=1", from: url)
            try one.flush()
            other.store(setCookie: "lang=de", from: url)
            let isSaved = Atomic(false)
            DispatchQueue.concurrentPerform(iterations: 2) { number in
                if number == 0 {
                    try? other.flush()
                    isSaved.store(true, ordering: .relaxed)
                } else {
                    // During the other jar's save, which has merged the cookies of both jars by then.
                    while !names.contains("cookies.txt.errand-tmp"), !isSaved.load(ordering: .relaxed) {}
                    one.clear()
                }
            }
            #expect(!other.cookies.contains { $0.name == "sid" })
            #expect(CookieJar(file: folder.file).cookies.isEmpty)
        }
    }
}
