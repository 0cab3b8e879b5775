import Errand
import Foundation
import Testing

@Suite("How long the cookies of a shared file live", .timeLimit(.minutes(10)))
struct CookieFileLifeTests {
    @Test func `A jar that has been open for long does not shorten what another one stores`() throws {
        let folder = try TemporaryFolder()
        let url = URL("https://shop.example.org/")
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
}
