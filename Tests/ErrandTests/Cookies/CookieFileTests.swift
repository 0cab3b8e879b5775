import Errand
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1)))
struct CookieFileTests {
    @Test("A jar that is opened again sends what the first one stored")
    func survives() throws {
        let folder = try TemporaryFolder()
        let url = try #require(URL(string: "https://shop.example/cart"))
        let first = CookieJar(file: folder.file)
        first.store(setCookie: "sid=1; Path=/; Secure; HttpOnly; SameSite=Lax", from: url)
        first.store(setCookie: "lang=de; Domain=shop.example; Max-Age=86400", from: url)
        try first.flush()
        let second = CookieJar(file: folder.file)
        #expect(second.header(for: url) == "sid=1; lang=de")
        #expect(second.cookies.map(\.sameSite) == [.lax, nil])
        second.clear()
        #expect(CookieJar(file: folder.file).cookies.isEmpty)
    }
}
