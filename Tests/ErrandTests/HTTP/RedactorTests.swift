import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("A redactor shows known harmless values and the sizes of all others", .timeLimit(.minutes(10)))
struct RedactorTests {
    private static let boundary = "multipart/form-data; boundary=xyz"
    private let redactor = {
        var redactor = Redactor()
        redactor.shownHeaderNames = ["X-Request-ID"]
        redactor.shownQueryNames = ["page"]
        redactor.shownMemberNames = ["category", "tags"]
        return redactor
    }()

    @Test(
        arguments: [
            ("X-REQUEST-ID", "r-1", "r-1"), ("x-request-id", "a\nb", "<redacted 3 bytes>"),
            ("Accept", "text/html", "text/html"), ("User-Agent", "me@a.test", "<redacted 9 bytes>"),
            ("Server", String(repeating: "x", count: 257), "<redacted 257 bytes>"),
            ("Via", "1.1 \u{9B}31m", "<redacted 9 bytes>"), ("Link", "</s>; rel=next", "<redacted 14 bytes>"),
            ("Cookie", "sid=s3cret; s3cret", "sid=<redacted 6 bytes>; <redacted 6 bytes>"),
            (
                "Set-Cookie", "sid=s3cret; Path=/; Max-Age=60; HttpOnly; s3cret=1",
                "sid=<redacted 6 bytes>; Path=/; Max-Age=60; HttpOnly; <redacted 8 bytes>"
            ),
            ("Set-Cookie", "me@a.test=s3cret", "<redacted 9 bytes>=<redacted 6 bytes>"),
            ("Content-Type", "text/html; charset=utf-8", "text/html; charset=utf-8"),
            ("Content-Type", "a/b; token=\"s3;cret\"", "a/b; <redacted 15 bytes>"),
            (
                "Content-Disposition", "attachment; filename=\"s3;cret\"; x=s3cret",
                "attachment; filename=\"<redacted 7 bytes>\"; <redacted 8 bytes>"
            ),
        ]
    )
    func `A header value is shown as far as it is harmless`(_ name: String, _ value: String, _ shown: String) {
        #expect(redactor.value(ofHeader: name, value) == shown)
    }

    @Test func `Items of queries and forms are shown for the names of the app`() {
        #expect(redactor.url("/a?page=2&q=s3cret&page") == "/a?page=2&q=<redacted 6 bytes>&page")
        #expect(redactor.url("/a?p%61ge=%32") == "/a?page=%32")
        #expect(redactor.url("/a?Page=2") == "/a?Page=<redacted 1 bytes>")
        #expect(
            redactor.items(of: "page=2&q=s").map { "\($0.name) \($0.value)" } == ["page 2", "q <redacted 1 bytes>"]
        )
        let form = redactor.body(Data("page=2&pin=1234".utf8), contentType: "application/x-www-form-urlencoded")
        #expect(form == "page=2&pin=<redacted 4 bytes>")
        #expect(redactor.url("/?" + String(repeating: "a=1&", count: 2_000)) == "/?<redacted 8000 bytes>")
    }

    @Test(
        arguments: [
            ("a", true), ("password", true), ("access_token", true), ("X-Amz-Signature", true), ("filter[name]", true),
            ("oauth2Token", true), ("address_line_1", true), ("isAvailableInStores", true),
            ("ACCESS_TOKEN_VALUE", true),
            ("", false), ("me@a.test", false), ("0151123456", false), ("1a", false), ("a b", false), ("ü", false),
            ("f3b2c1d4e5a69788f3b2c1d4e5a69788", false), ("JBSWY3DPEHPK3PXP", false), ("xKqZvBnRwTyUpLdF", false),
            ("qwhdkjahskdjhqwkjdhkqjwhdkjq", false), (String(repeating: "ab_", count: 14), false),
        ]
    )
    func `A name is shown if it looks like one in a program`(_ name: String, _ isShown: Bool) {
        #expect(redactor.name(name) == (isShown ? name : "<redacted \(name.utf8.count) bytes>"))
    }

    @Test(
        arguments: [
            (
                #"{"errcode": 200, "msg": "s3cret", "data": [{"a": 1.5e3, "b": true, "c": null}]}"#,
                #"{"errcode":200,"msg":"<redacted 6 bytes>","data":[{"a":"<redacted 5 bytes>","#
                    + #""b":"<redacted 4 bytes>","c":null}]}"#
            ),
            (#"{"errcode": "s3cret"}"#, #"{"errcode":"<redacted 6 bytes>"}"#),
            (#"{"errcode": 1234567}"#, #"{"errcode":"<redacted 7 bytes>"}"#),
            (#"{"errcode": {"x": 1}}"#, #"{"errcode":{"x":"<redacted 1 bytes>"}}"#),
            (
                #"{"category": {"id": 7}, "tags": ["a", [2], {"id": 7}]}"#,
                #"{"category":{"id":"<redacted 1 bytes>"},"tags":["a",[2],{"id":"<redacted 1 bytes>"}]}"#
            ),
            (#"{"me@a.test": {"x": []}}"#, #"{"<redacted 9 bytes>":{"x":[]}}"#),
            (#"{"c\u0061tegory": 1}"#, #"{"<redacted 13 bytes>":"<redacted 1 bytes>"}"#),
            (#""s3cret""#, #""<redacted 6 bytes>""#), ("[]", "[]"), ("{}", "{}"), ("-0.5E-1", #""<redacted 7 bytes>""#),
            ("[[],{}, null]", "[[],{},null]"), ("{\"category\":\"a\\\"s3cret\"}", "{\"category\":\"a\\\"s3cret\"}"),
        ]
    )
    func `JSON keeps its structure`(_ text: String, _ shown: String) {
        #expect(redactor.body(Data(text.utf8), contentType: "application/json; charset=utf-8") == shown)
    }

    @Test(
        arguments: [
            "{", "[1,]", "{\"category\":s3cret}", "[01]", "[1 2]", "{\"a\" 1}", "{\"a\":1,}", "\"s3cret", "[\"\\x\"]",
            "[1]]", "nul", "[+1]", "[.5]", "[1.]", "[1e]", "{a:1}", "[\"a\nb\"]", "[1}", " ",
        ]
    )
    func `Of malformed JSON only the size is shown`(_ text: String) {
        #expect(
            redactor.body(Data(text.utf8), contentType: "application/json") == "<redacted \(text.utf8.count) bytes>"
        )
    }

    @Test func `Of deep, long and binary bodies only the size is shown`() {
        let deep = String(repeating: "[", count: 513) + String(repeating: "]", count: 513)
        let long = "[" + String(repeating: "1,", count: 120_000) + "1]"
        for text in [deep, long, "[\"" + String(repeating: "a", count: 300_000) + "\"]"] {
            let shown = redactor.body(Data(text.utf8), contentType: "application/problem+json")
            #expect(shown == "<redacted \(text.utf8.count) bytes>")
        }
        #expect(redactor.body(Data(deep.utf8.dropFirst().dropLast()), contentType: "application/json").hasPrefix("[[["))
        #expect(redactor.body(Data([0xFF]), contentType: "application/json") == "<redacted 1 bytes>")
        for type in ["text/plain", nil, "", "application/octet-stream", "multipart/form-data"] {
            #expect(redactor.body(Data("s3cret".utf8), contentType: type) == "<redacted 6 bytes>")
        }
        #expect(redactor.body(Data(), contentType: nil).isEmpty)
    }

    @Test func `Multipart forms show the names of their parts`() throws {
        var form = MultipartForm(boundary: "xyz")
        form.append(Data("7".utf8), name: "page")
        form.append(Data("s3cret".utf8), name: "avatar", filename: "s3cret.png")
        form.append(file: URL(fileURLWithPath: "/tmp/s3cret"), name: "me@b.test", filename: "s3cret")
        let shown = redactor.body(try form.body(fields: []), contentType: Self.boundary)
        let expected = [
            "--xyz", "Content-Disposition: form-data; name=\"page\"", "", "7",
            "--xyz", "Content-Disposition: form-data; name=\"avatar\"; filename=\"<redacted 10 bytes>\"",
            "Content-Type: image/png", "", "<redacted 6 bytes>",
            "--xyz", "Content-Disposition: form-data; name=\"<redacted 9 bytes>\"; filename=\"<redacted 6 bytes>\"",
            "Content-Type: application/octet-stream", "", "<redacted file>", "--xyz--",
        ]
        #expect(shown == expected.joined(separator: "\n"))
    }

    @Test(arguments: [
        "", "--xyz", "s3cret\r\n--xyz--", "--xyz\r\ns3cret\r\n--xyz--", "--xyz\r\n\r\ns3cret\r\n--xyz-- s3cret",
    ])
    func `Of malformed multipart forms only the size is shown`(_ text: String) {
        let shown = redactor.body(Data(text.utf8), contentType: Self.boundary)
        #expect(shown == (text.isEmpty ? "" : "<redacted \(text.utf8.count) bytes>"))
    }

    @Test func `Files and streams are not read`() {
        let stream = HTTPBody.stream(length: 6) { AsyncStream<Data> { $0.finish() } }
        let pieces = [HTTPBody.Piece.data(Data("s3cret".utf8)), .file(URL(fileURLWithPath: "/s3cret"))] + stream.pieces
        let shown = redactor.body(HTTPBody(pieces), contentType: "application/json")
        #expect(shown == "<redacted 6 bytes><redacted file><redacted stream of 6 bytes>")
        let json = HTTPBody([.data(Data("{\"a\":".utf8)), .data(Data("1}".utf8))])
        #expect(redactor.body(json, contentType: "application/json") == #"{"a":"<redacted 1 bytes>"}"#)
    }
}

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

    @Test(.fault(66)) func `Requests show neither query nor body, responses no body`() {
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
            ("https:///me:s3cret@h/", "https://<redacted 13 bytes>"), ("https:////me@h/", "https://<redacted 7 bytes>"),
            ("https://\\me:s3cret@h/", "https://<redacted 13 bytes>"), ("///me:s3cret@h/", "//<redacted 13 bytes>"),
            ("https://h/p/https://me:s3cret@i/", "https://h/<redacted 22 bytes>"),
            ("https://h/https:/me:s3cret@i/x", "https://h/<redacted 20 bytes>"),
            ("https://h/https%3A%2F%2Fme%3As3cret%40i", "https://h/<redacted 29 bytes>"),
            ("https://h/https%253A%252F%252Fme%253As3cret%2540i/", "https://h/<redacted 40 bytes>"),
            ("/p/https%3a//me%3as3cret%40i/", "<redacted 29 bytes>"),
            ("https://h/rooms/!a:b.test/members/@me:b.test", "https://h/rooms/!a:b.test/members/@me:b.test"),
            ("/rooms/%21a%3Ab.test/%40me%3Ab.test", "/rooms/%21a%3Ab.test/%40me%3Ab.test"),
            ("/a%zz%3", "/a%zz%3"), ("file:///c:/x", "file:///c:/x"),
            (
                "/verify/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3/x?a",
                "/verify/<redacted 61 bytes>/x?<redacted 1 bytes>"
            ),
            ("https://h/bot123456789:AAEabcdefghijklmnopqrstuvwxyz12345/send", "https://h/<redacted 47 bytes>/send"),
            (
                "/users/0f8fad5b-d9cd-469f-a165-70867728950e/da39a3ee5e6b4b0d3255bfef95601890afd80709",
                "/users/0f8fad5b-d9cd-469f-a165-70867728950e/da39a3ee5e6b4b0d3255bfef95601890afd80709"
            ),
            (
                "/posts/how-to-load-a-list-of-goods-and-to-cancel-it-by-its-id",
                "/posts/how-to-load-a-list-of-goods-and-to-cancel-it-by-its-id"
            ),
            (
                "/GetAllCustomersWithOutstandingInvoicesByRegion",
                "/GetAllCustomersWithOutstandingInvoicesByRegion"
            ),
        ]
    )
    func `A URL is shown without parts that may be secret`(_ url: String, _ shown: String) {
        #expect(Redactor().url(url) == shown)
        #expect(URLRedaction.path(url) == shown.prefix { $0 != "?" })
    }

    @Test(arguments: ["?", "#", ";", "?page=1&"], ["\u{301}", "\u{FE0F}", "\u{20DD}"])
    func `A delimiter with a combining mark is a delimiter`(_ delimiter: String, _ mark: String) {
        var redactor = Redactor()
        redactor.shownQueryNames = ["page"]
        for start in ["/cb", "https://me:s3cret@a.test/cb", "?a=1&b"] {
            let shown = redactor.url("\(start)\(delimiter)\(mark)code=s3cret")
            #expect(!shown.contains("s3cret"), "\(shown)")
        }
    }

    @Test(
        arguments: ["", "https://a.test", "https://me:s3cret@a.test", "javascript:"],
        ["/", "/%2e%2e", "/;", "/a:b@", "/ü"]
    )
    func `A URL of more than 8 KB is shown by its size, one of 8 KB as it is`(_ start: String, _ unit: String) {
        let query = String(repeating: "q", count: 8_192 - start.utf8.count - "/x?".utf8.count)
        #expect(
            Redactor().url("\(start)/x?\(query)").hasSuffix("?<redacted \(query.utf8.count) bytes>")
                || start == "javascript:"
        )
        #expect(Redactor().url("\(start)/x?\(query)q") == "<redacted 8193 bytes>")
        let long = "\(start)/x" + String(repeating: unit, count: 8_192)
        for shown in [
            Redactor().url(long), URLRedaction.path(long),
            "\(HTTPField("Location", long))".replacing("Location: ", with: ""),
        ] {
            #expect(shown == "<redacted \(long.utf8.count) bytes>")
        }
        // What is not shown is not counted.
        #expect(URLRedaction.path("/x?q=\(long)") == "/x")
    }

    @Test(arguments: [
        "/", "/%2e%2e", "/;", ";a=b", "&", "a=1&", "%", "%25", "\"", "\\", "=", "--x\r\n", ",", "a:@", "Xy9", "[", "ü",
    ])
    func `Redaction takes time in proportion to the bytes, and little of it`(_ unit: String) {
        let redactor = Redactor()
        let names = ["Location", "Cookie", "Set-Cookie", "Content-Type", "Content-Disposition", "Server", "X-Other"]
        let types = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
        for count in [8 << 10, 32 << 10] {
            let text = String(repeating: unit, count: count / unit.utf8.count)
            // The least of some, because other work on the machine slows a thread down.
            let loop = (0..<4).map { _ in time { _ = text.utf8.split { $0 == 0 }.count } }.min() ?? 0
            // A debug build needs 250 to 700 times as long as the loop, and with a regular expression for each segment ten times
            // that; an optimized one less than a microsecond for each byte.
            let limit = max(1_500 * loop, 1e-6 * Double(count))
            // Once, unless other work slows the thread down for that time; what the host takes away counts as the thread's.
            let own = (0..<30).lazy.map { _ in
                time {
                    for name in names { _ = redactor.value(ofHeader: name, text) }
                    for type in types { _ = redactor.body(Data(text.utf8), contentType: type) }
                    _ = (redactor.name(text), redactor.name(ofHeader: text), redactor.items(of: text).count)
                    _ = redactor.body(Data(text.utf8), contentType: "multipart/form-data; boundary=\"\(text)\"")
                }
            }
            #expect(own.contains { $0 < limit }, "more than \(limit * 1e6) µs for \(count) bytes")
        }
    }

    /// Seconds of the processor's time that `work` takes.
    private func time(_ work: () -> Void) -> Double {
        let start = threadTime()
        work()
        return threadTime() - start
    }

    @Test(arguments: [
        ("X-Request-ID", true), ("X-XSS-Protection", true), ("x-amz-content-sha256", true), ("DNT", true),
        ("ETag", true),
        ("Access-Control-Allow-Credentials", true), ("Content-Security-Policy-Report-Only", true),
        ("X-UA-Compatible", true),
        ("c0ffee00112233445566778899aabbcc", false), ("X-0049151123456", false), ("a\u{1B}[31m", false),
        ("7f9c2ba4-e88f-827d-6160-4550c2d1a1f7", false), ("X-xKqZvBnRwTyUpLdFa", false), ("me@a.test", false),
    ])
    func `The name of a header is shown if it looks like one`(_ name: String, _ isShown: Bool) {
        let shown = isShown ? name : "<redacted \(name.utf8.count) bytes>"
        #expect("\(HTTPField(name, "s3cret"))" == "\(shown): <redacted 6 bytes>")
        var redactor = Redactor()
        redactor.shownHeaderNames = [name]
        #expect(redactor.name(ofHeader: name.uppercased()) == (name.contains("\u{1B}") ? shown : name.uppercased()))
    }

    @Test(arguments: [
        ("Server", "nginx/1.18.0 (Ubuntu)", true), ("Server", "Microsoft-IIS/10.0", true),
        ("Server", "ECS (dcb/7F83)", true),
        ("User-Agent", "Shop/2.1 (iPhone15,2; iOS 17.1) CFNetwork/1410.0.3 Darwin/22.6.0", true),
        ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/605.1.15 (KHTML, like Gecko)", true),
        ("Expires", "Tue, 24 Nov 2026 21:18:56 GMT", true), ("Content-Range", "bytes 0-1023/146515", true),
        ("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", true),
        ("Cache-Control", "max-age=31536000", true),
        ("Content-Type", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", true),
        ("Content-Type", "text/html; charset=ISO-8859-15", true),
        ("Content-Type", "text/html; charset=windows-1252", true),
        ("Set-Cookie", "Expires=Wed, 21-Oct-2026 07:28:00 GMT", true), ("Set-Cookie", "Domain=shop.example.org", true),
        ("Server", "shop/c0ffee00112233445566", false), ("User-Agent", "Shop/1.0 (0049151123456)", false),
        ("Server", "7f9c2ba4-e88f-827d-6160-4550c2d1a1f7", false), ("Accept", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi", false),
        ("Content-Type", "text/c0ffee00112233445566", false), ("Server", "me%40a.test", false),
    ])
    func `The value of a known header is shown if it looks like one`(_ name: String, _ value: String, _ isShown: Bool) {
        let line = name == "Set-Cookie" ? "sid=1; \(value)" : value
        #expect("\(HTTPField(name, line))".hasSuffix(value) == isShown)
    }

    @Test(arguments: ["charset=c0ffee", "charset=iso-8859-0049151123456", "charset=utf-8x", "charset=me"])
    func `A charset that does not exist is not shown`(_ parameter: String) {
        #expect(!"\(HTTPField("Content-Type", "text/html; \(parameter)"))".contains(parameter))
    }

    @Test func `Attributes of a cookie, its description and paths of files have no tokens`() {
        let token = "c0ffee00112233445566"
        let line = "sid=1; Domain=\(token); Path=/\(token); Expires=\(token); Max-Age=0049151123456; SameSite=\(token)"
        let shown = "\(HTTPField("Set-Cookie", line))"
        #expect(!shown.contains(token) && !shown.contains("0049") && shown.contains("Domain=<redacted 20 bytes>"))
        let jar = CookieJar()
        jar.store(setCookie: "\(token)=1; Path=/a;", from: URL("http://a.test/"))
        for text in printed(jar.cookies) { #expect(!text.contains(token)) }
        let file = URL(fileURLWithPath: "/home/\(token)/client.p12")
        let path = "/home/<redacted 20 bytes>/client.p12"
        #expect("\(TLSConfiguration.Certificates.file(file))" == "file \(path)")
        let identity = ClientIdentity(certificate: file, origins: [URL("https://a.test")])
        #expect("\(identity)" == "identity(\(path))")
        var configuration = TransportConfiguration()
        configuration.tls.clientIdentity = identity
        let refused = #expect(throws: TransportError.self) { try configuration.validate() }
        #expect(refused?.reason.contains("the file \(path) cannot be read") == true)
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

// Exit tests need child processes.
#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing
@testable import Errand
@testable import ErrandTestSupport

@Suite("The redactor of the process", .hangLimit, .timeLimit(.minutes(10)))
struct SharedRedactorTests {
    @Test(.startsLate) func `Names that an app adds are shown by everything that prints, also if it was made before`()
        async
    {
        // In a separate process, because all tests of one share its redactor.
        await #expect(processExitsWith: .success) {
            let lines = Lock("")
            let log = APILog(.exchanges, showing: [.queries, .headers, .bodies]) { line in
                lines.withLock { $0 += line + "\n" }
            }
            let url = URL("https://shop.test/?page=2&token=s3cret")
            let headers: HTTPHeaders = ["X-Page": "two", "Content-Type": "application/json"]
            let body = HTTPBody.data(Data(#"{"total":7,"pin":"s3cret"}"#.utf8))
            let request = HTTPRequest(.post, url, headers: headers, body: body)
            let position = PagePosition.link(url)
            let texts = {
                lines.withLock { $0 = "" }
                log.observe(APIEvent(.requestMade(request), id: .next()))
                return [
                    lines.withLock(\.self), try request.curlCommand(), "\(request)\(request.headers)", "\(position)",
                    "\(APIService(baseURL: url))",
                ]
            }
            for text in try texts() { #expect(!text.contains("page=2") && !text.contains("two"), "\(text)") }
            Redactor.shared.shownQueryNames = ["page"]
            Redactor.shared.shownHeaderNames = ["X-Page"]
            Redactor.shared.shownMemberNames = ["total"]
            let shown = try texts()
            for text in shown { #expect(text.contains("page=2") && !text.contains("s3cret"), "\(text)") }
            for text in shown.prefix(3) { #expect(text.contains("X-Page: two"), "\(text)") }
            for text in shown.prefix(2) { #expect(text.contains(#""total":7"#), "\(text)") }
        }
    }
}
#endif
