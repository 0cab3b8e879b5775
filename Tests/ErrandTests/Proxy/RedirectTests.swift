import ErrandTesting
import FixtureServer
import Foundation
import Testing
import TestSupport

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

@Suite("A chain of redirects never requests the same twice", .hangLimit, .timeLimit(.minutes(10)))
struct RedirectLoopTests {
    private static let json = HTTPResponse.json("{}")

    /// Sends a request over a script, and returns what was requested, with the response or the error.
    private func send(
        _ request: HTTPRequest,
        _ script: @escaping @Sendable (HTTPRequest) -> HTTPResponse
    ) async -> (requests: [HTTPRequest], result: Result<APIResponse, APIError>) {
        let transport = ScriptedTransport { script($0) }
        let proxy = APIProxy(service: .sample(), transport: transport)
        do throws(APIError) {
            let response = try await proxy.send(request)
            return (transport.requests, .success(response))
        } catch {
            return (transport.requests, .failure(error))
        }
    }

    private func post(_ url: String = "http://shop.test/1") -> HTTPRequest {
        HTTPRequest(.post, URL(url), body: .data(Data("x".utf8)))
    }

    @Test(arguments: ["", "  ", "#x"], [301, 302, 303, 307, 308])
    func `A response with a Location that names nothing is returned after one request`(
        _ location: String,
        _ status: Int
    ) async throws {
        let (requests, result) = await send(post()) { _ in .status(status, headers: ["Location": location]) }
        #expect(try result.get().status == status)
        #expect(try result.get().redirects.isEmpty)
        #expect(requests.count == 1)
    }

    @Test(arguments: 1...4, [307, 308])
    func `A ring of redirects is a typed error before anything is sent again`(_ length: Int, _ status: Int) async {
        for start in [post("http://shop.test/0"), HTTPRequest(.get, URL("http://shop.test/0#part"))] {
            let (requests, result) = await send(start) { request in
                let number = (Int(request.url.path.dropFirst()) ?? 0) + 1
                return .status(status, headers: ["Location": "/\(number % length)"])
            }
            #expect(requests.count == length)
            let error = #expect(throws: APIError.self) { try result.get() }
            #expect(error?.type == .transport)
            #expect(error?.reason == "a redirect leads back to a URL that was requested before")
        }
    }

    @Test(arguments: ["HTTP://SHOP.test:80/1", "//shop.test/1#x", "http://u:p@shop.test/1", "/./1", "/x/../1", "1"])
    func `Other notations of a URL are the same URL`(_ location: String) async {
        let (requests, result) = await send(post()) { _ in .status(308, headers: ["Location": location]) }
        #expect(requests.count == 1)
        #expect(throws: APIError.self) { try result.get() }
    }

    @Test func `A method that changes makes another request, and so does a body that is dropped`() async throws {
        let (requests, result) = await send(post()) { request in
            request.method == .post ? .status(303, headers: ["Location": "/1"]) : Self.json
        }
        #expect(try result.get().status == 200)
        #expect(requests.map(\.method) == [.post, .get])
        let get = HTTPRequest(.get, URL("http://shop.test/1"), body: .data(Data("x".utf8)))
        let (others, other) = await send(get) { request in
            request.body.isEmpty ? Self.json : .status(303, headers: ["Location": "/1"])
        }
        #expect(try other.get().status == 200)
        #expect(others.count == 2)
    }

    @Test(arguments: [HTTPMethod.get, .head, .options], ["/page", "/login"])
    func `A page is requested again with the cookie of a login`(_ method: HTTPMethod, _ login: String) async throws {
        let (requests, result) = await send(HTTPRequest(method, URL("http://shop.test/page"))) { request in
            if request.headers["Cookie"] == "sid=1" { return .status(204) }
            guard request.url.path == login else { return .status(307, headers: ["Location": login]) }
            return .status(307, headers: ["Location": "/page", "Set-Cookie": "sid=1; Path=/"])
        }
        #expect(try result.get().status == 204)
        #expect(requests.map(\.url.path) == (login == "/page" ? ["/page", "/page"] : ["/page", "/login", "/page"]))
    }

    @Test(arguments: ["sid=1; Secure", "sid=old", "sid=1; Path=/other", "x=1; Max-Age=0"])
    func `A cookie that changes nothing in the request allows no second one`(_ cookie: String) async {
        let jar = CookieJar()
        jar.store(setCookie: "sid=old", from: URL("http://shop.test/"))
        let transport = ScriptedTransport { _ in
            .status(302, headers: ["Location": "/page", "Set-Cookie": cookie])
        }
        let proxy = APIProxy(service: .sample(), transport: transport, cookies: jar)
        await #expect(throws: APIError.self) { try await proxy.send(HTTPRequest(.get, URL("http://shop.test/page"))) }
        #expect(transport.requests.count == 1)
    }

    @Test func `A request that may change something is not sent twice for a cookie`() async {
        for method in [HTTPMethod.post, .put, .patch, .delete] {
            let request = HTTPRequest(method, URL("http://shop.test/1"))
            let (requests, result) = await send(request) { _ in
                .status(307, headers: ["Location": "/1", "Set-Cookie": "challenge=1"])
            }
            #expect(requests.count == 1)
            #expect(throws: APIError.self) { try result.get() }
        }
    }

    @Test func `Cookies that change without end reach the limit of redirects`() async {
        let numbers = Counter()
        let (requests, result) = await send(HTTPRequest(.get, URL("http://shop.test/1"))) { _ in
            .status(302, headers: ["Location": "/1", "Set-Cookie": "n=\(numbers.next())"])
        }
        #expect(requests.count == 21)
        let error = #expect(throws: APIError.self) { try result.get() }
        #expect(error?.reason == "more than 20 redirects")
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `In generated sites no method, URL and body are requested twice`(_ seed: UInt64) async {
        var random = SplitMix(seed: seed)
        let site = (0..<6).map { _ in
            let end = ["", "#x", "?a"].randomElement(using: &random) ?? ""
            let status = [301, 302, 303, 307, 308].randomElement(using: &random) ?? 301
            return (status: status, target: "/\(Int.random(in: 0..<6, using: &random))\(end)")
        }
        let isPost = Bool.random(using: &random)
        let first = isPost ? post("http://shop.test/0") : HTTPRequest(.put, URL("http://shop.test/0"))
        let (requests, result) = await send(first) { request in
            let page = site[Int(request.url.path.dropFirst()) ?? 0]
            return .status(page.status, headers: ["Location": page.target])
        }
        let sent = requests.map { "\($0.method) \($0.url.absoluteString.prefix { $0 != "#" }) \($0.body.isEmpty)" }
        #expect(Set(sent).count == sent.count, "\(sent)")
        #expect(throws: APIError.self) { try result.get() }
    }
}

@Suite("A request, or its service, chooses which redirects are followed", .hangLimit, .timeLimit(.minutes(10)))
struct RedirectPolicyTests {
    /// A network in which `/1` redirects to `/2` and so on, and `/4` responses.
    private let network = ScriptedTransport { request in
        guard let number = Int(request.url.path.dropFirst()), number < 4 else {
            return .json(#"{"errcode":200,"data":[]}"#)
        }
        return HTTPResponse(status: 302, headers: ["Location": "/\(number + 1)"])
    }

    private var paths: [String] { network.requests.map(\.url.path) }

    private func response(
        to path: String = "/1",
        _ policy: RedirectPolicy
    ) async throws(APIError) -> APIResponse {
        var request = HTTPRequest(.get, URL("http://shop.test\(path)"))
        request.redirectPolicy = policy
        return try await APIProxy(transport: network).send(request)
    }

    @Test func `A file that is missing after a redirect is no request of which nothing was sent`() async throws {
        let file = try TemporaryFolder()
        try Data("x".utf8).write(to: file.file)
        let transport = ScriptedTransport { request in
            guard request.url.path == "/1" else { return .status(204) }
            try FileManager.default.removeItem(at: file.file)
            return .status(307, headers: ["Location": "/2"])
        }
        let request = HTTPRequest(.put, URL("http://shop.test/1"), body: .file(file.file))
        let error = await #expect(throws: APIError.self) { try await APIProxy(transport: transport).send(request) }
        #expect(error?.type == .storage)
        #expect(error?.reason?.hasPrefix("after a redirect: cookies.txt cannot be read") == true)
    }

    @MainActor @Test func `Nor is one that is missing for another try`() async throws {
        let file = try TemporaryFolder()
        try Data("x".utf8).write(to: file.file)
        let transport = ScriptedTransport { request in
            try FileManager.default.removeItem(at: file.file)
            return .status(503)
        }
        let service = APIService.sample { service in
            service.retryPolicy = RetryPolicy(maxRetries: 1)
            service.retryPolicy.baseDelay = .zero
        }
        let proxy = APIProxy(service: service, transport: transport)
        let request = APIRequest<Void>(
            "/1",
            method: .put,
            requestSerializer: .raw(.file(file.file), contentType: "text/plain"),
            proxy: proxy
        )
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .storage)
    }

    @Test func `A body from a URL that is no file URL is refused`() async throws {
        let file = try TemporaryFolder()
        try Data("x".utf8).write(to: file.file)
        let transport = ScriptedTransport { _ in .status(204) }
        let request = HTTPRequest(.put, URL("http://shop.test/"), body: .file(URL("http://cdn.test\(file.file.path)")))
        let error = await #expect(throws: APIError.self) { try await APIProxy(transport: transport).send(request) }
        #expect(error?.type == .invalidRequest)
    }

    @Test func `A redirect that is refused is the response`() async throws {
        let response = try await response(.refuse)
        #expect(response.status == 302)
        #expect(response.headers["Location"] == "/2")
        #expect(response.redirects.isEmpty)
        #expect(paths == ["/1"])
    }

    @Test func `A refused redirect may lead anywhere, because nothing is sent there`() async throws {
        let transport = ScriptedTransport { _ in
            HTTPResponse(status: 302, headers: ["Location": "javascript:alert(1)"])
        }
        var request = HTTPRequest(.get, URL("https://shop.test/"))
        request.redirectPolicy = .refuse
        #expect(try await APIProxy(transport: transport).send(request).status == 302)
    }

    @Test func `A limit of redirects may be reached and not exceeded`() async throws {
        #expect(try await response(.follow(limit: 3)).redirects.count == 3)
        let error = await #expect(throws: APIError.self) { _ = try await response(.follow(limit: 2)) }
        #expect(error?.type == .transport)
        #expect(error?.reason == "more than 2 redirects")
        #expect(paths == ["/1", "/2", "/3", "/4", "/1", "/2", "/3"])
    }

    @Test(arguments: ["/again", "http://shop.test:port/", "file:///etc/hosts"])
    func `The error of a redirect that cannot be followed has the timings of its response`(_ target: String) async {
        let transport = ScriptedTransport { _ in
            var response = HTTPResponse(status: 302, headers: ["Location": target])
            response.timings = ExchangeTimings(startedAt: .now, total: .milliseconds(7))
            return response
        }
        let error = await #expect(throws: APIError.self) {
            try await APIProxy(transport: transport).send(HTTPRequest(.get, URL("http://shop.test/1")))
        }
        #expect(error?.timings?.total == .milliseconds(7))
    }

    @Test @MainActor func `A load has the policy of its request, or else of its service`() async throws {
        var service = APIService(baseURL: URL("http://shop.test"))
        service.redirectPolicy = .refuse
        let proxy = APIProxy(service: service, transport: network)
        let refusing = RedirectedRequest(nil, proxy: proxy)
        let error = await #expect(throws: APIError.self) { _ = try await refusing.value() }
        #expect(error?.status == 302)
        let following = RedirectedRequest(.follow, proxy: proxy)
        #expect(try await following.value().isEmpty)
    }

    @Test @MainActor func `Loads with different policies share no exchange`() async throws {
        let gate = Latch()
        let transport = ScriptedTransport { request in
            guard request.url.path == "/1" else { return .json(#"{"errcode":200,"data":[]}"#) }
            try await gate.wait()
            return .status(302, headers: ["Location": "/2"])
        }
        let proxy = APIProxy(service: APIService(baseURL: URL("http://shop.test")), transport: transport)
        let policies: [RedirectPolicy] = [.follow, .refuse, .follow(limit: 3)]
        let requests = policies.map { RedirectedRequest($0, proxy: proxy) }
        let screen = RequestRecorder()
        for request in requests {
            request.delegate = screen
            request.loadData()
        }
        await transport.waitForRequests(3)
        gate.open()
        let endings = await screen.endings(of: requests)
        #expect(endings.count { $0 == .success } == 2 && endings.contains(.failure(.http)))
        #expect(transport.requests.map(\.url.path).sorted() == ["/1", "/1", "/1", "/2", "/2"])
    }
}

private final class RedirectedRequest: BaseAPIRequest, APIManager {
    typealias Response = [Int]
    let path = "/1"
    let method = HTTPMethod.get
    private let policy: RedirectPolicy?

    init(_ policy: RedirectPolicy?, proxy: APIProxy) {
        self.policy = policy
        super.init(proxy: proxy)
    }

    override var options: APIRequestOptions {
        APIRequestOptions(coalescesIdentical: true, redirectPolicy: policy)
    }
}

@Suite("Targets of redirects at the server", .fault(80), .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct RedirectTargetTests {
    /// A server that redirects the first request of each case to the case's location, and responds to the others.
    private func server(_ locations: [String]) throws -> FixtureServer {
        let redirected = Lock(Set<Int>())
        return try FixtureServer.start { request in
            guard let number = request.header("X-Case").flatMap({ Int($0) }),
                redirected.withLock({ $0.insert(number).inserted })
            else { return .text("there") }
            return Response(status: 302, headers: ["Location": locations[number], "Content-Length": "0"], steps: [])
        }
    }

    private func proxy(_ transport: any HTTPTransport) -> APIProxy {
        APIProxy(service: .sample(), transport: transport)
    }

    private func send(_ number: Int, to url: URL, through proxy: APIProxy) async throws(APIError) -> APIResponse {
        try await proxy.send(HTTPRequest(.get, url, headers: ["X-Case": "\(number)"]))
    }

    @Test(arguments: TransportKind.allCases)
    func `The examples of RFC 3986 on one host request the targets of the RFC`(_ kind: TransportKind) async throws {
        let examples = RFC3986.examples.filter { $0.target?.hasPrefix("http://a/") == true && $0.isFollowed }
        let server = try server(examples.map(\.reference))
        let proxy = proxy(try kind.make())
        for (number, example) in examples.enumerated() {
            server.removeRecordedRequests()
            _ = try await send(number, to: server.url("/b/c/d;p?q"), through: proxy)
            #expect(server.requests.map(\.target).last == example.target.map { String($0.dropFirst("http://a".count)) })
            #expect(server.requests.count == 2)
        }
    }

    #if os(Linux)
    private func proxied(by server: FixtureServer) throws -> APIProxy {
        var configuration = TransportConfiguration()
        configuration.proxy = .url(server.baseURL)
        return proxy(try CurlTransport(configuration))
    }

    @Test func `All 42 examples of RFC 3986 request the targets of the RFC, or nothing`() async throws {
        #expect(RFC3986.examples.count == 42)
        let server = try server(RFC3986.examples.map(\.reference))
        let proxy = try proxied(by: server)
        for (number, example) in RFC3986.examples.enumerated() {
            server.removeRecordedRequests()
            let response = try? await send(number, to: URL(RFC3986.base), through: proxy)
            let target = example.isRequestable ? example.target : nil
            #expect(response?.url.absoluteString == target, "\(example)")
            let targets = server.requests.map(\.target)
            // An empty path is sent as `/`.
            let next = example.isFollowed ? target.map { [$0 == "http://g" ? "http://g/" : $0] } : nil
            #expect(targets == [RFC3986.base] + (next ?? []))
        }
    }

    @Test func `Generated locations request the targets that the RFC's pseudocode computes`() async throws {
        var random = SplitMix(seed: 42)
        let authorities = ["a.test", "u:p@b.test", "c.test:8080"]
        let locations = (0..<300).map { _ in ReferenceModel.randomReference(authorities: authorities, &random) }
            .filter { ReferenceModel($0).scheme.map { $0 == "http" } != false }
        let server = try server(locations)
        let proxy = try proxied(by: server)
        let base = "http://a.test/b%2Fc/d;p?q=%41"
        for (number, location) in locations.enumerated() {
            server.removeRecordedRequests()
            _ = try await send(number, to: URL(base), through: proxy)
            let target = ReferenceModel(location).resolved(against: ReferenceModel(base))
            // libcurl does not send the `?` of an empty query.
            let sent = ReferenceModel(target).query == "" ? String(target.dropLast()) : target
            #expect(server.requests.last?.target == sent, "\(location)")
        }
    }
    #endif

    @Test(arguments: TransportKind.allCases)
    func `Encoded characters are sent unchanged, and only invalid characters are encoded`(
        _ kind: TransportKind
    ) async throws {
        let cases = [
            ("/x%20y z", "/x%20y%20z"), ("?q=a|b&c=x%3D%3d", "/b/c?q=a%7Cb&c=x%3D%3d"),
            ("/items?filter[q]=a%20b&page=2", "/items?filter%5Bq%5D=a%20b&page=2"),
            ("/ü%20x|y", "/%C3%BC%20x%7Cy"), ("/100%", "/100%25"), ("/a+b?c+d=%2B", "/a+b?c+d=%2B"),
            ("/%41%5b", "/%41%5b"),
        ]
        let server = try server(cases.map(\.0))
        let proxy = proxy(try kind.make())
        for (number, (location, target)) in cases.enumerated() {
            _ = try await send(number, to: server.url("/b/c"), through: proxy)
            #expect(server.requests.last?.target == target, "\(location)")
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `Dot segments of absolute locations are resolved before cookies are chosen`(_ kind: TransportKind)
        async throws
    {
        let start = try FixtureServer.start { request in
            guard request.path == "/" else { return .text("there") }
            let host = request.header("Host") ?? ""
            return .redirect(to: request.query == "name" ? "//\(host)/x/./../y" : "http://\(host)/x/../y")
                .adding("Set-Cookie", "x=1; Path=/x").adding("Set-Cookie", "y=1; Path=/y")
        }
        for query in ["", "?name"] {
            _ = try await proxy(kind.make()).send(HTTPRequest(.get, start.url("/\(query)")))
            #expect(start.requests.last?.target == "/y")
            #expect(start.requests.last?.header("Cookie") == "y=1")
        }
    }

    @Test func `A cookie's path is compared with the path that is sent`() async throws {
        let start = try FixtureServer.start { request in
            guard request.path == "/" else { return .text("there") }
            return .redirect(to: "/x%2f/%41?/y").adding("Set-Cookie", "decoded=1; Path=/x/")
                .adding("Set-Cookie", "sent=1; Path=/x%2f").adding("Set-Cookie", "other=1; Path=/x%2F")
        }
        let kind = try #require(TransportKind.allCases.last)
        _ = try await proxy(kind.make()).send(HTTPRequest(.get, start.url("/")))
        #expect(start.requests.last?.target == "/x%2f/%41?/y")
        #expect(start.requests.last?.header("Cookie") == "sent=1")
    }

    @Test(.fault(83), arguments: TransportKind.allCases, [301, 302, 303])
    func `A POST that becomes a GET loses the headers of its body, at every origin`(
        _ kind: TransportKind,
        _ status: Int
    ) async throws {
        let other = try FixtureServer.start { _ in .text("other") }
        let server = try FixtureServer.start { request in
            request.path == "/there"
                ? .text("same")
                : .redirect(to: request.path == "/same" ? "/there" : other.url("/there").absoluteString, status: status)
        }
        let headers: HTTPHeaders = [
            "Content-Type": "text/plain", "content-language": "de", "Content-Location": "/secret",
            "Digest": "sha-256=x",
            "Content-Digest": "sha-256=:x:", "Repr-Digest": "sha-256=:x:", "Last-Modified": "yesterday",
            "Accept": "*/*",
        ]
        for path in ["/same", "/other"] {
            let request = HTTPRequest(.post, server.url(path), headers: headers, body: .data(Data("x".utf8)))
            _ = try await proxy(kind.make()).send(request)
            let last = try #require(path == "/same" ? server.requests.last : other.requests.last)
            #expect(last.method == "GET" && last.body.isEmpty)
            let names = Set(last.headers.map { $0.name.lowercased() })
            let kept = ["accept", "accept-encoding", "accept-language", "connection", "host", "user-agent"]
            #expect(names.subtracting(kept).isEmpty && names.contains("accept"), "\(names)")
        }
    }
}

@Suite("The body of a redirect", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct RedirectBodyTests {
    /// What is wrong with it.
    enum Fault: CaseIterable {
        case coding, unknownCoding, shortLength, cutChunk, endless, slow, large

        var lines: HeaderLines {
            switch self {
            case .coding: ["Content-Encoding": "gzip", "Content-Length": "4"]
            case .unknownCoding: ["Transfer-Encoding": "foo, chunked"]
            case .shortLength: ["Content-Length": "9"]
            case .cutChunk: ["Transfer-Encoding": "chunked"]
            case .endless, .slow: [:]
            case .large: ["Content-Length": "4000"]
            }
        }

        var steps: [Response.Step] {
            switch self {
            case .coding: [.write("text")]
            case .unknownCoding: [.write("4\r\ntext\r\n0\r\n\r\n")]
            case .shortLength: [.write("text"), .close]
            case .cutChunk: [.write("9\r\ntext"), .close]
            case .endless: [.repeatForever(Array(repeating: 0x20, count: 4_000), every: .zero)]
            case .slow: [.repeatForever([0x20], every: .milliseconds(20))]
            case .large: [.write(String(repeating: "x", count: 4_000))]
            }
        }
    }

    private func server(_ fault: Fault) throws -> FixtureServer {
        try FixtureServer.start { request in
            guard request.path != "/there" else { return .text("there") }
            return Response(status: 303, headers: ["Location": "/there"] + fault.lines, steps: fault.steps)
        }
    }

    /// URLSession on Linux reports a redirect after its body.
    @Test(arguments: TransportKind.supportingInterruptedHeads, Fault.allCases)
    func `A redirect is followed whatever its body is`(_ kind: TransportKind, _ fault: Fault) async throws {
        let server = try server(fault)
        let proxy = APIProxy(service: .sample(), transport: try kind.make())
        for method in [HTTPMethod.get, .post] {
            var request = HTTPRequest(method, server.url("/here"))
            request.limits.bodyBytes = 1_000
            request.timeout = .seconds(2)
            let response = try await proxy.send(request)
            #expect(response.body == Data("there".utf8) && response.redirects.count == 1)
        }
        #expect(
            server.requests.map { "\($0.method) \($0.path)" } == [
                "GET /here", "GET /there", "POST /here", "GET /there",
            ]
        )
    }

    #if os(Linux)
    @Test(arguments: [RedirectPolicy.follow, .refuse])
    func `A redirect to two locations is a bad response`(_ policy: RedirectPolicy) async throws {
        let server = try FixtureServer.start { request in
            let headers: HeaderLines = ["Location": "/there", "Content-Length": "0"]
            return switch request.path {
            case "/here": Response(status: 302, headers: headers + ["location": "/elsewhere"], steps: [])
            case "/twice": Response(status: 302, headers: headers + ["location": "/there"], steps: [])
            default: .text("there")
            }
        }
        let proxy = APIProxy(service: .sample(), transport: try CurlTransport())
        var request = HTTPRequest(.get, server.url("/here"))
        request.redirectPolicy = policy
        let error = await #expect(throws: APIError.self) { try await proxy.send(request) }
        #expect(error?.reason?.contains("two locations") == true)
        #expect(try await proxy.send(HTTPRequest(.get, server.url("/twice"))).body == Data("there".utf8))
        #expect(server.requests.map(\.path) == ["/here", "/twice", "/there"])
    }

    @Test func `A redirect whose body ends leaves its connection to the next request`() async throws {
        let server = try server(.large)
        let proxy = APIProxy(service: .sample(), transport: try CurlTransport())
        for _ in 0..<3 { _ = try await proxy.send(HTTPRequest(.get, server.url("/here"))) }
        #expect(server.totalConnections == 1)
    }
    #endif

    @Test(arguments: TransportKind.allCases)
    func `A redirect that is not followed has its whole body`(_ kind: TransportKind) async throws {
        let server = try server(.large)
        let proxy = APIProxy(service: .sample(), transport: try kind.make())
        var request = HTTPRequest(.get, server.url("/here"))
        request.redirectPolicy = .refuse
        #expect(try await proxy.send(request).body.count == 4_000)
        request.limits.bodyBytes = 1_000
        let error = await #expect(throws: APIError.self) { try await proxy.send(request) }
        #expect(error?.reason?.contains("1000 bytes") == true)
    }
}

@Suite("Ranges on the wire", .hangLimit, .timeLimit(.minutes(10)))
struct RangeCodingTests {
    @Test(arguments: TransportKind.allCases)
    func `A request for a range accepts no coding, unless it says which`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .text("0", status: 206, headers: ["Content-Range": "bytes 0-0/9"]) }
        let proxy = APIProxy(service: .sample(), transport: try kind.make())
        for headers: HTTPHeaders in [["range": "bytes=0-0"], ["Range": "bytes=0-0", "Accept-Encoding": "gzip"]] {
            let request = HTTPRequest(.get, server.url("/file"), headers: headers)
            #expect(try await proxy.send(request).body == Data("0".utf8))
        }
        #expect(server.requests.map { $0.header("Accept-Encoding") } == ["identity", "gzip"])
    }
}

extension RFC3986.Example {
    /// Whether the target has a scheme and a host that can be requested.
    fileprivate var isRequestable: Bool { target?.hasPrefix("http://") == true }
    /// Whether it names another resource.
    fileprivate var isFollowed: Bool { !reference.isEmpty && !reference.hasPrefix("#") }
}
