import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

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

    @Test func `A decision is asked for each redirect, with the response and the next request`() async throws {
        let asked = Lock<[String]>([])
        let response = try await response(
            .decide { response, next in
                asked.withLock { $0.append("\(response.status) \(next.url.path)") }
                return next.url.path != "/3"
            }
        )
        #expect(asked.withLock(\.self) == ["302 /2", "302 /3"])
        #expect(response.status == 302)
        #expect(response.url.path == "/2")
        #expect(paths == ["/1", "/2"])
    }

    @Test func `No decision allows a redirect from https to http`() async throws {
        let transport = ScriptedTransport { _ in HTTPResponse(status: 302, headers: ["Location": "http://shop.test/"]) }
        let error = await #expect(throws: APIError.self) {
            var request = HTTPRequest(.get, URL("https://shop.test/"))
            request.redirectPolicy = .decide { _, _ in true }
            _ = try await APIProxy(transport: transport).send(request)
        }
        #expect(error?.type == .security)
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
        let policies: [RedirectPolicy] = [.follow, .refuse, .follow(limit: 3), .decide { _, _ in true }]
        let requests = policies.map { RedirectedRequest($0, proxy: proxy) }
        let screen = RequestRecorder()
        for request in requests {
            request.delegate = screen
            request.loadData()
        }
        await transport.waitForRequests(4)
        gate.open()
        let endings = await screen.endings(of: requests)
        #expect(endings.count { $0 == .success } == 3 && endings.contains(.failure(.http)))
        #expect(transport.requests.map(\.url.path).sorted() == ["/1", "/1", "/1", "/1", "/2", "/2", "/2"])
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
