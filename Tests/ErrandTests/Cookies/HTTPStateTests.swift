import FixtureServer
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

/// The cookie suite of the IETF's http-state working group, run without a network.
@Suite(
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: SharedData.freshHTTPState.exists, "the conformance data is not here")
)
struct HTTPStateTests {
    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        let test: String
        let received: [String]
        let sent: [Pair]
        let sentTo: String?

        enum CodingKeys: String, CodingKey {
            case test, received, sent
            case sentTo = "sent-to"
        }

        var testDescription: String { test }
        /// The header field that the suite or, if the case is superseded, RFC 6265bis expects; `nil` for none.
        var expected: String? {
            if let superseded = superseded[test] { return superseded }
            guard !sent.isEmpty else { return nil }
            return sent.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
        }
    }

    struct Pair: Decodable, Sendable {
        let name: String
        let value: String
    }

    static let cases: [Case] =
        (try? JSONDecoder().decode([Case].self, from: SharedData.freshHTTPState.bytes("parser.json"))) ?? []

    /// The cases for which RFC 6265bis expects a different header field: nameless cookies are stored, header fields with
    /// control characters are refused, paths are not decoded, and the last `Domain` is used even when it is empty.
    static let superseded: [String: String?] = [
        "0004": "foo",
        "0021": "a=b; x; c=d",
        "0023": "foo",
        "0024": "foo",
        "0025": "foo",
        "0026": "foo",
        "0027": "bar",
        "0028": "foo",
        "CHROMIUM0009": "BLAHHH",
        "CHROMIUM0010": "\"BLA\\\"HHH\"",
        "CHROMIUM0012": "ABC",
        "DISABLED_CHROMIUM0022": nil,
        "DISABLED_CHROMIUM0023": nil,
        "DISABLED_PATH0029": nil,
        "MOZILLA0012": "test=\"fubar! = foo; five",
        "MOZILLA0014": "six",
        "MOZILLA0015": "seven",
        "MOZILLA0016": "eight",
        "MOZILLA0017": "eight; test=six",
        "NAME0017": "a=bar",
        "NAME0023": "foo",
        "NAME0025": "==a=bar",
        "NAME0028": "a",
        "NAME0031": "\"foo",
        "NAME0032": "\"foo\\\"bar",
        "NAME0033": "aaa",
        "OPTIONAL_DOMAIN0042": "foo=bar",
    ]

    @Test("A case of the suite sends the expected cookies", arguments: cases)
    func sends(_ test: Case) throws {
        let base = try #require(URL(string: "http://home.example.org:8888/cookie-parser?\(test.test.lowercased())"))
        let jar = CookieJar()
        for line in test.received { jar.store(setCookie: line, from: base) }
        let target = test.sentTo ?? "/cookie-parser-result?\(test.test.lowercased())"
        let url = try #require(URL(string: target, relativeTo: base))
        #expect(jar.header(for: url) == test.expected)
    }

    @Test("The suite has 222 cases, of which 27 are superseded")
    func isComplete() {
        #expect(Self.cases.count == 222)
        #expect(Set(Self.superseded.keys).isSubset(of: Self.cases.map(\.test)))
        #expect(Self.superseded.count == 27)
    }
}

/// The http-state suite over sockets: a redirect sets the cookies, and the request that follows it sends them.
@Suite(
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: SharedData.freshHTTPState.exists, "the conformance data is not here")
)
struct HTTPStateLiveTests {
    /// Cases with invalid header fields, for which a transport may refuse the response.
    static let unsendable: Set = ["DISABLED_CHROMIUM0022", "DISABLED_CHROMIUM0023"]
    static let cases = HTTPStateTests.cases.filter { !unsendable.contains($0.test) }

    #if os(Linux)
    @Test("A case of the suite sends the expected cookies", arguments: cases)
    func sends(_ test: HTTPStateTests.Case) async throws {
        let server = try FixtureServer.start { request in
            guard request.path == "/cookie-parser" else { return .text(request.header("Cookie") ?? "") }
            let target = test.sentTo ?? "/cookie-parser-result"
            return test.received.reduce(.redirect(to: target)) { $0.adding("Set-Cookie", $1) }
        }
        var configuration = TransportConfiguration()
        configuration.proxy = .url(server.baseURL)
        let proxy = APIProxy(transport: try CurlTransport(configuration))
        let response = try await proxy.send(HTTPRequest(.get, URL("http://home.example.org:8888/cookie-parser")))
        let sent = String(decoding: response.body, as: UTF8.self)
        #expect(sent == test.expected ?? "")
    }
    #endif
}

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
