import ErrandTesting
import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("A chain of redirects never requests the same twice", .timeLimit(.minutes(2)))
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

    @Test func `A redirect that the policy refuses is a response, wherever it leads`() async throws {
        var request = post()
        request.redirectPolicy = .decide { _, _ in false }
        let (requests, result) = await send(request) { _ in .status(307, headers: ["Location": "/1"]) }
        #expect(try result.get().status == 307)
        #expect(requests.count == 1)
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
