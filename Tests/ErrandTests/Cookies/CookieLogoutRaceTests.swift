import Dispatch
import Foundation
import Synchronization
import Testing

@testable import Errand

/// A logout through one jar, and another jar of the same file that is busy with it.
@Suite("A logout while other jars of the file are busy", .takesTurns, .timeLimit(.minutes(10)))
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
        CookieJarState(hasFile: true, capacity: 100, suffixes: PublicSuffixRules())
    }

    private func store(_ names: String...) throws -> CookieStore {
        var store = CookieStore(capacity: 100, suffixes: PublicSuffixRules(), remembersRemovals: true)
        for name in names { store.put(try cookie(name)) }
        return store
    }

    @Test func `What a save has merged does not come back behind a logout`() throws {
        var state = state()
        let unsaved = state.takeChanges()
        state.forget(upTo: CookieStamp(.now))
        state.agree(on: try store("sid"), after: unsaved.changes, written: 2)
        #expect(state.store.cookies.isEmpty)
        let next = state.takeChanges()
        #expect(next.agreed == 2)
        state.agree(on: try store("new"), after: next.changes, written: 4)
        #expect(state.store.cookies.map(\.name) == ["new"])
    }

    @Test func `What was read before a logout is not taken after it`() throws {
        var state = state()
        let generation = state.generation
        state.forget(upTo: CookieStamp(.now))
        state.load(try store("sid"), checksum: 1, readIn: generation, at: .now)
        #expect(state.store.cookies.isEmpty)
    }

    @Test func `A jar that is opened before the disk knows of the logout is empty`() throws {
        let jar = CookieJar(file: folder.file)
        jar.store(setCookie: "sid=1", from: url)
        try jar.flush()
        jar.empty()
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
    func `A jar that saves before the disk knows of the logout brings nothing back`(_ isOlder: Bool) throws {
        let older = CookieJar(file: folder.file)
        let jar = CookieJar(file: folder.file)
        jar.store(setCookie: "sid=1", from: url)
        try jar.flush()
        jar.empty()
        let other = isOlder ? older : CookieJar(file: folder.file)
        other.store(setCookie: "lang=de", from: url)
        try other.flush()
        #expect(other.cookies.map(\.name) == ["lang"])
        #expect(try !String(contentsOf: folder.file, encoding: .utf8).contains("sid"))
        try jar.flush()
        #expect(jar.cookies.isEmpty)
    }

    @Test func `A logout that another one has overtaken keeps no later jar from reading the file`() throws {
        let (one, other) = (CookieJar(file: folder.file), CookieJar(file: folder.file))
        one.store(setCookie: "sid=1", from: url)
        try one.flush()
        one.empty()
        other.empty()
        try one.flush()
        try other.flush()
        #expect(CookieJar(file: folder.file).cookies.isEmpty)
        other.store(setCookie: "sid=2", from: url)
        try other.flush()
        #expect(CookieJar(file: folder.file).cookies.map(\.value) == ["2"])
    }

    private var names: [String] { (try? folder.names) ?? [] }

    @Test func `A jar that is saving holds nothing that a logout has ended`() throws {
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
                    // In the middle of the other's save, which has merged both by then.
                    while !names.contains("cookies.txt.errand-tmp"), !isSaved.load(ordering: .relaxed) {}
                    one.clear()
                }
            }
            #expect(!other.cookies.contains { $0.name == "sid" })
            #expect(CookieJar(file: folder.file).cookies.isEmpty)
        }
    }
}
