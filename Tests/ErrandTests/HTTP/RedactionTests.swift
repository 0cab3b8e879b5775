import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Printed requests contain no secrets", .timeLimit(.minutes(10)))
struct RedactionTests {
    static let headers: HTTPHeaders = [
        "Authorization": "Bearer s3cret", "Proxy-Authorization": "s3cret", "Cookie": "s3cret", "Set-Cookie": "s3cret",
        "X-Api-Key": "s3cret", "X-JWT": "s3cret", "X-CSRF": "s3cret", "X-OTP": "s3cret", "X-Credential": "s3cret",
        "X-Anything": "s3cret", "Link": "</s3cret>; rel=next", "ETag": "s3cret", "Accept": "text/html",
    ]

    private func printed(_ value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return ["\(value)", String(reflecting: value), dumped]
    }

    @Test(.fault(66)) func `Headers show their names and harmless values`() {
        for text in printed(Self.headers) {
            #expect(!text.contains("s3cret"), "\(text)")
            #expect(text.contains("Authorization: <redacted 13 bytes>"))
            #expect(text.contains("Accept: text/html"))
        }
    }

    @Test(.fault(66)) func `Requests show neither query nor body, answers no body`() {
        let body = HTTPBody.data(Data("s3cret".utf8))
        let request = HTTPRequest(.post, URL("http://a.test/x?token=s3cret"), headers: Self.headers, body: body)
        let response = HTTPResponse(status: 200, headers: Self.headers, body: Data("s3cret".utf8))
        for text in printed(request) + printed(response) { #expect(!text.contains("s3cret"), "\(text)") }
        #expect("\(request)" == "POST http://a.test/x?token=<redacted 6 bytes>")
    }

    @Test(arguments: ["Location", "content-location", "ORIGIN", "Referer"])
    func `Headers show URLs without the values of the query, fragment and user`(_ name: String) {
        for (secret, shown) in [
            ("?code=s3cret", "?code=<redacted 6 bytes>"), ("#access_token=s3cret", ""),
            ("?a=b#s3cret", "?a=<redacted 1 bytes>"),
        ] {
            let field = HTTPField(name, "https://me:s3cret@a.test/x\(secret)")
            for text in printed(HTTPHeaders([field])) {
                #expect(text.contains("https://a.test/x\(shown)"), "\(text)")
                #expect(!text.contains("s3cret") && !text.contains("me"), "\(text)")
            }
        }
        #expect("\(HTTPField(name, "/x?y=s3cret"))" == "\(name): /x?y=<redacted 6 bytes>")
        #expect("\(HTTPField("Accept", "a/b?"))" == "Accept: a/b?")
    }

    @Test(
        .fault(85),
        arguments: [
            ("http://me:s3cret@a.test:8080/x@y#s3cret", "http://a.test:8080/x@y"),
            ("https://a.test?s3cret", "https://a.test?<redacted 6 bytes>"),
            (
                "https://s3cret@[::1]:80/?a=1&s3cret&b=s3cret",
                "https://[::1]:80/?a=<redacted 1 bytes>&<redacted 6 bytes>&b=<redacted 6 bytes>"
            ),
            ("//me:s3cret@a.test/x", "//a.test/x"),
            ("/a/b?page=2&size=30", "/a/b?page=<redacted 1 bytes>&size=<redacted 2 bytes>"), ("a/b", "a/b"),
            ("?", ""), ("#s3cret", ""), ("", ""), ("/users/{id}", "/users/{id}"),
            ("http://me:s3cret/x@a.test/", "http://<redacted 19 bytes>"),
            ("http://me:s3cret?@a.test/", "http://<redacted 9 bytes>?<redacted 8 bytes>"),
            ("javascript:s3cret", "javascript:<redacted 6 bytes>"), ("data:,s3cret", "data:<redacted 7 bytes>"),
            ("file:///tmp/x", "file:///tmp/x"), ("/a;id=s3cret/b", "/a;<redacted 9 bytes>/b"),
            ("/a%3Ftoken=s3cret", "/a%3F<redacted 12 bytes>"),
            ("http://me%3As3cret%40a.test/", "http://<redacted 21 bytes>"),
            ("\thttps://me:s3cret@a.test/", "<redacted 26 bytes>"), ("\\\\me:s3cret@a.test/", "//a.test/"),
            (" //me:s3cret@a.test/", "<redacted 20 bytes>"), ("\u{FF48}ttp://me:s3cret@a.test", "<redacted 25 bytes>"),
            ("/?%74oken=s3cret", "/?token=<redacted 6 bytes>"),
            ("/?me%40a.test=1", "/?<redacted 9 bytes>=<redacted 1 bytes>"),
            ("http://a@b:s3cret@c.test\\@d/x", "http://c.test\\@d/x"),
        ]
    )
    func `A URL is shown without parts that may be secret`(_ url: String, _ shown: String) {
        #expect(Redactor().url(url) == shown)
        #expect(URLRedaction.path(url) == shown.prefix { $0 != "?" })
    }

    @Test(arguments: ["?", "#", ";", "?page=1&"], ["\u{301}", "\u{FE0F}", "\u{20DD}"])
    func `A delimiter with a combining mark is a delimiter`(_ delimiter: String, _ mark: String) {
        var redactor = Redactor()
        redactor.queryNames = ["page"]
        for start in ["/cb", "https://me:s3cret@a.test/cb", "?a=1&b"] {
            let shown = redactor.url("\(start)\(delimiter)\(mark)code=s3cret")
            #expect(!shown.contains("s3cret"), "\(shown)")
        }
    }

    @Test func `Configurations show neither the password of a key nor that of a proxy`() {
        var configuration = TransportConfiguration()
        let certificate = URL(fileURLWithPath: "/etc/client.p12")
        configuration.tls.clientIdentity = ClientIdentity(
            certificate: certificate,
            password: "s3cret",
            origins: [URL("https://u:s3cret@a.test/s3cret?s3cret")]
        )
        configuration.proxy = .url(URL("http://me:s3cret@proxy.test:3128"))
        for text in printed(configuration) + printed(configuration.tls) + printed(configuration.proxy) {
            #expect(!text.contains("s3cret"), "\(text)")
        }
        for text in printed(configuration) {
            #expect(text.contains("/etc/client.p12"))
            #expect(text.contains("http://proxy.test:3128"))
        }
        let others = [TransportConfiguration.Proxy.environment, .none]
        #expect(others.map { "\($0)" } == ["environment", "none"])
    }
}
