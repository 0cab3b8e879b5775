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
        CookieJarState(CookieStore(capacity: 100, suffixes: PublicSuffixList()), hasFile: true)
    }

    /// A file with one cookie.
    private func file(_ name: String, checksum: UInt64) throws -> CookieFileSnapshot {
        CookieFileSnapshot(contents: .init(cookies: [try cookie(name)]), checksum: checksum)
    }

    @Test func `A logout during a save discards the merged cookies`() throws {
        var state = state()
        let (before, saved) = (state, try file("sid", checksum: 2))
        state.clear(upTo: CookieTimestamp(.now))
        state.commit(saved, of: before, merged: before.store)
        #expect(state.store.cookies.isEmpty)
        #expect(state.fileChecksum == 2)
        state.commit(try file("new", checksum: 4), of: state, merged: state.store)
        #expect(state.store.cookies.map(\.name) == ["new"])
    }

    @Test func `A logout ends what changed before it during a save`() throws {
        var state = state()
        _ = state.insert(try cookie("sid"), isFromSecureOrigin: true, sentIn: nil, at: .now)
        let before = state
        _ = state.clear(at: .now)
        state.commit(try file("sid", checksum: 2), of: before, merged: before.store)
        #expect(state.changes.isEmpty)
        #expect(state.isLogoutUnsaved)
    }

    @Test func `Cookies that were read before a logout are not loaded after it`() throws {
        var state = state()
        let (before, read) = (state, try file("sid", checksum: 1))
        state.clear(upTo: CookieTimestamp(.now))
        let isAdopted = state.adopt(read, readAfter: before, at: .now)
        #expect(!isAdopted)
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
