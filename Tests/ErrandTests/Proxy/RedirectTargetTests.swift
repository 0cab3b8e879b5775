import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

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

extension RFC3986.Example {
    /// Whether the target has a scheme and a host that can be requested.
    fileprivate var isRequestable: Bool { target?.hasPrefix("http://") == true }
    /// Whether it names another resource.
    fileprivate var isFollowed: Bool { !reference.isEmpty && !reference.hasPrefix("#") }
}
