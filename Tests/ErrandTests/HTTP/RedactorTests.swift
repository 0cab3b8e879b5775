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
