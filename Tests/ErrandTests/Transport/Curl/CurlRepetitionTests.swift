#if os(Linux)
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// libcurl repeats requests itself; the server counts the received bodies.
@Suite(
    "A request that libcurl could repeat",
    .limitedConcurrency,
    .timeLimit(.minutes(10)),
    .enabled(if: TestAuthority.isAvailable && TLSServer.isAvailable, "openssl is not installed")
)
struct CurlRepetitionTests {
    private let authority: TestAuthority
    private let transport: CurlTransport

    init() throws {
        authority = try TestAuthority.shared.get()
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        transport = try CurlTransport(configuration)
    }

    private func ending(_ method: HTTPMethod, _ text: String, to server: HTTP2Server) async -> TransportError.Kind? {
        await transport.ending(of: HTTPRequest(method, server.url("/"), body: .data(Data(text.utf8))))
    }

    /// Starts a request without a response, which keeps its connection open, and calls `body` meanwhile.
    private func whileOneWaits(on server: HTTP2Server, _ body: () async -> Void) async throws {
        let waiting = Task { await ending(.get, "wait", to: server) }
        try await until { server.requests.contains { $0.text == "wait" } }
        await body()
        waiting.cancel()
        #expect(await waiting.value == .cancelled)
    }

    /// A server that applies `action` to the first requests with each body that begins with "order", and responds to the later
    /// ones.
    private func server(_ action: HTTP2Server.Action, count: Int = 1) throws -> HTTP2Server {
        let counts = Lock([String: Int]())
        return try HTTP2Server(authority) { request in
            let turn = counts.withLock { counts in
                defer { counts[request.text, default: 0] += 1 }
                return counts[request.text, default: 0]
            }
            guard request.text.hasPrefix("order"), turn < count else {
                return request.text == "wait" ? .silence : .response("ok")
            }
            return action
        }
    }

    @Test func `After the timeout of a connection that has fallen silent, the next request has a new one`() async throws
    {
        let server = try HTTP2Server(authority) { request in
            request.connection == 1 && request.stream > 1 ? .silence : .response("ok")
        }
        #expect(await ending(.get, "first", to: server) == nil)
        var silent = HTTPRequest(.get, server.url("/"))
        silent.timeout = .milliseconds(200)
        #expect(await transport.ending(of: silent) == .timeout)
        silent.timeout = .seconds(60)
        #expect(await transport.ending(of: silent) == nil)
        #expect(server.totalConnections == 2)
    }

    @Test @MainActor func `A response that a proxy server has lost ends as a lost connection, which is retried`()
        async throws
    {
        let server = try server(.interruption())
        #expect(await ending(.get, "order", to: server) == .connectionLost)
        #expect(server.totalConnections == 1)
        let service = APIService.sample {
            $0.baseURL = server.url("/")
            ($0.envelope, $0.retryPolicy) = (nil, RetryPolicy())
        }
        let proxy = APIProxy(service: service, transport: transport)
        let request = APIRequest<String>(
            "/",
            method: .put,
            params: ["order": 2],
            requestSerializer: .form,
            proxy: proxy
        )
        #expect(try await request.value() == "ok")
        #expect(server.requests.map(\.text) == ["order", "order=2", "order=2"])
    }

    /// Of RFC 9113 section 7; libcurl would send the request again after `REFUSED_STREAM` and `HTTP_1_1_REQUIRED`.
    @Test(arguments: UInt8(1)...13) func `A response whose stream is reset is lost, whatever the code`(_ code: UInt8)
        async throws
    {
        for method in [HTTPMethod.get, .post] {
            let server = try server(.interruption(code: code))
            #expect(await ending(method, "order", to: server) == .connectionLost)
        }
        let server = try server(.interruption(code: code))
        let folder = try TemporaryFolder()
        var request = HTTPRequest(.put, server.url("/"), body: .data(Data("order".utf8)))
        request.destination = .file(folder.file)
        #expect(await transport.ending(of: request) == .connectionLost)
    }

    // libcurl repeats a request on its own only after a reset.
    @Test(.fault(87), arguments: [HTTP2Server.Action.close, .reset], 0..<8)
    func `No text in a request makes libcurl send a POST twice when its connection is lost`(
        _ loss: HTTP2Server.Action,
        seed: UInt64
    ) async throws {
        let server = try server(loss)
        var random = SplitMix(seed: seed)
        for turn in 0..<rounds(12) {
            let planted = PlantedText(&random)
            #expect(await transport.ending(of: planted.request(.get, to: server, body: "")) == nil)
            let order = "order \(turn)"
            let post = planted.request(random.pick([.post, .patch]), to: server, body: order)
            #expect(await transport.ending(of: post) == .connectionLost, "\(planted)")
            #expect(server.requests.count { $0.text.hasPrefix(order) } == 1, "\(planted)")
        }
    }

    @Test(.fault(11), arguments: [HTTP2Server.Action.refusal, .departure], [HTTPMethod.post, .patch])
    func `A request that is not idempotent, and whose stream was refused, is lost and sent once`(
        _ action: HTTP2Server.Action,
        _ method: HTTPMethod
    ) async throws {
        let server = try server(action)
        #expect(await ending(.put, "", to: server) == nil)
        try await whileOneWaits(on: server) {
            let order = HTTPRequest(method, server.url("/"), body: .data(Data("order".utf8)))
            let error = await transport.error(of: order)
            #expect(error?.kind == .connectionLost)
            #expect(error?.reason == "the connection ended before a response began")
        }
        #expect(server.requests.count { $0.text == "order" } == 1)
        // On another connection after a GOAWAY.
        #expect(await ending(method, "order", to: server) == nil)
        #expect(server.requests.count { $0.text == "order" } == 2)
    }

    // libcurl does not rewind a body of which it has sent nothing.
    @Test(.fault(11), arguments: [1_000, 65_536, 200_000])
    func `A body of which something was read is sent whole after its stream was refused`(_ size: Int) async throws {
        let (isRead, turns) = (DispatchSemaphore(value: 0), Counter())
        let reading = HTTP2Server.Reading.whenTaken {
            guard turns.next() == 1 else { return true }
            isRead.wait()
            return false
        }
        let server = try HTTP2Server(authority, reading: reading) { _ in .response("ok") }
        // From now on, the client knows that there is no window at first.
        #expect(await transport.ending(of: HTTPRequest(.get, server.url("/"))) == nil)
        let body = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let request = HTTPRequest(.put, server.url("/"), body: .data(body))
        let response = try await transport.send(request) { _ in isRead.signal() }
        #expect(response.status == 200)
        #expect(server.requests.dropFirst().map { Data($0.body) } == [body])
    }

    // libcurl 7.88 repeats a request once after a GOAWAY.
    @Test(
        .fault(11),
        arguments: [(HTTP2Server.Action.refusal, 1), (.refusal, 2), (.refusal, 3), (.refusal, 4), (.departure, 1)],
        [HTTPMethod.get, .put, .delete]
    )
    func `An idempotent request is repeated as often as its stream is refused`(
        _ refused: (action: HTTP2Server.Action, count: Int),
        _ method: HTTPMethod
    ) async throws {
        let server = try server(refused.action, count: refused.count)
        #expect(await ending(.put, "", to: server) == nil)
        try await whileOneWaits(on: server) {
            #expect(await ending(method, "order", to: server) == nil)
        }
        #expect(server.requests.count { $0.text == "order" } == refused.count + 1)
    }

    @Test(
        .fault(11),
        arguments: [HTTP2Server.Action.refusal, .departure],
        [(HTTPMethod.get, nil, 2), (.post, TransportError.Kind.connectionLost, 1)]
    )
    func `Without a body, only an idempotent request is repeated when its stream was refused`(
        _ action: HTTP2Server.Action,
        _ expected: (method: HTTPMethod, ending: TransportError.Kind?, count: Int)
    ) async throws {
        let turns = Counter()
        let server = try HTTP2Server(authority) { request in
            guard request.text.isEmpty else { return request.text == "wait" ? .silence : .response("ok") }
            return turns.next() == 1 ? action : .response("ok")
        }
        #expect(await ending(.put, "first", to: server) == nil)
        try await whileOneWaits(on: server) {
            let request = HTTPRequest(expected.method, server.url("/"))
            #expect(await transport.ending(of: request) == expected.ending)
        }
        #expect(server.requests.count { $0.text.isEmpty } == expected.count)
    }

    @Test(.fault(11)) func `Many refused, lost and served requests send no POST twice`() async throws {
        let count = rounds(400)
        let random = Lock(SplitMix(seed: 11))
        let server = try HTTP2Server(authority) { _ in
            random.withLock {
                $0.pick([.response("ok"), .response("ok"), .response("ok"), .refusal, .departure, .close])
            }
        }
        var endings: [TransportError.Kind?] = []
        // Not all at once: each that has no response yet is lost with the connection that all share.
        for first in stride(from: 0, to: count, by: 10) {
            endings += await withTaskGroup(of: TransportError.Kind?.self) { group in
                for number in first..<(first + 10) {
                    group.addTask { await ending(number % 4 == 0 ? .put : .post, "\(number)", to: server) }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        let counts = server.requests.reduce(into: [:]) { $0[$1.text, default: 0] += 1 }
        #expect((0..<count).allSatisfy { $0 % 4 == 0 || counts["\($0)", default: 0] <= 1 })
        let errors = endings.compactMap(\.self)
        #expect(errors.allSatisfy { [.connectionLost, .cannotConnect].contains($0) })
        #expect(!errors.isEmpty && errors.count < count)
    }
}

/// Text that resembles libcurl's messages, in each part of a request.
private struct PlantedText {
    private static let texts = [
        "GOAWAY", "last_stream=0", "GOAWAY-last_stream=0", "received GOAWAY, error=0, last_stream=0",
        "recveived GOAWAY, error=0, last_stream=0", "Using Stream ID: 7fffffff (easy handle 0x55d)",
        "[HTTP/2] [2147483647] OPENED stream for https://localhost/", "* Connection #0 to host localhost left intact",
        "REFUSED_STREAM, retrying a fresh connect", "Connection died, retrying a fresh connect",
    ]

    private let texts: [String]

    init(_ random: inout SplitMix) {
        texts = (0..<5).map { _ in random.pick(["", random.pick(Self.texts), random.pick(Self.texts)]) }
    }

    func request(_ method: HTTPMethod, to server: HTTP2Server, body: String) -> HTTPRequest {
        let token = texts[0].filter { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "-" }
        let path = texts[1].addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? ""
        let query = texts[2].addingPercentEncoding(withAllowedCharacters: .urlQueryAllowed) ?? ""
        return HTTPRequest(
            method,
            server.url("/\(path)?q=\(query)"),
            headers: ["X-\(token)a": texts[3], "Cookie": "theme=\(texts[4])", "User-Agent": texts[3]],
            body: body.isEmpty ? .empty : .data(Data((body + texts[4]).utf8))
        )
    }
}

extension SplitMix {
    fileprivate mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &self)]
    }
}
#endif
