import Dispatch
import Foundation
import Synchronization
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

/// FAULT 36, and the rules of RFC 6265bis that the http-state suite does not test.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct CookieJarTests {
    static let shop = URL("https://shop.example.org/cart/list")
    let jar = CookieJar()

    @Test(
        "A cookie that the host may not set is refused",
        .fault(36),
        arguments: [
            ("a=1; Domain=org", CookieRefusal.publicSuffix),
            ("a=1; Domain=.org", .publicSuffix),
            ("a=1; Domain=sibling.example.org", .foreignDomain),
            ("a=1; Domain=below.shop.example.org", .foreignDomain),
            ("a=1; Domain=hop.example.org", .foreignDomain),
            ("a=1; Domain=shop.example.org.", .foreignDomain),
            ("a=1; Domain=shöp.example.org", .foreignDomain),
            ("a=1; SameSite=None", .sameSiteNoneWithoutSecure),
            ("__Secure-a=1", .prefix),
            ("__SECURE-a=1", .prefix),
            ("__Host-a=1; Secure", .prefix),
            ("__Host-a=1; Secure; Path=/cart", .prefix),
            ("__Host-a=1; Secure; Path=/; Domain=shop.example.org", .prefix),
            ("__host-a=1; Path=/", .prefix),
            ("=__Host-a=1; Secure; Path=/", .prefix),
            ("__Secure-", .prefix),
            ("=", .empty),
            ("; Path=/", .empty),
            ("a=b\u{7F}", .controlCharacter),
            ("a=b; Path=/\u{0}", .controlCharacter),
        ]
    )
    func refuses(_ line: String, _ refusal: CookieRefusal) {
        #expect(jar.store(setCookie: line, from: Self.shop) == .refused(refusal))
        #expect(jar.store(setCookie: line, from: Self.shop) == false)
        #expect(jar.cookies.isEmpty)
    }

    @Test(
        "A cookie that satisfies the rules is stored",
        arguments: [
            "__Secure-a=1; Secure; Domain=example.org", "__Host-a=1; Secure; Path=/", "__HOST-a=; secure; path=/",
            "a=1; Domain=.EXAMPLE.org", "a=1; SameSite=None; Secure",
        ]
    )
    func stores(_ line: String) {
        #expect(jar.store(setCookie: line, from: Self.shop) == true)
        #expect(jar.cookies.count == 1)
    }

    @Test("An insecure connection neither sets, hides nor receives a Secure cookie", .fault(36))
    func protectsSecureCookies() {
        let insecure = URL("http://shop.example.org/cart/list")
        #expect(jar.store(setCookie: "a=1; Secure", from: insecure) == .refused(.insecureConnection))
        jar.store(setCookie: "a=1; Secure; Path=/cart", from: Self.shop)
        for line in ["a=2; Path=/cart", "a=2; Path=/cart/list", "a=2; Path=/cart; Domain=example.org"] {
            #expect(jar.store(setCookie: line, from: insecure) == .refused(.shadowsSecureCookie))
        }
        jar.store(setCookie: "a=3; Path=/", from: insecure)
        #expect(jar.header(for: insecure) == "a=3")
        #expect(jar.header(for: Self.shop) == "a=1; a=3")
    }

    @Test(
        "Loopback over http is trusted only if the jar is configured to trust it",
        arguments: [
            "http://localhost/", "http://api.localhost:8080/", "http://127.8.9.1/", "http://[::1]/",
        ]
    )
    func trustsLoopback(_ text: String) {
        jar.store(setCookie: "a=1; Secure", from: URL(text))
        #expect(jar.cookies.isEmpty)
        let trusting = CookieJar(trustworthyLoopback: true)
        trusting.store(setCookie: "a=1; Secure", from: URL(text))
        #expect(trusting.header(for: URL(text)) == "a=1")
        #expect(
            trusting.store(setCookie: "a=1; Secure", from: URL("http://127.example.org/"))
                == .refused(.insecureConnection)
        )
    }

    @Test(
        "An address has no parent domain",
        .fault(36),
        arguments: ["http://10.1.2.3/", "http://[2001:db8::1]/", "http://127.1/"]
    )
    func doesNotMatchParentsOfAddresses(_ text: String) {
        jar.store(setCookie: "a=1; Domain=2.3", from: URL(text))
        jar.store(setCookie: "a=1; Domain=1", from: URL(text))
        #expect(jar.cookies.isEmpty)
        jar.store(setCookie: "a=1", from: URL(text))
        #expect(jar.header(for: URL(text)) == "a=1")
        #expect(jar.header(for: URL("http://9.10.1.2.3/")) == nil)
    }

    @Test("A host with a trailing dot is another host", .fault(36))
    func distinguishesTrailingDot() {
        let dotted = URL("https://shop.example.org./")
        jar.store(setCookie: "a=1; Path=/", from: dotted)
        #expect(jar.store(setCookie: "b=1; Domain=org.", from: dotted) == .refused(.publicSuffix))
        #expect(jar.header(for: Self.shop) == nil)
        #expect(jar.header(for: dotted) == "a=1")
    }

    @Test(
        "Only http and https URLs have cookies",
        arguments: ["ftp://shop.example.org/", "file:///tmp/x", "data:,x", "shop"]
    )
    func ignoresOtherSchemes(_ text: String) {
        #expect(jar.store(setCookie: "a=1", from: URL(text)) == .refused(.unsupportedURL))
        #expect(jar.header(for: URL(text)) == nil)
    }

    @Test("An international host is matched in its xn-- form")
    func matchesInternationalHosts() {
        jar.store(setCookie: "a=1; Domain=xn--bcher-kva.example", from: URL("https://www.bücher.example/"))
        #expect(jar.header(for: URL("https://BÜCHER.example/")) == "a=1")
    }

    @Test(
        "Sizes have the limits of RFC 6265bis",
        arguments: [
            ("n", 4096, true), ("n", 4097, false), ("attribute", 1024, true), ("attribute", 1025, false),
        ]
    )
    func limitsSizes(_ what: String, size: Int, isTaken: Bool) {
        let pair = "a=" + String(repeating: "v", count: size - 1)
        let path = "/" + String(repeating: "p", count: size - 1)
        if what == "n" {
            let outcome: CookieJar.Outcome = jar.store(setCookie: pair, from: Self.shop)
            #expect((outcome == .refused(.tooLong)) == !isTaken)
        } else {
            jar.store(setCookie: "a=1; Path=\(path)", from: Self.shop)
            #expect((jar.cookies.first?.path == path) == isTaken)
        }
    }

    @Test("A URL with a host that no name server can know has no cookies")
    func refusesLongHost() throws {
        let longest = String(repeating: "a.", count: 126) + "abc"
        let url = URL("http://\(longest)/")
        jar.store(setCookie: "a=1", from: url)
        #expect(jar.header(for: url) == "a=1")
        for host in ["a\(longest)", String(repeating: "a.", count: 50_000) + "a"] {
            guard let url = URL(string: "http://\(host)/") else { continue }
            #expect(jar.store(setCookie: "a=1", from: url) == .refused(.unsupportedURL))
            #expect(jar.header(for: url) == nil)
        }
    }

    @Test("A cookie does not have a longer path from its URL than from an attribute", arguments: [1_024, 1_025])
    func refusesLongDefaultPath(length: Int) throws {
        let path = "/" + String(repeating: "p", count: length - 1)
        let outcome: CookieJar.Outcome = jar.store(setCookie: "a=1", from: URL("http://shop.test\(path)/x"))
        #expect((outcome == .refused(.tooLong)) == (length > 1_024))
    }

    @Test("The bytes of name and value are not changed")
    func keepsBytes() throws {
        let line = Array("k\u{e9}y=a%20\"b\" \t c".utf8) + [0xFF, 0xFE]
        jar.store(setCookie: line, from: Self.shop)
        let cookie = try #require(jar.cookies.first)
        #expect(cookie.nameBytes + [UInt8(ascii: "=")] + cookie.valueBytes == line)
        #expect(jar.header(for: Self.shop)?.hasPrefix("k\u{e9}y=a%20\"b\" \t c") == true)
    }

    @Test("A cookie's description does not contain the value")
    func hidesValue() throws {
        jar.store(setCookie: "sid=secret", from: Self.shop)
        let cookie = try #require(jar.cookies.first)
        var dumped = ""
        dump(cookie, to: &dumped)
        #expect(!"\(cookie) \(String(reflecting: cookie)) \([cookie]) \(dumped)".contains("secret"))
    }
}

// Exit tests need child processes.
#if os(macOS) || os(Linux)
import ErrandTesting
import Foundation
import Testing
@testable import Errand
@testable import ErrandTestSupport

@Suite("Objects that call a jar when they are deinitialized", .timeLimit(.minutes(10)))
struct CookieJarReleaseTests {
    @Test(.startsLate) func `A proxy that is released while its jar reads the weak reference to it`() async {
        await #expect(processExitsWith: .success) {
            // A deadlock ends the process here.
            alarm(60)
            let (jar, transport) = (CookieJar(), ScriptedTransport())
            DispatchQueue.concurrentPerform(iterations: 2) { _ in
                for _ in 0..<5_000 {
                    let service = APIService.sample { $0.reloginHandler = DeinitObserver { _ = jar.cookies } }
                    _ = APIProxy(service: service, transport: transport, cookies: jar)
                }
            }
        }
    }

    @Test(.startsLate) func `A jar that is released while the jars of its file are searched`() async {
        await #expect(processExitsWith: .success) {
            alarm(60)
            let folder = try TemporaryFolder()
            let shared = CookieJar(file: folder.file)
            DispatchQueue.concurrentPerform(iterations: 2) { _ in
                for _ in 0..<500 {
                    _ = CookieJar(file: folder.file) { [asking = DeinitObserver { shared.clearInMemory() }] _ in
                        _ = asking
                    }
                    shared.clearInMemory()
                }
            }
        }
    }
}
#endif

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
            case 1: jar.removeAll { $0.name == "c\(number % 7)" }
            case 2 where number % 40 == 2: jar.removeAll()
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
                if number == 3 { jar.removeAll() }
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
                    one.removeAll()
                }
            }
            #expect(!other.cookies.contains { $0.name == "sid" })
            #expect(CookieJar(file: folder.file).cookies.isEmpty)
        }
    }
}
