import Errand
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

/// The jar and curl, each reading the file that the other wrote.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)), .enabled(if: CookieProbe.hasCurl, "curl is not installed"))
struct CookieCurlTests {
    private let folder: TemporaryFolder
    private let server: FixtureServer
    private let shop = URL("http://shop.example.org/cart/list")

    init() throws {
        folder = try TemporaryFolder()
        server = try FixtureServer.start { request in
            request.header("X-Store") == nil
                ? .text("")
                : ["host=1", "path=a b; Path=/cart", "all=\"q\"; Domain=example.org; HttpOnly; Max-Age=1000", "empty="]
                    .reduce(.text("")) { $0.adding("Set-Cookie", $1) }
        }
    }

    @Test("curl sends the cookies of a jar to the same URLs as the jar")
    func curlReads() async throws {
        let jar = CookieJar(file: folder.file)
        let lines = [
            "host=1", "path=a b; Path=/cart", "all=\"q\"; Domain=example.org; HttpOnly; Max-Age=1000", "empty=",
            "elsewhere=1; Path=/help", "tail=x=y, z; Expires=Fri, 31 Dec 9999 23:59:59 GMT",
        ]
        for line in lines { jar.store(setCookie: line, from: shop) }
        jar.store(
            setCookie: "secret=1; Secure; Path=/; Domain=example.org",
            from: URL("https://shop.example.org/")
        )
        jar.store(setCookie: "below=1; Path=/", from: URL("http://below.shop.example.org/"))
        try jar.flush()
        for text in ["http://shop.example.org/cart/list", "http://example.org/cart/", "http://below.shop.example.org/"]
        {
            let url = URL(text)
            let sent = try await curl(url, "-b", path)
            #expect(pairs(sent) == pairs(jar.header(for: url)), "\(text)")
        }
    }

    @Test("A jar sends the cookies of curl to the same URLs as curl")
    func jarReads() async throws {
        _ = try await curl(shop, "-c", path, "-H", "X-Store: 1")
        let jar = CookieJar(file: folder.file) { [weak folder] in recordIssue($0, while: folder) }
        #expect(jar.cookies.count == 4)
        #expect(jar.cookies.filter(\.isHTTPOnly).map(\.name) == ["all"])
        for text in ["http://shop.example.org/cart/list", "http://example.org/cart/", "http://shop.example.org/"] {
            let url = URL(text)
            let sent = try await curl(url, "-b", path)
            #expect(pairs(jar.header(for: url)) == pairs(sent), "\(text)")
        }
    }

    @Test("A file that curl rewrites keeps everything that the format can express")
    func returns() async throws {
        let jar = CookieJar(file: folder.file)
        let secure = URL("https://shop.example.org/")
        for number in 0..<100 {
            let options = number % 2 == 0 ? "; Secure" : "; HttpOnly; Max-Age=\(number * 1_000)"
            let domain = number % 3 == 0 ? "; Domain=example.org" : ""
            jar.store(setCookie: "c\(number)=v\(number); Path=/p\(number)\(options)\(domain)", from: secure)
        }
        try jar.flush()
        _ = try await curl(URL("http://nowhere.example/"), "-b", path, "-c", path)
        let back = CookieJar(file: folder.file) { [weak folder] in recordIssue($0, while: folder) }.cookies
        #expect(Set(back.map(fields)) == Set(jar.cookies.map(fields)))
        jar.store(setCookie: "late=1", from: shop)
        try jar.flush()
        #expect(CookieJar(file: folder.file).cookies.count == 101)
    }

    private var path: String { folder.file.path(percentEncoded: false) }

    /// Requests the URL with curl, through the server as its proxy, and returns the `Cookie` header field that curl sent.
    private func curl(_ url: URL, _ options: String...) async throws -> String? {
        let proxy = ["-x", server.baseURL.absoluteString, "--noproxy", ""]
        let outcome = try await TestProgram.run(["curl", "-s", "-f"] + proxy + options + [url.absoluteString])
        #expect(outcome.status == 0)
        return try await server.takeRequest().header("Cookie")
    }

    private func pairs(_ header: String?) -> Set<String> {
        Set(header?.split(separator: ";").map { $0.trimmingPrefix(" ") }.map(String.init) ?? [])
    }

    private func fields(_ cookie: Cookie) -> String {
        let flags = "\(cookie.isHostOnly) \(cookie.isSecure) \(cookie.isHTTPOnly)"
        return "\(cookie) \(cookie.value) \(flags) \(Int(cookie.expires?.timeIntervalSince1970 ?? 0))"
    }
}
