import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Redirects are followed by the library", .hangLimit, .timeLimit(.minutes(10)))
struct RedirectTests {
    private func redirect(
        _ request: HTTPRequest = HTTPRequest(.get, URL("http://a.test/b/c/d?q")),
        to location: String,
        status: Int = 302
    ) throws(TransportError) -> HTTPRequest? {
        try request.redirected(by: HTTPResponse(status: status, headers: ["Location": location]))
    }

    @Test(arguments: [
        ("/x", "http://a.test/x"), ("x", "http://a.test/b/c/x"), ("./x", "http://a.test/b/c/x"),
        ("../x", "http://a.test/b/x"), ("../../../x", "http://a.test/x"), ("?y=1", "http://a.test/b/c/d?y=1"),
        ("//b.test/x", "http://b.test/x"), ("http://b.test:81/x", "http://b.test:81/x"),
        ("http://a.test/x/../y", "http://a.test/y"),
        ("HTTP://a.test/x", "http://a.test/x"), ("/a b", "http://a.test/a%20b"),
        ("/ü", "http://a.test/%C3%BC"), ("/%2F", "http://a.test/%2F"), ("https://a.test/x", "https://a.test/x"),
        ("http://u:p@a.test/x", "http://a.test/x"), (";x", "http://a.test/b/c/;x"),
        ("g;x=1/../y", "http://a.test/b/c/y"),
    ])
    func `Location is resolved by RFC 3986`(_ location: String, _ target: String) throws {
        #expect(try redirect(to: location)?.url.absoluteString == target)
    }

    @Test(arguments: [
        ("javascript:alert(1)", TransportError.Kind.security), ("file:///etc/passwd", .security),
        ("mailto:a@b", .security), ("ftp://a.test/x", .security), ("data:text/plain,x", .security),
        ("http://[", .badResponse), ("http://", .badResponse), ("http:///x", .badResponse), ("//", .badResponse),
        ("http:g", .badResponse),
    ])
    func `A target that is not HTTP is refused, and one that is no URL is a bad response`(
        _ location: String,
        _ kind: TransportError.Kind
    ) {
        let error = #expect(throws: TransportError.self) { try redirect(to: location) }
        #expect(error?.kind == kind)
    }

    @Test func `A target of 8 KB and one that is not UTF-8 are followed unchanged`() throws {
        let long = "/" + String(repeating: "a", count: 8192)
        #expect(try redirect(to: long)?.url.path.count == 8193)
        let headers = HTTPHeaders([HTTPField("Location", bytes: Array("/".utf8) + [0xE9])])
        let next = try HTTPRequest(.get, URL("http://a.test/")).redirected(
            by: HTTPResponse(status: 302, headers: headers)
        )
        #expect(next?.url.absoluteString == "http://a.test/%E9")
    }

    @Test func `A redirect from https to http is refused`() {
        let request = HTTPRequest(.get, URL("https://a.test/"))
        let error = #expect(throws: TransportError.self) { try redirect(request, to: "http://a.test/") }
        #expect(error?.kind == .security)
    }

    @Test(arguments: [
        (301, HTTPMethod.post, HTTPMethod.get, false), (302, .post, .get, false), (303, .post, .get, false),
        (303, .put, .get, false), (303, .head, .head, true), (301, .put, .put, true), (302, .delete, .delete, true),
        (307, .post, .post, true), (308, .post, .post, true), (307, .patch, .patch, true),
    ])
    func `Methods and bodies follow RFC 9110`(_ status: Int, _ method: HTTPMethod, _ next: HTTPMethod, _ keeps: Bool)
        throws
    {
        let body = HTTPBody.data(Data("x".utf8))
        let request = HTTPRequest(method, URL("http://a.test/"), headers: ["Content-Type": "text/plain"], body: body)
        let redirected = try #require(try redirect(request, to: "/x", status: status))
        #expect(redirected.method == next)
        #expect(redirected.body == (keeps ? body : .empty))
        #expect((redirected.headers["Content-Type"] != nil) == keeps)
    }

    @Test(
        .fault(83),
        arguments: ["http://a.test/x", "http://b.test/x", "https://a.test/x", "http://a.test:81/x"],
        [301, 302, 303]
    )
    func `A request without its body has no headers of the body`(_ location: String, _ status: Int) throws {
        let headers: HTTPHeaders = [
            "Content-Type": "text/plain", "CONTENT-LENGTH": "1", "Content-Encoding": "gzip", "Content-Language": "de",
            "Content-Location": "/x", "Content-MD5": "x", "Content-Digest": "x", "Digest": "x", "Repr-Digest": "x",
            "Transfer-Encoding": "chunked", "Trailer": "Digest", "Expect": "100-continue", "Last-Modified": "x",
            "Accept": "*/*",
        ]
        for body in [HTTPBody.data(Data("x".utf8)), .empty] {
            let request = HTTPRequest(.post, URL("http://a.test/"), headers: headers, body: body)
            let next = try #require(try redirect(request, to: location, status: status))
            #expect(next.headers.map(\.name) == ["Accept"])
        }
    }

    @Test(.fault(83)) func `Another origin receives no type of a body that is not sent`() throws {
        let request = HTTPRequest(.post, URL("http://a.test/"), headers: ["Content-Type": "text/plain"])
        #expect(try redirect(request, to: "/x", status: 307)?.headers["Content-Type"] == "text/plain")
        #expect(try redirect(request, to: "//b.test/x", status: 307)?.headers.isEmpty == true)
    }

    @Test(arguments: [
        (
            "http://me:s3cret@b.test/s3cret?s3cret#s3cret",
            "from https://a.test to http://b.test leads from https to http"
        ),
        ("javascript:s3cret", "from https://a.test to javascript: leaves HTTP"),
        ("https://b.test:8443/s3cret", "from https://a.test to https://b.test:8443 would have sent the body"),
    ])
    func `A refused redirect names both origins and nothing else of their URLs`(_ location: String, _ reason: String) {
        let request = HTTPRequest(.put, URL("https://a.test/s3cret?s3cret"), body: .data(Data("s3cret".utf8)))
        let error = #expect(throws: TransportError.self) { try redirect(request, to: location, status: 307) }
        #expect(error?.kind == .security)
        #expect(error?.reason.contains(reason) == true)
        #expect(error.map { "\($0)".contains("s3cret") } == false)
    }

    @Test(
        .fault(57),
        arguments: [
            "https://a.test/", "http://b.test/", "http://a.test:8080/", "http://sub.a.test/", "http://a.test@b.test/",
        ],
        [301, 302, 303, 307, 308]
    )
    func `No secret is sent to another origin`(_ location: String, _ status: Int) throws {
        let headers: HTTPHeaders = [
            "Authorization": "Bearer x", "Cookie": "a=b", "X-Api-Key": "k", "X-Anything": "v", "Accept": "text/html",
        ]
        let request = HTTPRequest(.get, URL("http://a.test/"), headers: headers)
        let next = try #require(try redirect(request, to: location, status: status))
        #expect(next.headers.map(\.name) == ["Accept"])
        #expect(next.url.user == nil)
        let upload = HTTPRequest(.put, URL("http://a.test/"), body: .data(Data("secret".utf8)))
        guard status != 303 else { return }
        let error = #expect(throws: TransportError.self) { try redirect(upload, to: location, status: status) }
        #expect(error?.kind == .security)
    }

    @Test func `The same origin keeps all headers, in any case and with the default port`() throws {
        let request = HTTPRequest(.get, URL("http://a.test/"), headers: ["Authorization": "Bearer x"])
        #expect(try redirect(request, to: "http://A.test:80/x")?.headers["Authorization"] == "Bearer x")
    }

    @Test(arguments: [200, 300, 304, 305, 404]) func `Other statuses are not redirects`(_ status: Int) throws {
        #expect(try redirect(to: "/x", status: status) == nil)
    }

    @Test(arguments: ["", " ", "\t  \t", "#", "#f", " \t#f ", "#/x?y"], [301, 302, 303, 307, 308])
    func `A Location that is blank or a fragment alone is no redirect`(_ location: String, _ status: Int) throws {
        for method in [HTTPMethod.get, .post, .put] {
            let body = method == .get ? HTTPBody.empty : .data(Data("x".utf8))
            let request = HTTPRequest(method, URL("http://a.test/b/c/d?q"), body: body)
            #expect(try redirect(request, to: location, status: status) == nil)
        }
    }

    @Test func `A redirect without Location is not followed`() throws {
        #expect(try HTTPRequest(.get, URL("http://a.test/")).redirected(by: HTTPResponse(status: 302)) == nil)
    }
}
