#if os(Linux)
import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

private let isPossible = TestAuthority.isAvailable && TestProgram.path(of: "nginx") != nil

@Suite(
    "HTTP/2",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: isPossible, "nginx or openssl is not installed")
)
struct CurlHTTP2Tests {
    private let folder: TemporaryFolder
    private let backend: FixtureServer
    private let program: TestProgram
    private let transport: CurlTransport
    private let url: URL

    init() async throws {
        let authority = try TestAuthority.shared.get()
        folder = try TemporaryFolder()
        backend = try FixtureServer.start { request in
            guard let length = Int(request.path.split(separator: "/").last ?? "") else { return .text("ok") }
            let headers = "Content-Type: text/event-stream\r\nX-Long: \(String(repeating: "h", count: 3_000))\r\n\r\n"
            let event = "data: \(String(repeating: "d", count: length))\n\n"
            return .script(.write("HTTP/1.1 200 OK\r\n" + headers + event), .hang)
        }
        let port: UInt16
        (program, port) = try await authority.serveWithNginx(
            in: folder.url,
            listen: "ssl http2",
            """
            access_log access.log; keepalive_requests 50;
            add_header Set-Cookie a=1; add_header Set-Cookie b=2; add_trailer X-Trailer 1;
            location / { return 200 "$server_protocol $connection $request_method $http_x_empty|$http_x_a $request_uri"; }
            location /refused { gzip on; gzip_types *; gzip_min_length 1; default_type text/plain; return 403 "refused"; }
            location /backend { proxy_pass http://127.0.0.1:\(backend.port); proxy_buffering off; }
            location /slow { limit_rate 50k; alias \(authority.directory.path)/; try_files /ca.pem =404; }
            """
        )
        url = try #require(URL(string: "https://localhost:\(port)/"))
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        transport = try CurlTransport(configuration)
    }

    private func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        try await transport.send(request)
    }

    private func words(_ response: HTTPResponse) -> [Substring] {
        String(decoding: response.body, as: UTF8.self).split(separator: " ")
    }

    @Test func `HTTP 2 is used over TLS, with headers and trailers as over HTTP 1`() async throws {
        let response = try await send(HTTPRequest(.get, url, headers: ["X-Empty": "", "X-A": "1"]))
        #expect(words(response) == ["HTTP/2.0", words(response)[1], "GET", "|1", "/"])
        #expect(response.headers.values("set-cookie") == ["a=1", "b=2"])
        #expect(response.headers["x-trailer"] == nil)
        #expect(response.isMultiplexed)
    }

    @Test(arguments: [10, 1_500, 6_000, 60_000])
    @MainActor func `An event arrives at once, however long it and the headers are`(_ length: Int) async throws {
        var service = APIService(baseURL: url)
        service.envelope = nil
        let events = Events(proxy: APIProxy(service: service, transport: transport))
        events.path = "/backend/\(length)"
        for try await event in events.elements() {
            #expect(event.data.count == length)
            break
        }
    }

    private struct SparseReceiver: HTTPBodyReceiver {
        var expectation: HTTPBodyExpectation { .sparse }
        func begin(status: Int, headers: HTTPHeaders) -> Bool { true }
        func receive(_ bytes: UnsafeRawBufferPointer) {}
        func hasRoom(orCall ready: @escaping @Sendable () -> Void) -> Bool { true }
        func finish() {}
    }

    /// With a smaller one, frames and headers that do not fit may stay in libcurl until something else arrives, or for ever.
    @Test func `What may come over HTTP 2 has libcurl's buffer at least`() {
        var request = HTTPRequest(.get, url)
        request.destination = .stream(HTTPBodySink(SparseReceiver()))
        #expect(CurlHandle.Buffer(for: request) == .standard)
        request.url = backend.baseURL
        #expect(CurlHandle.Buffer(for: request) == .small)
    }

    private final class Events: StreamAPIRequest<ServerSentEvent>, APIManager {
        var path = ""
        let method = HTTPMethod.get
    }

    @Test func `A POST that a server refused with GOAWAY is lost, and none is processed twice`() async throws {
        let endings = await withTaskGroup(of: TransportError.Kind?.self) { group in
            for number in 0..<1_000 {
                let request = HTTPRequest(.post, url.appending(path: "\(number)"), body: .data(Data("abc".utf8)))
                group.addTask { await transport.ending(of: request) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(endings.contains(nil))
        #expect(endings.allSatisfy { $0 == nil || $0 == .connectionLost })
        // An entry may be written after its response.
        let successes = endings.count { $0 == nil }
        try await until { try processedPaths().count >= successes }
        let paths = try processedPaths()
        #expect(Set(paths).count == paths.count)
    }

    /// The paths of the requests that the server has processed.
    private func processedPaths() throws -> [Substring] {
        let log = try String(contentsOf: folder.url.appendingPathComponent("access.log"), encoding: .utf8)
        return log.matches(of: /"POST ([^ ]+)/).map { $0.1 }
    }

    @Test(arguments: ["/%2e%c3%bC?x=%2e", "/a/%2E%2e/b", "/?", "/a/./b//c"])
    func `The path and the query arrive unchanged`(_ target: String) async throws {
        let response = try await send(HTTPRequest(.get, URL(url.absoluteString.dropLast() + target)))
        #expect(words(response).last.map(String.init) == target)
    }

    @Test func `A refusal of unknown length is the response while the body has no more bytes`() async throws {
        let body = HTTPBody.stream {
            let parts = Counter()
            return AsyncStream<Data> {
                if parts.next() > 1 { try? await Latch().wait() }
                return Data("first".utf8)
            }
        }
        var request = HTTPRequest(.post, url.appending(path: "refused"), body: body)
        (request.timeout, request.deadline) = (nil, nil)
        let response = try await send(request)
        #expect(response.status == 403 && response.headers["Content-Length"] == nil)
        #expect(String(decoding: response.body, as: UTF8.self) == "refused")
    }

    @Test func `Many requests share one connection`() async throws {
        let connections = try await withThrowingTaskGroup(of: Substring.self) { group in
            for _ in 0..<40 { group.addTask { words(try await send(HTTPRequest(.get, url)))[1] } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(connections.count == 1)
    }

    @Test(arguments: [.post, .put, .delete] as [HTTPMethod])
    func `Methods and bodies arrive`(_ method: HTTPMethod) async throws {
        // More than the window of a stream, in a content that shows each byte that is lost or sent twice.
        let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 * $0 / 251) }
        let request = HTTPRequest(method, url.appending(path: "backend"), body: .data(Data(body)))
        let response = try await send(request)
        #expect(response.isMultiplexed && response.status == 200)
        let arrived = try #require(backend.requests.first)
        #expect(arrived.method == method.rawValue)
        #expect(arrived.body == body)
    }

    @Test func `A cancelled request does not affect the others on its connection`() async throws {
        let before = words(try await send(HTTPRequest(.get, url)))[1]
        let slow = HTTPRequest(.get, url.appendingPathComponent("slow"))
        let tasks = (0..<10).map { _ in Task { try await send(slow) } }
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.result }
        #expect(words(try await send(HTTPRequest(.get, url)))[1] == before)
    }
}
#endif
