import FixtureServer
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

/// FAULTS 35 and 91: a server that stores any number of cookies does not evict those of another site.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct CookieEvictionTests {
    let noisy = URL("https://noisy.example.org/")
    let quiet = URL("https://quiet.example.com/")
    let jar = CookieJar()

    /// FAULT 35 has 10,000, which take long in a debug build.
    static let flood = CookieProbe.runsSlowTests ? 10_000 : 1_000

    @Test("A host that stores 1,000 cookies of 4 KB keeps 180 of them, and another host keeps all", .fault(35))
    func limitsDomain() throws {
        jar.store(setCookie: "sid=1", from: quiet)
        let value = String(repeating: "v", count: 4_000)
        for number in 0..<Self.flood { jar.store(setCookie: "c\(number)=\(value)", from: noisy) }
        #expect(jar.cookies.count == 181)
        #expect(jar.header(for: quiet) == "sid=1")
        #expect(try #require(jar.header(for: noisy)).utf8.count <= 8_192)
    }

    @Test(
        "A site with many domains and hosts has 180 cookies at most, and another site keeps all",
        .fault(91),
        arguments: ["example.org", "example.org.", "shop.co.uk"]
    )
    func limitsSite(_ site: String) {
        for number in 0..<150 { jar.store(setCookie: "q\(number)=1; Max-Age=1000", from: quiet) }
        let labels = (0..<100).map { "a\($0 % 10)" }
        // Hosts of all depths with all their domains take long in a debug build.
        for depth in stride(from: 0, to: labels.count, by: CookieProbe.runsSlowTests ? 1 : 8) {
            let host = (labels[depth...] + [site]).joined(separator: ".")
            let url = URL("https://\(host)/")
            for parent in CookieDomain.candidates(for: host).dropLast() {
                jar.store(setCookie: "c\(depth)=1; Secure; Max-Age=1000; Domain=\(parent)", from: url)
            }
        }
        #expect(jar.cookies.count { $0.domain.hasSuffix(site) } == 180)
        #expect(jar.cookies(for: quiet).count == 150)
    }

    @Test("Sites with cookies of random domains have 180 cookies each", .fault(91))
    func limitsSitesAtRandom() {
        var random = SplitMix(seed: 91)
        let sites = ["one.example", "two.co.uk", "three.org", "10.0.0.1", "localhost"]
        for number in 0..<(CookieProbe.runsSlowTests ? 3_000 : 2_000) {
            let site = sites.randomElement(using: &random) ?? ""
            let isName = site.contains { $0.isLetter }
            let labels = isName ? (0..<Int.random(in: 0...5, using: &random)).map { _ in "h\(random.next() % 4)" } : []
            let host = (labels + [site]).joined(separator: ".")
            let domain = CookieDomain.candidates(for: host).randomElement(using: &random) ?? host
            jar.store(setCookie: "c\(number)=1; Domain=\(domain)", from: URL("https://\(host)/"))
        }
        let list = PublicSuffixList()
        let groups = Dictionary(grouping: jar.cookies) { cookie in
            CookieDomain.isAddress(cookie.domain)
                ? cookie.domain : list.registrableDomain(of: cookie.domain) ?? cookie.domain
        }
        #expect(groups.values.allSatisfy { $0.count <= 180 })
        for site in sites.dropLast() { #expect(groups[site]?.count == 180, "\(site)") }
    }

    @Test("Without a list, a site is the last two labels")
    func limitsSiteWithoutList() {
        var store = CookieStore(capacity: 3_300, suffixes: .defaultRule)
        #expect(store.site(of: "a.b.shop.example") == "shop.example")
        #expect(store.site(of: "10.1.2.3") == "10.1.2.3")
        #expect(store.site(of: "localhost") == "localhost")
        let evicted = store.evict(afterInsertionInto: "shop.example")
        #expect(evicted.isEmpty)
    }

    @Test("A jar holds 3,300 cookies, and evicts those of crowded sites first", .fault(35))
    func limitsTotal() {
        for number in 0..<10 { jar.store(setCookie: "q\(number)=1", from: quiet) }
        for host in 0..<20 {
            let url = URL("https://www.host\(host).example/")
            for number in 0..<180 { jar.store(setCookie: "c\(number)=1", from: url) }
        }
        #expect(jar.cookies.count == 3_300)
        #expect(jar.cookies(for: quiet).count == 10)
    }

    @Test("A jar and its file hold as many cookies as the capacity", arguments: [20, 3_500])
    func hasCapacity(_ capacity: Int) throws {
        let folder = try TemporaryFolder()
        let jar = CookieJar(file: folder.file, capacity: capacity) { [weak folder] in recordIssue($0, while: folder) }
        for number in 0..<capacity + 10 {
            jar.store(setCookie: "c=1", from: URL("https://host\(number).example/"))
        }
        #expect(jar.cookies.count == capacity)
        try jar.flush()
        let other = CookieJar(file: folder.file, capacity: capacity) { [weak folder] in recordIssue($0, while: folder) }
        #expect(other.cookies.count == capacity)
    }

    @Test("Insecure cookies are evicted before secure ones, and those unused for longest first")
    func ordersEviction() {
        let path = { (name: String) in URL("https://noisy.example.org/\(name)/") }
        for number in 0..<90 { jar.store(setCookie: "s\(number)=1; Secure; Path=/secure", from: noisy) }
        for number in 0..<90 { jar.store(setCookie: "i\(number)=1; Path=/p\(number)", from: noisy) }
        _ = jar.header(for: path("p0"))
        jar.store(setCookie: "new=1; Secure; Path=/secure", from: noisy)
        #expect(jar.cookies.count == 180)
        #expect(jar.cookies(for: path("p0")).count == 1)
        #expect(jar.cookies(for: path("p1")).isEmpty)
        #expect(jar.cookies(for: path("secure")).count == 91)
    }

    @Test("In a full jar without crowded sites, those unused for longest are evicted, whether they are secure or not")
    func ordersEvictionOfAll() {
        let url = { (host: String) in URL("https://\(host).example/") }
        let jar = CookieJar(capacity: 3)
        for host in ["a", "b", "c"] { jar.store(setCookie: "\(host)=1; Secure", from: url(host)) }
        jar.store(setCookie: "d=1", from: url("d"))
        #expect(Set(jar.cookies.map(\.name)) == ["b", "c", "d"])
        _ = jar.header(for: url("b"))
        jar.store(setCookie: "e=1", from: url("e"))
        #expect(Set(jar.cookies.map(\.name)) == ["b", "d", "e"])
    }

    @Test("Cookies that do not fit into 8 KB are left out, the others are sent in order", .fault(35))
    func limitsHeader() {
        for number in 0..<4 {
            jar.store(setCookie: "c\(number)=\(String(repeating: "v", count: 4_000 - number))", from: noisy)
        }
        jar.store(setCookie: "small=1", from: noisy)
        let names = jar.header(for: noisy)?.split(separator: "; ").compactMap { $0.split(separator: "=").first }
        #expect(names == ["c0", "c1", "small"])
    }
}

@Suite("Cookies by domain and site", .timeLimit(.minutes(10)))
struct CookieSiteTests {
    private static let hosts = ["shop.example.org", "www.example.org", "example.org", "other.example", "10.0.0.1"]

    private func cookie(_ name: String, host: String) throws -> Cookie {
        let jar = CookieJar()
        jar.store(setCookie: "\(name)=1", from: URL("https://\(host)/"))
        return try #require(jar.cookies.first)
    }

    @Test func `Random insertions and removals are counted by site`() throws {
        var random = SplitMix(seed: 12)
        var store = CookieStore(capacity: 1_000, suffixes: .defaultRule)
        var model: [Cookie.Key: String] = [:]
        for _ in 0..<500 {
            let host = Self.hosts.randomElement(using: &random) ?? ""
            let cookie = try cookie("c\(random.next() % 5)", host: host)
            if model[cookie.key] == nil {
                store.insert(cookie)
                model[cookie.key] = store.site(of: host)
            } else {
                store.remove(cookie.key)
                model[cookie.key] = nil
            }
            #expect(store.count == model.count)
            #expect(Set(store.entries.map(\.cookie.key)) == Set(model.keys))
            #expect(Set(store.sites) == Set(model.values))
            for site in store.sites {
                #expect(store.count(ofSite: site) == model.values.count { $0 == site })
                #expect(store.entries(ofSite: site).reduce(0) { count, _ in count + 1 } == store.count(ofSite: site))
            }
        }
    }

    @Test func `A key that is not in the store is neither updated nor removed`() throws {
        var store = CookieStore(capacity: 1_000, suffixes: .defaultRule)
        store.insert(try cookie("a", host: "shop.example.org"))
        let missing = try cookie("b", host: "shop.example.org").key
        #expect(store.update(missing) { _ in true } == nil)
        store.remove(missing)
        #expect(store[missing] == nil)
        #expect(store.count == 1)
    }
}

@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct PublicSuffixTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let host: String
        let domain: String?
        var testDescription: String { host }
    }

    static let folder = SharedData.publicSuffix
    static let list = folder.folder.appending(path: "public_suffix_list.dat")
    static let cases: [Case] = {
        guard let text = try? String(decoding: folder.bytes("tests.txt"), as: UTF8.self) else { return [] }
        return text.split(separator: "\n").filter { !$0.hasPrefix("//") }.map { line in
            let fields = line.split(separator: " ").map { $0 == "null" ? nil : String($0) }
            return Case(host: fields[0] ?? "", domain: fields[1])
        }
    }()

    static let fileList = PublicSuffixList(file: list)

    @Test(
        "The list of publicsuffix.org finds the registrable domains of its test cases",
        .enabled(if: folder.exists, "the conformance data is not here"),
        arguments: cases
    )
    func findsDomain(_ test: Case) {
        let host = CookieDomain.canonical(test.host) ?? ""
        #expect(Self.fileList.registrableDomain(of: host) == test.domain.flatMap(CookieDomain.canonical))
    }

    @Test("There are 78 cases", .enabled(if: folder.exists, "the conformance data is not here"))
    func isComplete() {
        #expect(Self.cases.count == 78)
    }

    @Test(
        "libpsl finds the registrable domains of the same cases",
        .enabled(if: LibPSL() != nil && folder.exists, "libpsl or the conformance data is not here"),
        arguments: cases
    )
    func libpslFindsDomain(_ test: Case) throws {
        let host = CookieDomain.canonical(test.host) ?? ""
        let domain = host.utf8.first == UInt8(ascii: ".") ? nil : try #require(LibPSL()).registrableDomain(of: host)
        #expect(domain == test.domain.flatMap(CookieDomain.canonical))
    }

    @Test(
        "A cookie for a public suffix is refused, but stored for a host that is a public suffix",
        .enabled(if: folder.exists, "the conformance data is not here")
    )
    func refuses() throws {
        let jar = CookieJar(publicSuffixList: Self.list)
        let host = try #require(URL(string: "https://shop.co.uk/"))
        #expect(jar.store(setCookie: "a=1; Domain=co.uk", from: host) == .refused(.publicSuffix))
        #expect(jar.store(setCookie: "a=1; Domain=uk.", from: host) == .refused(.foreignDomain))
        let suffix = try #require(URL(string: "https://github.io/"))
        jar.store(setCookie: "b=1; Domain=github.io", from: suffix)
        #expect(jar.cookies.map(\.isHostOnly) == [true])
    }

    @Test(arguments: [true, false])
    func `A file that is no list is reported, and the list of the system used`(_ isEmptyFile: Bool) throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "list.dat")
        try Data((isEmptyFile ? "" : "com").utf8).write(to: file)
        let list = isEmptyFile ? file : URL("https://a.test\(file.path)")
        try FileManager.default.createDirectory(at: folder.file, withIntermediateDirectories: false)
        let problems = CookieFileErrorRecorder()
        _ = CookieJar(publicSuffixList: list, onError: problems.report)
        #expect(problems.kinds == [.cannotRead])
        let jar = CookieJar(file: folder.file, publicSuffixList: list, onError: problems.report)
        #expect(problems.kinds == [.cannotRead, .cannotRead, .setAside])
        let url = try #require(URL(string: "https://www.example.com/"))
        #expect(jar.store(setCookie: "a=1; Domain=com", from: url) == .refused(.publicSuffix))
    }

    // The Arabic and Spanish sentences are samples (A) and (G) of RFC 3492 section 7.1.
    @Test(
        "International labels are encoded as in RFC 3492",
        arguments: [
            ("bücher", "xn--bcher-kva"), ("食狮", "xn--85x722f"), ("中国", "xn--fiqs8s"),
            ("ليهمابتكلموشعربي؟", "xn--egbpdaj6bu4bxfgehfvwxn"),
            ("porquénopuedensimplementehablarenespañol", "xn--porqunopuedensimplementehablarenespaol-fmd56a"),
            ("ascii", "ascii"),
        ]
    )
    func encodes(_ label: String, _ code: String) {
        #expect(CookieDomain.canonical(label) == code)
    }
}

/// The path of a cookie is compared byte for byte with the path that is sent (RFC 6265bis section 5.1.4).
@Suite("Cookie paths", .limitedConcurrency, .timeLimit(.minutes(10)))
struct CookiePathTests {
    /// All are sent unchanged; many would be equal if they were decoded or normalized.
    private static let paths = [
        "/a", "/a/", "/a/b", "/a%2Fb", "/a%2fb", "/A", "/%61", "/a%20b", "/a+b", "//a", "/a//b", "/~u",
        "/%7Eu", "/%7eu", "/%C3%BC", "/%c3%bc", "/a,b", "/a=b", "/a:b@c", "/a%25b", "/a%2Eb", "/a.b", "/.a", "/a/.b",
    ]

    @Test(arguments: paths)
    func `A cookie is sent for its path and below it, and for no other spelling of the path`(_ path: String) throws {
        let jar = CookieJar()
        let host = "https://shop.example.org"
        jar.store(setCookie: "own=1; Path=\(path)", from: URL("\(host)/"))
        for other in Self.paths {
            let isSent = other == path || other.hasPrefix(base(path))
            #expect((jar.header(for: URL(host + other)) != nil) == isSent, "\(other)")
            #expect(jar.header(for: URL(host + path + "?" + other)) == "own=1")
        }
        #expect(jar.header(for: URL(host + base(path) + "below")) == "own=1")
    }

    private func base(_ path: String) -> String { path.hasSuffix("/") ? path : path + "/" }

    @Test func `The path that a jar compares is the path that is sent`() async throws {
        let server = try FixtureServer.start { _ in .text("") }
        let proxy = APIProxy()
        for path in Self.paths {
            let url = server.url(path)
            _ = try await proxy.send(HTTPRequest(.get, url))
            let sent = try await server.takeRequest().path
            #expect(CookieURL(url, trustsLoopback: false)?.path == sent, "\(path)")
        }
    }
}
