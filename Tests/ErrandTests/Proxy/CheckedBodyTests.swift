import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("A body whose beginning is checked", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(5)))
struct CheckedBodyTests {
    /// Counts its calls; refuses what begins with `bad`, and needs three bytes to know.
    private final class Check: Sendable {
        private let sizes = Lock<[Int]>([])
        /// The number of bytes of each call.
        var calls: [Int] { sizes.withLock(\.self) }

        var serializer: ResponseSerializer<String> {
            ResponseSerializer { [self] bytes throws(APIError) in
                sizes.withLock { $0.append(bytes.count) }
                guard bytes.count >= 3 else { return 3 }
                guard !bytes.starts(with: "bad".utf8) else { throw APIError(.decoding, reason: "it is bad") }
                return nil
            } _: { response, _ in
                String(decoding: response.body, as: UTF8.self)
            }
        }
    }

    private let check = Check()

    private func proxy(
        _ server: FixtureServer,
        _ kind: TransportKind,
        monitors: [any APIMonitor] = [],
        cache: APICache? = nil,
        service change: (inout APIService) -> Void = { _ in }
    ) throws -> APIProxy {
        var service = APIService(baseURL: server.baseURL)
        change(&service)
        return APIProxy(service: service, transport: try kind.make(), monitors: monitors, cache: cache)
    }

    private func request(
        _ proxy: APIProxy,
        _ path: String = "/",
        headers: HTTPHeaders = [:],
        options: APIRequestOptions = APIRequestOptions()
    ) -> APIRequest<String> {
        APIRequest(path, headers: headers, responseSerializer: check.serializer, options: options, proxy: proxy)
    }

    /// The beginning of a response whose rest waits at the gate.
    private nonisolated static func held(_ text: String, _ gate: Gate, _ headers: HeaderLines = [:]) -> Response {
        Response(status: 200, headers: headers + ["Transfer-Encoding": "chunked"], steps: [])
            .followed(by: .chunk(Array(text.utf8)), .pass(gate), .chunk(Array("rest".utf8)), .lastChunk())
    }

    @Test(arguments: TransportKind.allCases)
    func `A refused beginning ends the load while the server holds the rest`(_ kind: TransportKind) async throws {
        let gate = Gate()
        defer { gate.open() }
        let server = try FixtureServer.start { _ in Self.held("bad...", gate) }
        let events = EventRecorder()
        let proxy = try proxy(server, kind, monitors: [events])
        let request = request(proxy)
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .decoding && error?.reason == "it is bad")
        #expect(error?.requestID != nil && error?.path == "/")
        #expect(await server.waitForOpenConnections(0))
        // By default, a load is sent again after a lost connection, and not after this.
        #expect(server.totalRequests == 1)
        #expect(check.calls.last == 6)
        #expect(events.violations == [] && events.ended == 1)
        #expect(events.steps().suffix(2) == ["failed decoding", "failure decoding"])
        #expect(request.error?.type == .decoding)
    }

    @Test(arguments: TransportKind.allCases)
    func `An accepted body arrives whole, and is whole for monitors and in rawResponse`(_ kind: TransportKind)
        async throws
    {
        let body = "good" + String(repeating: "0123456789", count: 30_000)
        let server = try FixtureServer.start { request in
            request.path == "/chunked"
                ? .chunked([Array(body.utf8.prefix(1)), Array(body.utf8.dropFirst())]) : .text(body)
        }
        let events = EventRecorder()
        let proxy = try proxy(server, kind, monitors: [events])
        for path in ["/", "/chunked"] {
            let request = request(proxy, path)
            #expect(try await request.value() == body)
            #expect(request.rawResponse?.text == body)
            #expect(request.rawResponse?.isStreamed == false)
        }
        let received = events.events.compactMap { event in
            if case .responded(let response) = event.kind { response.body.count } else { nil }
        }
        #expect(received == [body.utf8.count, body.utf8.count])
        #expect(events.violations == [])
    }

    @Test(arguments: TransportKind.allCases)
    func `Each call of the check has the bytes that it has asked for`(_ kind: TransportKind) async throws {
        let (gate, second) = (Gate(), Gate())
        let server = try FixtureServer.start { _ in
            Response(status: 200, headers: ["Transfer-Encoding": "chunked"], steps: [])
                .followed(
                    by: .chunk(Array("go".utf8)),
                    .pass(gate),
                    .chunk(Array("od".utf8)),
                    .pass(second),
                    .chunk(Array("!".utf8)),
                    .lastChunk()
                )
        }
        let proxy = try proxy(server, kind)
        let request = request(proxy)
        let load = Task { try await request.value() }
        await suspend(while: check.calls.isEmpty)
        gate.open()
        await suspend(while: check.calls.count < 2)
        second.open()
        #expect(try await load.value == "good!")
        #expect(check.calls == [2, 4])
    }

    @Test(arguments: TransportKind.allCases)
    func `With a response adapter, nothing is refused early`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .text("bad") }
        let proxy = try proxy(server, kind) { service in
            service.adapters.response.append(Adapter { response, _ in response.body = Data("opened".utf8) })
        }
        #expect(try await request(proxy).value() == "opened")
        #expect(check.calls == [])
        let plain = try self.proxy(server, kind)
        let options = APIRequestOptions(
            adapters: Adapters(response: [Adapter { response, _ in response.body = Data("own".utf8) }])
        )
        #expect(try await request(plain, "/", options: options).value() == "own")
        #expect(check.calls == [])
    }

    @Test(arguments: TransportKind.allCases)
    func `A coded body is checked as it is decoded`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { request in
            .gzip(Array((request.path == "/bad" ? "bad" : "good").utf8), headers: ["Content-Type": "text/plain"])
        }
        let proxy = try proxy(server, kind)
        #expect(try await request(proxy, "/good").value() == "good")
        #expect(await request(proxy, "/bad").outcome() == .decoding)
        #expect(check.calls.allSatisfy { $0 <= 4 })
    }

    @Test(arguments: TransportKind.allCases)
    func `A part and a failed status are not checked`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { request in
            switch request.path {
            case "/part": .text("bad part", status: 206, headers: ["Content-Range": "bytes 5-12/20"])
            case "/created": .text("bad", status: 201)
            case "/204": .status(204)
            default: .text("bad", status: 404)
            }
        }
        let proxy = try proxy(server, kind)
        #expect(try await request(proxy, "/part", headers: ["Range": "bytes=5-12"]).value() == "bad part")
        #expect(await request(proxy, "/404").outcome() == .http)
        #expect(check.calls == [])
        #expect(try await request(proxy, "/204").value() == "")
        #expect(await request(proxy, "/created").outcome() == .decoding)
    }

    @Test(arguments: TransportKind.allCases)
    func `The body of a redirect is not checked, the one behind it is`(_ kind: TransportKind) async throws {
        let gate = Gate()
        defer { gate.open() }
        let server = try FixtureServer.start { request in
            switch request.path {
            case "/1": .text("bad redirect", status: 302, headers: ["Location": "/2"])
            case "/2": .text("bad again", status: 307, headers: ["Location": request.query == "bad" ? "/bad" : "/good"])
            case "/good": .text("good")
            default: Self.held("bad", gate)
            }
        }
        let proxy = try proxy(server, kind)
        let good = request(proxy, "/1")
        #expect(try await good.value() == "good")
        #expect(good.rawResponse?.redirects.count == 2)
        #expect(check.calls == [4])
        #expect(await request(proxy, "/2?bad").outcome() == .decoding)
    }

    @Test(arguments: TransportKind.allCases)
    func `A body beyond the limit of the service is refused, known or not`(_ kind: TransportKind) async throws {
        let gate = Gate()
        defer { gate.open() }
        let server = try FixtureServer.start { request in
            switch request.path {
            case "/known": Response(status: 200, headers: ["Content-Length": "1001"], steps: [.pass(gate)])
            case "/gzip": .gzip([UInt8](repeating: 65, count: 1001))
            case "/fits": .text(String(repeating: "A", count: 1000))
            default: Self.held(String(repeating: "A", count: 1001), gate)
            }
        }
        let proxy = try proxy(server, kind) { $0.limits.bodyBytes = 1000 }
        for path in ["/known", "/chunked", "/gzip"] {
            #expect(await request(proxy, path).outcome() == .responseTooLarge, "\(path)")
        }
        #expect(try await request(proxy, "/fits").value().utf8.count == 1000)
        #expect(server.totalRequests == 4)
    }

    @Test(arguments: TransportKind.allCases)
    func `A lost connection after an accepted beginning is a lost connection, and is tried again`(
        _ kind: TransportKind
    ) async throws {
        let count = Counter()
        let server = try FixtureServer.start { _ in
            guard count.next() == 1 else { return .text("good, whole") }
            return Response(status: 200, headers: ["Content-Length": "11"], steps: [.write("good"), .close])
        }
        let request = request(try proxy(server, kind))
        #expect(try await request.value() == "good, whole")
        #expect(server.totalRequests == 2)
        #expect(check.calls.contains(11))
    }

    @Test(arguments: TransportKind.allCases)
    func `A cancel while the body arrives closes the connection`(_ kind: TransportKind) async throws {
        let gate = Gate()
        defer { gate.open() }
        let server = try FixtureServer.start { _ in Self.held("good", gate) }
        let proxy = try proxy(server, kind)
        let request = request(proxy)
        let load = Task { await request.outcome() }
        await suspend(while: check.calls.isEmpty)
        load.cancel()
        #expect(await load.value == .cancelled)
        #expect(await server.waitForOpenConnections(0))
    }

    @Test(arguments: TransportKind.allCases)
    func `A checked response is stored, and checked once`(_ kind: TransportKind) async throws {
        let folder = try TemporaryFolder()
        let server = try FixtureServer.start { request in
            request.header("If-None-Match") == nil
                ? .text(
                    "good",
                    headers: ["ETag": #""1""#, "Cache-Control": request.path == "/old" ? "no-cache" : "max-age=60"]
                )
                : .status(304)
        }
        let cache = APICache(folder: folder.url.appending(path: "cache"))
        let proxy = try proxy(server, kind, cache: cache)
        for path in ["/fresh", "/old"] {
            let calls = check.calls.count
            let request = request(proxy, path)
            #expect(try await request.value() == "good")
            #expect(try await request.value() == "good")
            #expect(request.rawResponse?.source == (path == "/old" ? .validated : .cache))
            #expect(request.rawResponse?.text == "good")
            #expect(check.calls.count == calls + 1)
        }
        #expect(server.totalRequests == 3)
    }

    @Test func `A refused response is not stored`() async throws {
        let folder = try TemporaryFolder()
        let server = try FixtureServer.start { _ in .text("bad", headers: ["Cache-Control": "max-age=60"]) }
        let cache = APICache(folder: folder.url.appending(path: "cache"))
        let proxy = try proxy(server, .allCases[0], cache: cache)
        for _ in 0..<2 { #expect(await request(proxy).outcome() == .decoding) }
        #expect(server.totalRequests == 2)
        let options = APIRequestOptions(cachePolicy: .onlyIfCached)
        #expect(await request(proxy, "/", options: options).outcome() == .http)
    }

    @Test func `A scripted response is whole, and read by the serializer alone`() async throws {
        let transport = ScriptedTransport { request in
            guard request.url.lastPathComponent == "stream" else {
                return HTTPResponse(status: 200, body: Data("bad".utf8))
            }
            return .stream {
                AsyncStream<Data> { continuation in
                    for text in ["g", "ood", "!"] { continuation.yield(Data(text.utf8)) }
                    continuation.finish()
                }
            }
        }
        let proxy = APIProxy(fake: transport)
        #expect(try await request(proxy, "/body").value() == "bad")
        #expect(check.calls == [])
        let streamed = request(proxy, "/stream")
        #expect(try await streamed.value() == "good!")
        #expect(streamed.rawResponse?.text == "good!")
        #expect(check.calls == [1, 4])
    }

    /// A transport of an app, which knows nothing of sinks.
    private struct PlainTransport: HTTPTransport {
        func send(_ request: HTTPRequest, progress: TransferProgress.Handler?) async throws(TransportError)
            -> HTTPResponse
        {
            HTTPResponse(status: 200, body: Data("bad, but whole".utf8))
        }
    }

    @Test func `A transport that ignores the check returns the whole body`() async throws {
        let proxy = APIProxy(service: .sample(), transport: PlainTransport())
        let request = request(proxy)
        #expect(try await request.value() == "bad, but whole")
        #expect(request.rawResponse?.text == "bad, but whole")
    }

    /// A transport that fails with an error of the library's own type underneath, of a token for example.
    private struct FailingTransport: HTTPTransport {
        func send(_ request: HTTPRequest, progress: TransferProgress.Handler?) async throws(TransportError)
            -> HTTPResponse
        {
            throw TransportError(.connectionLost, "no token", underlying: APIError(.loginExpired))
        }
    }

    @Test(arguments: [false, true])
    func `Only the check decides the type of an error`(_ isChecked: Bool) async throws {
        let account = Account()
        let service = APIService.sample { $0.reloginHandler = account }
        let proxy = APIProxy(service: service, transport: FailingTransport())
        if isChecked {
            #expect(await request(proxy).outcome() == .transport)
        } else {
            #expect(await APIRequest<String>("/", proxy: proxy).outcome() == .transport)
        }
        #expect(account.logins == 0)
        withExtendedLifetime(account) {}
    }

    @Test func `An upload whose stream fails with an APIError fails as before`() async throws {
        let transport = ScriptedTransport { _ in .json(#"{"errcode":200}"#) }
        let proxy = APIProxy(fake: transport)
        let body = HTTPBody.stream {
            AsyncThrowingStream<Data, any Error> { $0.finish(throwing: APIError(.loginExpired)) }
        }
        let error = await #expect(throws: APIError.self) {
            try await proxy.send(HTTPRequest(.post, URL("http://shop.test/"), body: body))
        }
        #expect(error?.type != .loginExpired)
    }

    @Test(arguments: TransportKind.allCases)
    func `Loads that share an exchange read the whole body, and nothing is refused early`(_ kind: TransportKind)
        async throws
    {
        let gate = Gate()
        defer { gate.open() }
        let server = try FixtureServer.start { _ in Self.held("bad", gate) }
        let proxy = try proxy(server, kind)
        let options = APIRequestOptions(coalescesIdentical: true)
        let (one, other) = (request(proxy, "/", options: options), request(proxy, "/", options: options))
        async let first = one.outcome()
        async let second = other.outcome()
        await suspend(while: proxy.sharedLoadCount < 2)
        #expect(await server.waitForTotalRequests(1))
        gate.open()
        let outcomes = await [first, second]
        #expect(outcomes == [nil, nil])
        #expect(one.rawResponse?.text == "badrest" && other.rawResponse?.text == "badrest")
        #expect(check.calls == [])
        #expect(server.totalRequests == 1)
    }
}
