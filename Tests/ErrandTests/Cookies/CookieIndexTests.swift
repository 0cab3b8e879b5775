import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("The index of cookies by domain and site", .timeLimit(.minutes(10)))
struct CookieIndexTests {
    private static let hosts = ["shop.example.org", "www.example.org", "example.org", "other.example", "10.0.0.1"]

    private func cookie(_ name: String, host: String) throws -> Cookie {
        let jar = CookieJar()
        jar.store(setCookie: "\(name)=1", from: URL("https://\(host)/"))
        return try #require(jar.cookies.first)
    }

    private func entry(_ cookie: Cookie) throws -> CookieStore.Entry {
        var store = CookieStore(capacity: 1, suffixes: .defaultRule)
        store.insert(cookie)
        return try #require(store.entry(cookie.key))
    }

    @Test func `Random insertions and removals are counted by site`() throws {
        var random = SplitMix(seed: 12)
        var index = CookieIndex(suffixes: .defaultRule)
        var model: [Cookie.Key: String] = [:]
        for _ in 0..<500 {
            let host = Self.hosts.randomElement(using: &random) ?? ""
            let cookie = try cookie("c\(random.next() % 5)", host: host)
            if model[cookie.key] == nil {
                index.insert(try entry(cookie))
                model[cookie.key] = index.site(of: host)
            } else {
                index.remove(cookie.key)
                model[cookie.key] = nil
            }
            #expect(index.count == model.count)
            #expect(Set(index.entries.map(\.cookie.key)) == Set(model.keys))
            #expect(Set(index.sites) == Set(model.values))
            for site in index.sites {
                #expect(index.count(ofSite: site) == model.values.count { $0 == site })
                #expect(index.entries(ofSite: site).reduce(0) { count, _ in count + 1 } == index.count(ofSite: site))
            }
        }
    }

    @Test func `A key that is not in the index is neither updated nor removed`() throws {
        var index = CookieIndex(suffixes: .defaultRule)
        index.insert(try entry(cookie("a", host: "shop.example.org")))
        let missing = try cookie("b", host: "shop.example.org").key
        #expect(index.update(missing) { _ in true } == nil)
        index.remove(missing)
        #expect(index[missing] == nil)
        #expect(index.count == 1)
    }
}
