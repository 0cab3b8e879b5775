import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Requests from drafts", .timeLimit(.minutes(10)))
struct RequestDraftTests {
    private func url(_ path: String, _ params: APIParams? = nil, base: String = "http://shop.test/api") throws
        -> String
    {
        var service = APIService.sample()
        service.baseURL = URL(base)
        return try RequestDraft(method: .get, path: path, params: params).request(for: service).url.absoluteString
    }

    @Test(arguments: [
        ("/goods", "http://shop.test/api/goods"), ("goods", "http://shop.test/api/goods"), ("", "http://shop.test/api"),
        ("/", "http://shop.test/api/"), ("//evil.example/x", "http://shop.test/api//evil.example/x"),
        ("/a b/ü", "http://shop.test/api/a%20b/%C3%BC"), ("/a%20b", "http://shop.test/api/a%20b"),
        ("/100%", "http://shop.test/api/100%25"), ("/a?b=c", "http://shop.test/api/a?b=c"),
        ("/a#b", "http://shop.test/api/a%23b"),
        ("/a%20b c|d[%5b]?x=%3D|+", "http://shop.test/api/a%20b%20c%7Cd%5B%5b%5D?x=%3D%7C+"),
        ("/a/../b/./c", "http://shop.test/api/b/c"), ("../graphql?a=/../b", "http://shop.test/graphql?a=/../b"),
        ("/../../../b/..", "http://shop.test/"), ("/.well-known/a..b", "http://shop.test/api/.well-known/a..b"),
        ("a:b", "http://shop.test/api/a:b"),
        ("@evil.example", "http://shop.test/api/@evil.example"),
    ])
    func `Any path is appended to the base URL`(_ path: String, _ expected: String) throws {
        #expect(try url(path) == expected)
    }

    @Test func `Parameters are appended to an existing query`() throws {
        #expect(try url("/a?b=c", ["d": 1]) == "http://shop.test/api/a?b=c&d=1")
        #expect(try url("/a", ["d": 1], base: "http://shop.test/?key=k#top") == "http://shop.test/a?key=k&d=1")
        #expect(try url("/a", [:]) == "http://shop.test/api/a")
        #expect(try url("/a?", ["d": 1]) == "http://shop.test/api/a?d=1")
        #expect(try url("/a?", ["d": 1], base: "http://shop.test/?key=k") == "http://shop.test/a?key=k&d=1")
        #expect(try url("http://shop.test/a?", ["d": 1]) == "http://shop.test/a?d=1")
        #expect(try url("/a?b=?", ["d": 1]) == "http://shop.test/api/a?b=?&d=1")
        #expect(try url("/a?") == "http://shop.test/api/a?")
        #expect(try url("?act=login", base: "http://shop.test/api.php") == "http://shop.test/api.php?act=login")
    }

    @Test func `Without a path of its own, a request has that of the base URL, with its slash`() throws {
        #expect(try url("", base: "http://shop.test/items/") == "http://shop.test/items/")
        #expect(try url("?page=2", base: "http://shop.test/items/?key=k") == "http://shop.test/items/?page=2&key=k")
        #expect(try url("", base: "http://shop.test/items") == "http://shop.test/items")
        #expect(try url("?next=a/../b", base: "http://shop.test") == "http://shop.test?next=a/../b")
        #expect(try url("/b", base: "http://shop.test/a/../c/") == "http://shop.test/c/b")
    }

    @Test(arguments: [
        ("../admin", "..%2Fadmin"), ("%2e%2e/", "%252e%252e%2F"), ("//evil.example", "%2F%2Fevil.example"),
        (#"\evil"#, "%5Cevil"), ("?x=", "%3Fx%3D"), ("#", "%23"), ("a b", "a%20b"), ("苹果", "%E8%8B%B9%E6%9E%9C"),
        ("a\r\nb", "a%0D%0Ab"), ("\u{0}", "%00"), ("{id}", "%7Bid%7D"), (";v=1", "%3Bv%3D1"),
    ])
    func `A path parameter is encoded as one segment`(_ value: String, _ segment: String) throws {
        #expect(try url("/o/{id}/lines", ["id": value, "q": 1]) == "http://shop.test/api/o/\(segment)/lines?q=1")
    }

    @Test(arguments: ["", ".", ".."]) func `An empty path parameter and dot segments are refused`(_ value: String) {
        #expect(throws: APIError.self) { try url("/o/{id}", ["id": value]) }
    }

    @Test func `A path without its parameter, and one that is a URL of another origin, are refused`() {
        #expect(throws: APIError.self) { try url("/o/{id}") }
        let secret = #expect(throws: APIError.self) { try url("https://evil.example/o?signature=s3cret") }
        #expect(secret?.description.contains("s3cret") == false)
    }

    /// Requests for another origin than the service's.
    private static let strays: [RequestDraft] = {
        let stray = URL("https://evil.example:8443/o?signature=s3cret")
        var linked = RequestDraft(method: .get, path: "/o")
        linked.replacement = .link(RequestDraft.Link(url: stray, allowedOrigins: []))
        let plain = RequestDraft(HTTPRequest(.get, stray), isComplete: false)
        return [RequestDraft(method: .get, path: stray.absoluteString), linked, plain]
    }()

    @Test(arguments: 0..<3) func `The text of a refusal names the origins, unless the app has one`(_ index: Int) {
        let service = APIService.sample()
        let error = #expect(throws: APIError.self) { try Self.strays[index].request(for: service) }
        #expect(error?.type == .security)
        let text = "The request to https://evil.example:8443 was not sent: only http://shop.test is allowed."
        #expect(error?.message == text)
        #expect(error?.reason?.contains("https://evil.example:8443") == true)
        #expect(error?.reason?.contains("http://shop.test") == true)
        #expect(error?.worded(by: ErrorMessages(byType: [.security: "by the app"])).message == "by the app")
    }

    @Test(
        arguments: [
            ([:], "the path needs the parameter id"), (["other": 1], "the path needs the parameter id"),
            (["id": ""], "the path parameter id is empty: the path needs a text"),
            (["id": nil], "the path parameter id is nil: the path needs a text"),
            (["id": [1, 2]], "the path parameter id is an array: the path needs a text"),
            (["id": ["a": 1]], "the path parameter id is an object: the path needs a text"),
            (["id": ".."], "the path parameter id would leave its segment"),
        ] as [(APIParams, String)]
    )
    func `A reason distinguishes a missing parameter from one that a path cannot have`(
        _ params: APIParams,
        _ reason: String
    ) {
        let error = #expect(throws: APIError.self) { try url("/o/{id}", params) }
        #expect(error?.type == .invalidRequest && error?.reason == reason)
    }

    @Test func `A downloaded file is printed with its path`() {
        let file = DownloadedFile(url: URL(filePath: "/tmp/price list.csv"))
        #expect("\(file)" == "DownloadedFile(/tmp/price list.csv)")
        #expect(String(reflecting: [file]).contains("/tmp/price list.csv"))
    }

    @Test(arguments: [
        ("/o/{id", "the path has a { without a }"), ("/o/{}", "the path has {} without a name"),
        ("/o/{id}/{", "the path has a { without a }"),
    ])
    func `A path with an incomplete parameter is refused`(_ path: String, _ reason: String) {
        let error = #expect(throws: APIError.self) { try url(path, ["id": 1]) }
        #expect(error?.reason == reason)
    }

    @Test(arguments: ["api.shop.example/v1", "/v1", "localhost:8080", "http://", "file:///tmp"])
    func `A base URL without a host is named as the reason`(_ base: String) {
        let error = #expect(throws: APIError.self) { try url("/o", base: base) }
        #expect(error?.type == .invalidRequest)
        #expect(error?.reason?.hasPrefix("the service's base URL has no host") == true)
    }

    @Test func `A path's query may contain a URL`() throws {
        let path = "/authorize?redirect_uri=https://app.test/back"
        #expect(try url(path) == "http://shop.test/api" + path)
    }

    @Test(arguments: [HTTPMethod.get, .head, .delete]) func `These methods have a query and no body`(
        _ method: HTTPMethod
    ) throws {
        let request = try RequestDraft(method: method, path: "/g", params: ["a": 1]).request(for: .sample())
        #expect(request.url.query == "a=1")
        #expect(request.body.isEmpty)
        #expect(request.headers["Content-Type"] == nil)
    }

    @Test(arguments: [HTTPMethod.post, .put, .patch]) func `These methods have a body and no query`(
        _ method: HTTPMethod
    ) throws {
        let request = try RequestDraft(method: method, path: "/g", params: ["a": 1]).request(for: .sample())
        #expect(request.url.query == nil)
        #expect(request.body == .data(Data(#"{"a":1}"#.utf8)))
        #expect(request.headers["Content-Type"] == "application/json")
    }

    @Test func `A form body is urlencoded, and its path parameters are not in it`() throws {
        var draft = RequestDraft(method: .post, path: "/g/{id}", params: ["id": 5, "t": "a b"])
        draft.serializer = .form
        let request = try draft.request(for: .sample())
        #expect(request.body == .data(Data("t=a+b".utf8)))
        #expect(request.headers["Content-Type"] == "application/x-www-form-urlencoded")
        #expect(request.url.path == "/api/g/5")
        draft.serializer = .json
        #expect(try draft.request(for: .sample()).body == .data(Data(#"{"t":"a b"}"#.utf8)))
    }

    @Test(arguments: [HTTPMethod.post, .put, .patch], [RequestSerializer.json, .form, .multipart])
    func `Without parameters there is no body and no Content-Type`(
        _ method: HTTPMethod,
        _ serializer: RequestSerializer
    ) async throws {
        var draft = RequestDraft(method: method, path: "/g")
        draft.serializer = serializer
        draft.form = MultipartForm()
        let request = try draft.request(for: .sample())
        #expect(request.body.isEmpty)
        #expect(request.headers["Content-Type"] == nil)
        let typed = try await draft.complete(for: .sample { $0.commonHeaders = { ["Content-Type": "text/x"] } })
        #expect(typed.headers["Content-Type"] == "text/x", "the app's Content-Type is sent")
        #expect(try await !draft.complete(for: .sample { $0.commonParams = { ["v": 1] } }).body.isEmpty)
    }

    @Test func `Empty parameters, and those that are all in the path, are an empty object`() throws {
        for (path, params) in [("/g", [:]), ("/g/{id}", ["id": 5])] as [(String, APIParams)] {
            let request = try RequestDraft(method: .post, path: path, params: params).request(for: .sample())
            #expect(request.body == .data(Data("{}".utf8)))
            #expect(request.headers["Content-Type"] == "application/json")
        }
    }

    @Test func `With a raw body the parameters are in the query`() throws {
        var draft = RequestDraft(method: .put, path: "/g", params: ["a": 1])
        draft.serializer = .raw(.data(Data("<x/>".utf8)), contentType: "text/xml")
        let request = try draft.request(for: .sample())
        #expect(request.body == .data(Data("<x/>".utf8)))
        #expect(request.headers["Content-Type"] == "text/xml")
        #expect(request.url.query == "a=1")
    }

    @Test func `The body's type replaces the service's, and the request's replaces both, except for a form's boundary`()
        async throws
    {
        let service = APIService.sample { $0.commonHeaders = { ["Content-Type": "application/json"] } }
        var draft = RequestDraft(method: .post, path: "/g", params: ["a": 1])
        draft.serializer = .form
        let form = try await draft.complete(for: service).headers.values("Content-Type")
        #expect(form == ["application/x-www-form-urlencoded"])
        draft.serializer = .raw(.data(Data([1])), contentType: "image/png")
        #expect(try await draft.complete(for: service).headers.values("Content-Type") == ["image/png"])
        draft.headers = ["content-type": "image/webp"]
        #expect(try await draft.complete(for: service).headers.values("Content-Type") == ["image/webp"])
        draft.serializer = .multipart
        let type = try await draft.complete(for: service).headers.values("Content-Type")
        #expect(type.count == 1 && type[0].hasPrefix("multipart/form-data; boundary="))
        draft.method = .get
        draft.headers = [:]
        #expect(try await draft.complete(for: service).headers.values("Content-Type") == ["application/json"])
    }

    @Test func `Common headers and parameters are read at each send, and replaced by the request's`() async throws {
        let tokens = Counter()
        let service = APIService.sample {
            $0.commonHeaders = { ["X-Token": "t\(tokens.next())", "Accept": "*/*"] }
            $0.commonParams = { ["v": 1, "page": 1] }
        }
        var draft = RequestDraft(method: .post, path: "/g", params: ["page": 2])
        draft.headers = ["accept": "application/json"]
        let first = try await draft.complete(for: service)
        let second = try await draft.complete(for: service)
        #expect(first.headers["X-Token"] == "t1")
        #expect(second.headers["X-Token"] == "t2")
        #expect(first.headers.values("Accept") == ["application/json"])
        #expect(first.body == .data(Data(#"{"page":2,"v":1}"#.utf8)))
    }

    @Test func `Two requests from a draft have the same bytes, also with multipart`() throws {
        var draft = RequestDraft(method: .post, path: "/g", params: ["b": 1, "a": 2])
        draft.serializer = .multipart
        var form = MultipartForm()
        form.append(Data("x".utf8), name: "f", filename: "x.txt", contentType: "text/plain")
        draft.form = form
        #expect(try draft.request(for: .sample()).body == draft.request(for: .sample()).body)
    }
}

extension RequestDraft {
    /// Returns the request with what the service adds to it.
    fileprivate func complete(for service: APIService) async throws -> HTTPRequest {
        try request(for: service, with: await service.common())
    }
}
