import Foundation
import TestSupport
import Testing

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
        var index = CookieIndex(suffixes: .defaultRule)
        #expect(index.site(of: "a.b.shop.example") == "shop.example")
        #expect(index.site(of: "10.1.2.3") == "10.1.2.3")
        #expect(index.site(of: "localhost") == "localhost")
        let eviction = CookieEviction(capacity: 3_300)
        #expect(eviction.evict(from: &index, afterInsertionInto: "shop.example").isEmpty)
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
