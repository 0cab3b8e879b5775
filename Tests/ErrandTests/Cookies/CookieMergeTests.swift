import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// FAULT 92: for each cookie, the newest update wins in a file that several jars share.
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

    @Test func `A repeated removal removes an update of another jar in between`() throws {
        let (one, other) = (jar(), jar())
        one.store(setCookie: "sid=; Max-Age=0", from: url, at: start)
        try one.flush()
        other.store(setCookie: "sid=1", from: url, at: start + 1)
        one.store(setCookie: "sid=; Max-Age=0", from: url, at: start + 2)
        try one.flush()
        try other.flush()
        #expect(pairs(of: jar()).isEmpty)
    }

    @Test(arguments: [false, true])
    func `The newest update wins in any order of saves`(_ isNewerSavedFirst: Bool) throws {
        let (one, other) = (jar(), jar())
        one.store(setCookie: "a=old", from: url, at: start)
        one.store(setCookie: "b=; Max-Age=0", from: url, at: start + 1)
        one.store(setCookie: "c=old", from: url, at: start)
        other.store(setCookie: "a=new", from: url, at: start + 1)
        other.store(setCookie: "b=old", from: url, at: start)
        other.store(setCookie: "c=; Max-Age=0", from: url, at: start + 1)
        for jar in isNewerSavedFirst ? [other, one] : [one, other] { try jar.flush() }
        #expect(pairs(of: jar()) == ["a=new"])
        for jar in [one, other] {
            jar.store(setCookie: "touch=1", from: url, at: start + 2)
            try jar.flush()
            #expect(pairs(of: jar) == ["a=new", "touch=1"])
        }
    }

    @Test func `An expired cookie is not replaced by an older update`() throws {
        let (one, other) = (jar(), jar())
        other.store(setCookie: "sid=old; Max-Age=1000", from: url, at: start)
        one.store(setCookie: "sid=new; Max-Age=10", from: url, at: start + 1)
        try one.flush()
        one.store(setCookie: "lang=de", from: url, at: start + 20)
        try one.flush()
        try other.flush()
        #expect(CookieJar(file: folder.file, at: start + 21).header(for: url, at: start + 21) == "lang=de")
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
        one.clear()
        try other.store("after=1", from: url, at: .now)
        try other.flush()
        #expect(pairs(of: jar()) == ["after=1"])
        #expect(try other.pairs() == ["after=1"])
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
        one.clear()
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

    @Test func `A removal in every response is saved once`() throws {
        var state = CookieJarState(hasFile: true, capacity: 10, suffixes: PublicSuffixList())
        let store = CookieJar()
        store.store(setCookie: "flash=1; Max-Age=1", from: url, at: start)
        var cookie = try #require(store.cookies.first)
        cookie.expires = .distantPast
        for number in 0..<3 {
            _ = state.insert(cookie, isFromSecureOrigin: true, sentIn: nil, at: start + Double(number))
            let unsaved = state.takeChanges()
            #expect(unsaved.repeatsSavedRemovals == (number > 0))
            var merged = unsaved.store
            merged.discardOldRemovals(at: start)
            state.commit(merged, after: unsaved.changes, checksum: 1)
        }
    }

    @Test func `Removals that cannot be saved do not grow without limit`() throws {
        var state = CookieJarState(hasFile: true, capacity: 3_000, suffixes: PublicSuffixList())
        let store = CookieJar()
        store.store(setCookie: "sid=1; Max-Age=1", from: url, at: start)
        let cookie = try #require(store.cookies.first)
        for number in 0..<2_000 {
            var removed = Cookie(name: "r\(number)", like: cookie)
            removed.expires = .distantPast
            _ = state.insert(removed, isFromSecureOrigin: true, sentIn: nil, at: start)
        }
        let unsaved = state.takeChanges()
        #expect(unsaved.changes.keys.count == 2_000)
        _ = state.restore(unsaved)
        #expect(state.takeChanges().changes.keys.count == 180)
    }

    @Test func `A logout that is saved late keeps what another process has stored since`() throws {
        let earlier = start - 60
        var (local, other) = (
            CookieJarState(hasFile: true, capacity: 10, suffixes: PublicSuffixList()),
            CookieJarState(hasFile: true, capacity: 10, suffixes: PublicSuffixList())
        )
        let jar = CookieJar()
        jar.store(setCookie: "sid=1", from: url, at: earlier)
        let cookie = try #require(jar.cookies.first)
        _ = local.clear(at: earlier)
        _ = local.insert(Cookie(name: "new", like: cookie), isFromSecureOrigin: true, sentIn: nil, at: earlier + 1)
        _ = other.insert(Cookie(name: "theirs", like: cookie), isFromSecureOrigin: true, sentIn: nil, at: earlier + 2)
        let pending = local.takeChanges()
        let merge = CookieMerge(local: pending.store, unsaved: pending.changes.keys, date: earlier + 1) { _ in false }
        let merged = merge.merged(with: other.takeChanges().store)
        #expect(Set(merged.cookies.map(\.name)) == ["new", "theirs"])
    }

    @Test func `A logout in memory is saved soon`() async throws {
        let one = jar()
        one.store(setCookie: "sid=1; Max-Age=1000", from: url)
        try one.flush()
        one.clearInMemory()
        try await until { try !String(contentsOf: folder.file, encoding: .utf8).contains("sid") }
    }

    @Test func `A site has at most 180 removals, and they are discarded after a day`() throws {
        let one = jar()
        for number in 0..<300 { one.store(setCookie: "r\(number)=; Max-Age=0", from: url, at: start) }
        try one.flush()
        #expect(try removals() == 180)
        one.store(setCookie: "a=1; Max-Age=1000000", from: url, at: start + 2 * 86_400)
        try one.flush()
        #expect(try removals() == 0)
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

    private func removals() throws -> Int {
        try String(contentsOf: folder.file, encoding: .utf8).split(separator: "\n").count {
            $0.hasPrefix("#Errand-removed")
        }
    }
}

extension Cookie {
    /// A cookie of another name.
    fileprivate init(name: String, like cookie: Cookie) {
        self.init(
            nameBytes: Array(name.utf8),
            valueBytes: cookie.valueBytes,
            domain: cookie.domain,
            isHostOnly: cookie.isHostOnly,
            path: cookie.path,
            expires: cookie.expires,
            created: cookie.created,
            isSecure: cookie.isSecure,
            isHTTPOnly: cookie.isHTTPOnly,
            sameSite: cookie.sameSite,
            updated: cookie.updated
        )
    }
}
