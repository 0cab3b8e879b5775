import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("What counts from the head of a response on", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct ResponseHeadTests {
    /// How the rest of a response gets lost.
    enum Loss: CaseIterable {
        case cut, cutChunk, silent, damaged, tooLarge, cancelled

        func response(_ status: Int = 200) -> Response {
            let head = "HTTP/1.1 \(status) Status\r\nSet-Cookie: sid=new; Path=/\r\n"
            return switch self {
            case .cut: .script(.write(head + "Content-Length: 10\r\n\r\nabc"), .close)
            case .cutChunk: .script(.write(head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"), .close)
            case .silent, .cancelled: .script(.write(head + "Content-Length: 10\r\n\r\nabc"), .hang)
            case .damaged: .script(.write(head + "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"))
            case .tooLarge: .script(.write(head + "Content-Length: 100\r\n\r\n" + String(repeating: "a", count: 100)))
            }
        }

        func change(_ service: inout APIService) {
            service.limits.bodyBytes = 50
            if self == .silent { service.timeout = .milliseconds(300) }
        }
    }

    private let cookies = CookieJar(trustworthyLoopback: true)
    private var ids: [String] { cookies.cookies.map(\.value) }

    private func proxy(
        _ kind: TransportKind,
        to server: FixtureServer,
        _ change: (inout APIService) -> Void = { _ in }
    ) throws -> APIProxy {
        var service = APIService(baseURL: server.baseURL)
        (service.envelope, service.failureReader, service.retryPolicy) = (nil, nil, .never)
        change(&service)
        return APIProxy(service: service, transport: try kind.make(), cookies: cookies)
    }

    @Test(arguments: TransportKind.allCases, Loss.allCases)
    func `Its cookies are stored although its body is lost`(_ kind: TransportKind, _ loss: Loss) async throws {
        let server = try FixtureServer.start { _ in loss.response() }
        let request = APIRequest<String>("/", proxy: try proxy(kind, to: server, loss.change))
        request.loadData()
        if loss == .cancelled {
            await suspend(while: ids.isEmpty)
            request.cancelAllRequests()
        }
        await request.waitUntilIdle()
        #expect((request.error == nil) == (loss == .cancelled))
        #expect(ids == ["new"])
    }

    @Test(arguments: TransportKind.allCases)
    func `Its cookies do not replace those of a newer response, however late its body ends`(
        _ kind: TransportKind
    ) async throws {
        let end = Gate()
        let server = try FixtureServer.start { request in
            guard request.path == "/slow" else { return .text("", headers: ["Set-Cookie": "sid=new; Path=/"]) }
            let head = "HTTP/1.1 200 OK\r\nSet-Cookie: sid=old; Path=/\r\nContent-Length: 2\r\n\r\n"
            return .script(.write(head + "a"), .pass(end), .write("b"))
        }
        let proxy = try proxy(kind, to: server)
        let slow = APIRequest<String>("/slow", proxy: proxy)
        slow.loadData()
        await suspend(while: ids.isEmpty)
        _ = try await APIRequest<String>("/fast", proxy: proxy).value()
        #expect(ids == ["new"])
        end.open()
        await slow.waitUntilIdle()
        #expect(slow.content as? String == "ab")
        #expect(ids == ["new"])
    }

    @Test func `The cookies of a refused login do not replace those of the next one, although its body ends later`()
        async throws
    {
        let end = Gate()
        let server = try FixtureServer.start { request in
            guard request.path == "/slow" else { return .text("", headers: ["Set-Cookie": "sid=new; Path=/"]) }
            let head = "HTTP/1.1 401 Unauthorized\r\nSet-Cookie: sid=; Max-Age=0; Path=/\r\nContent-Length: 2\r\n\r\n"
            return .script(.write(head + "a"), .pass(end), .write("b"))
        }
        cookies.store(setCookie: "sid=old; Path=/", from: server.baseURL)
        let proxy = try proxy(TransportKind.allCases.last ?? .urlSession, to: server)
        let slow = APIRequest<String>("/slow", proxy: proxy)
        slow.loadData()
        await suspend(while: !ids.isEmpty)
        _ = try await APIRequest<String>("/login", proxy: proxy).value()
        end.open()
        await slow.waitUntilIdle()
        #expect(slow.error?.type == .loginExpired)
        #expect(ids == ["new"])
    }

    /// Sends over another transport, and changes what that returns.
    private struct Wrapper: HTTPTransport {
        let inner: any HTTPTransport
        let line: String?

        func send(
            _ request: HTTPRequest,
            progress: TransferProgress.Handler?
        ) async throws(TransportError) -> HTTPResponse {
            var response = try await inner.send(request, progress: progress)
            response.headers["Set-Cookie"] = line
            return response
        }
    }

    @Test(arguments: TransportKind.allCases, [nil, "sid=wrapped; Path=/"])
    func `The cookies are those of what a transport returns that wraps another one`(
        _ kind: TransportKind,
        _ line: String?
    ) async throws {
        let server = try FixtureServer.start { _ in .text("", headers: ["Set-Cookie": "sid=own; Path=/"]) }
        let transport = Wrapper(inner: try kind.make(), line: line)
        var service = APIService(baseURL: server.baseURL)
        service.envelope = nil
        let proxy = APIProxy(service: service, transport: transport, cookies: cookies)
        _ = try await APIRequest<String>("/", proxy: proxy).value()
        #expect(ids == (line == nil ? [] : ["wrapped"]))
    }

    @Test func `A request that is kept does not store cookies`() async throws {
        let server = try FixtureServer.start { _ in .text("", headers: ["Set-Cookie": "sid=own; Path=/"]) }
        let monitor = EventRecorder()
        let proxy = try proxy(TransportKind.allCases.last ?? .urlSession, to: server)
        proxy.monitors.append(monitor)
        _ = try await APIRequest<String>("/", proxy: proxy).value()
        let kept = monitor.events.compactMap { event in
            if case .requestMade(let request) = event.kind { request } else { nil }
        }
        #expect(kept.count == 1 && kept[0].didReceiveHead == nil)
    }

    // MARK: Changes

    enum Change: CaseIterable {
        case cut, silent, cancelled, redirectedToNothing, redirectedAndCut, redirectedElsewhere

        func response(to path: String) -> Response {
            guard path == "/goods" else { return .script(.close) }
            switch self {
            case .cut: return Loss.cut.response()
            case .silent: return Loss.silent.response(201)
            case .cancelled: return Loss.cancelled.response()
            case .redirectedToNothing: return .status(303, headers: ["Location": "http://127.0.0.1:9/"])
            case .redirectedAndCut: return .status(303, headers: ["Location": "/done"])
            case .redirectedElsewhere: return .status(303, headers: ["Location": "ftp://127.0.0.1/"])
            }
        }
    }

    @Test(arguments: Change.allCases)
    func `What a change has made out of date is not used, although the rest of its response is lost`(
        _ change: Change
    ) async throws {
        let scene = try CacheRuleScene { request, number in
            request.method == "GET" && request.path == "/goods"
                ? CacheRuleScene.version(number) : change.response(to: request.path)
        }
        #expect(await scene.load() == "v1 network")
        #expect(await scene.load() == "v1 cache")
        if change == .silent { scene.service.timeout = .milliseconds(300) }
        let request = scene.request(method: .post)
        request.loadData()
        if change == .cancelled {
            await suspend(while: scene.proxy.cookies.cookies.isEmpty)
            request.cancelAllRequests()
        }
        await request.waitUntilIdle()
        #expect((request.error == nil) == (change == .cancelled))
        var text = await scene.load()
        // A cancelled load ends before its exchange.
        while change == .cancelled, text.hasSuffix(" cache") { text = await scene.load() }
        #expect(text.hasSuffix(" network"))
    }

    @Test func `What a change has made out of date is not used while the body of its response arrives`() async throws {
        let end = Gate()
        let scene = try CacheRuleScene { request, number in
            guard request.method == "POST" else { return CacheRuleScene.version(number) }
            let head = "HTTP/1.1 200 OK\r\nSet-Cookie: sid=new; Path=/\r\nContent-Length: 2\r\n\r\n"
            return .script(.write(head + "a"), .pass(end), .write("b"))
        }
        #expect(await scene.load() == "v1 network")
        let change = scene.request(method: .post)
        change.loadData()
        await suspend(while: scene.proxy.cookies.cookies.isEmpty)
        #expect(await scene.load() == "v3 network")
        end.open()
        await change.waitUntilIdle()
        #expect(change.content as? String == "ab")
    }

    @Test func `Nor is it used where a transport wraps another one`() async throws {
        let wrapper = Wrapper(inner: try TransportKind.allCases.last?.make() ?? SystemTransport(), line: nil)
        let scene = try CacheRuleScene(transport: wrapper) { request, number in
            request.method == "POST" ? Loss.cut.response() : CacheRuleScene.version(number)
        }
        #expect(await scene.load() == "v1 network")
        #expect(await scene.load(method: .post).hasPrefix("transport"))
        #expect(await scene.load() == "v3 network")
    }

    @Test func `The response to a change may be stored as that of its address`() async throws {
        let scene = try CacheRuleScene { request, number in
            request.method == "POST"
                ? CacheRuleScene.version(number, "max-age=60", ["Content-Location": "/goods"])
                : CacheRuleScene.version(number)
        }
        #expect(await scene.load() == "v1 network")
        #expect(await scene.load(method: .post) == "v2 network")
        #expect(await scene.load() == "v2 cache")
    }

    @Test(arguments: [true, false])
    func `A change without a response, or with an error, leaves what is stored`(_ isLost: Bool) async throws {
        let scene = try CacheRuleScene { request, number in
            guard request.method == "POST" else { return CacheRuleScene.version(number) }
            return isLost ? .script(.close) : Loss.cut.response(404)
        }
        #expect(await scene.load() == "v1 network")
        _ = await scene.load(method: .post)
        #expect(await scene.load() == "v1 cache")
    }

    @Test(
        arguments: [CachePolicy.http, .time(.seconds(60))],
        [(isFirst: false, isSecond: false), (true, false), (false, true), (true, true)]
    )
    func `A response that was requested earlier does not replace what is stored`(
        _ policy: CachePolicy,
        _ varies: (isFirst: Bool, isSecond: Bool)
    ) async throws {
        let end = Gate()
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n"
            + (varies.isFirst ? "Vary: X-Color\r\n\r\n" : "\r\n")
        let scene = try CacheRuleScene { _, number in
            number > 1
                ? CacheRuleScene.version(number, "max-age=60", varies.isSecond ? ["Vary": "X-Color"] : [:])
                : .script(.write(head + "v"), .pass(end), .write("1"))
        }
        let slow = scene.request(policy)
        slow.loadData()
        #expect(await scene.server.waitForTotalRequests(1))
        scene.clock.advance(by: .seconds(1))
        #expect(await scene.load(policy) == "v2 network")
        end.open()
        await slow.waitUntilIdle()
        #expect(slow.content as? String == "v1")
        #expect(await scene.load(policy) == "v2 cache")
    }

    @Test func `A response is as old as its request, however long that has queued`() async throws {
        let gate = Gate()
        let scene = try CacheRuleScene(limits: QueueLimits(perHost: 1)) { request, number in
            request.path == "/slow" ? Response.text("").preceded(by: .pass(gate)) : CacheRuleScene.version(number)
        }
        let slow = scene.request(.http, "/slow")
        slow.loadData()
        #expect(await scene.server.waitForTotalRequests(1))
        let queued = scene.request { $0.coalescesIdentical = true }
        queued.loadData()
        await suspend(while: scene.proxy.queuedCount < 1)
        scene.clock.advance(by: .seconds(1))
        let first = scene.request { $0.priority = .userInitiated }
        first.loadData()
        await suspend(while: scene.proxy.queuedCount < 2)
        gate.open()
        for request in [first, queued] { await request.waitUntilIdle() }
        #expect([first, queued].map { $0.content as? String } == ["v2", "v3"])
        #expect(await scene.load() == "v3 cache")
    }
}
