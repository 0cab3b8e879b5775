import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("A request that streams over a socket", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct StreamLiveTests {
    private let screen = Screen()

    private func proxy(_ server: FixtureServer, _ kind: TransportKind) throws -> APIProxy {
        APIProxy(service: .sample { $0.baseURL = server.baseURL }, transport: try kind.make())
    }

    @Test(arguments: TransportKind.allCases)
    func `An event stream whose connection the server drops continues with the last ID`(_ kind: TransportKind)
        async throws
    {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        let server = try FixtureServer.start { request in
            switch request.header("Last-Event-ID") {
            case nil: .script(.write(head), .write("retry: 1\nid: 1\ndata: a\n\ndata: lost"), .close)
            case "1": .script(.write(head), .write("id: 2\ndata: b\n\n"), .close)
            default: .status(204)
            }
        }
        let request = EventStream(delegate: screen, proxy: try proxy(server, kind))
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(request.elements.map(\.data) == ["a", "b"])
        #expect(server.requests.map { $0.header("Last-Event-ID") } == [nil, "1", "2"])
    }

    @Test(arguments: TransportKind.allCases)
    func `The cookies of a stream are those of later requests as soon as it has begun`(_ kind: TransportKind)
        async throws
    {
        let isLost = Gate()
        let server = try FixtureServer.start { request in
            guard request.path == "/events" else { return .text("other") }
            guard request.header("Last-Event-ID") == nil else { return .status(204) }
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nSet-Cookie: sid=1\r\n\r\n"
            return .script(.write(head), .write("retry: 1\nid: 1\ndata: a\n\n"), .pass(isLost), .reset)
        }
        let proxy = try proxy(server, kind)
        let request = EventStream(delegate: screen, proxy: proxy)
        request.loadData()
        await suspend(while: request.elements.isEmpty)
        _ = try await proxy.send(HTTPRequest(.get, server.url("/other")))
        isLost.open()
        #expect(await screen.ending() == .success)
        #expect(server.requests.map { $0.header("Cookie") } == [nil, "sid=1", "sid=1"])
    }

    @Test(arguments: TransportKind.allCases)
    func `The end of a stream sets no cookie back that has changed since its beginning`(_ kind: TransportKind)
        async throws
    {
        let isEnding = Gate()
        let server = try FixtureServer.start { request in
            guard request.path == "/lines" else { return .bytes([], headers: ["Set-Cookie": "sid=2"]) }
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nSet-Cookie: sid=1\r\n\r\n"
            return .script(.write(head), .write("one\n"), .pass(isEnding), .write("two\n"))
        }
        let proxy = try proxy(server, kind)
        let request = LineStream(delegate: screen, proxy: proxy)
        request.path = "/lines"
        request.loadData()
        await suspend(while: request.elements.isEmpty)
        _ = try await proxy.send(HTTPRequest(.get, server.url("/other")))
        isEnding.open()
        #expect(await screen.ending() == .success)
        #expect(proxy.cookies.cookies.map(\.value) == ["2"])
    }

    @Test(arguments: TransportKind.allCases) func `A stream sends a body`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in
            .chunked(
                ["data: Er\n\ndata:", " rand\n\n"].map { Array($0.utf8) },
                headers: ["Content-Type": "text/event-stream"]
            )
        }
        let request = EventStream(proxy: try proxy(server, kind))
        request.method = .post
        var text = ""
        for try await event in request.elements(params: ["prompt": "name"]) { text += event.data }
        #expect(text == "Errand")
        #expect(try await server.takeRequest().body == Array(#"{"prompt":"name"}"#.utf8))
    }

    #if os(Linux)
    @Test(.fault(121)) func `A script that reads slowly slows the server down`() async throws {
        let length: Int64 = 64 << 20
        let isSent = Gate()
        let server = try FixtureServer.start { request in
            guard request.path == "/events" else { return .text("other") }
            let head = "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n"
            return .script(.write(head), .stream(.counting(length), 0..<length), .open(isSent))
        }
        let proxy = try proxy(server, .curl)
        let numbers = Data((0..<ResponseStream.window + 65_536 + 256).map(UInt8.init(truncatingIfNeeded:)))
        var count: Int64 = 0
        for try await part in DataStream(proxy: proxy).elements() {
            if count == 0 {
                // As many exchanges as would read all of it.
                for _ in 0..<50 { _ = try await proxy.send(HTTPRequest(.get, server.url("/other"))) }
                #expect(!isSent.isOpen)
            }
            #expect(part == numbers.dropFirst(Int(count % 256)).prefix(part.count))
            count += Int64(part.count)
            #expect(part.count < ResponseStream.window + 65_536)
        }
        #expect(count == length)
    }
    #endif

    @Test(arguments: TransportKind.allCases)
    func `Streams that are cancelled at random instants end once, and no element follows`(_ kind: TransportKind)
        async throws
    {
        let server = try FixtureServer.start { _ in
            .chunked((0..<50).map { Array("\($0)\n".utf8) })
        }
        let proxy = try proxy(server, kind)
        var random = SplitMix(seed: 77)
        var (requests, cancelled): ([LineStream], Int) = ([], 0)
        let endings = EndingCounter()
        for number in 0..<150 {
            let request = LineStream(delegate: endings, proxy: proxy)
            requests.append(request)
            let id = request.loadData()
            for _ in 0..<Int.random(in: 0..<30, using: &random) { await Task.yield() }
            if number % 3 > 0, proxy.cancelRequest(id) { cancelled += 1 }
        }
        await suspend(while: endings.count < requests.count)
        await sentinel(proxy)
        #expect(endings.endings.values.allSatisfy { $0 == 1 })
        #expect(endings.late == 0)
        #expect(endings.endings.count == 150)
        // At least the third that is not cancelled.
        #expect(requests.count { $0.isSuccess } == 150 - cancelled)
        for request in requests where request.isSuccess { #expect(request.elements == (0..<50).map(String.init)) }
        #expect(proxy.activeRequests.isEmpty)
    }

    @Test(.fault(125), arguments: TransportKind.allCases) func `A thousand streams that are cancelled end once each`(
        _ kind: TransportKind
    ) async throws {
        let server = try FixtureServer.start { _ in
            .script(.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"), .write("one\n"), .hang)
        }
        let proxy = try proxy(server, kind)
        let endings = EndingCounter()
        let requests = (0..<1_000).map { _ in LineStream(delegate: endings, proxy: proxy) }
        for request in requests { request.loadData() }
        await suspend(while: requests.filter { !$0.elements.isEmpty }.count < 6)
        proxy.cancelAllRequests()
        await suspend(while: endings.count < requests.count)
        await sentinel(proxy)
        #expect(endings.endings.count == 1_000)
        #expect(endings.endings.values.allSatisfy { $0 == 1 })
        #expect(endings.late == 0)
        await suspend(while: server.openConnections > 0)
    }

    @Test(
        .enabled(if: SharedData.eventSource.exists, "the web platform tests are not here"),
        arguments: TransportKind.allCases
    ) func `Redirects and cookies of the web platform tests lead to their events`(_ kind: TransportKind) async throws {
        let script = String(decoding: try SharedData.eventSource.bytes("request-redirect.any.window.js"), as: UTF8.self)
        let statuses = script.matches(of: /redirectTest\("(\d+)"\)/).compactMap { Int($0.1) }
        #expect(statuses == [301, 302, 303, 307])
        // resources/cors-cookie.py.
        let server = try FixtureServer.start { request in
            if let status = request.queryValue("status").flatMap({ Int($0) }) {
                return Response(status: status, headers: ["Location": "/cookies", "Content-Length": "0"], steps: [])
            }
            let cookie = request.header("Cookie") == nil ? "NO_COOKIE" : "COOKIE"
            let type: HeaderLines = ["Content-Type": "text/event-stream"]
            switch request.header("Last-Event-ID") {
            case nil:
                let text = "id: 1\nretry: 1\ndata: first \(cookie)\n\n"
                return .bytes(Array(text.utf8), headers: type + ["Set-Cookie": "ident=COOKIE"])
            case "1": return .bytes(Array("id: 2\ndata: second \(cookie)\n\n".utf8), headers: type)
            default: return .bytes([], headers: ["Content-Type": "stop"])
            }
        }
        for status in statuses {
            let request = EventStream(delegate: screen, proxy: try proxy(server, kind))
            request.path = "/start"
            request.loadData(params: ["status": status])
            #expect(await screen.ending() == .failure(.transport))
            #expect(request.elements.map(\.data) == ["first NO_COOKIE", "second COOKIE"])
        }
    }

    /// Counts the endings of each load, and the elements after one.
    private final class EndingCounter: APIManagerCallbackDelegate {
        var endings: [RequestID: Int] = [:]
        var late = 0
        var count: Int { endings.values.reduce(0, +) }

        func managerCallAPIDidReceiveElements(_ request: BaseAPIRequest) { if !request.isLoading { late += 1 } }
        func managerCallAPIDidSucceed(_ request: BaseAPIRequest) { end(request) }
        func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) { end(request) }
        func managerCallAPIDidCancel(_ request: BaseAPIRequest) { end(request) }

        private func end(_ request: BaseAPIRequest) {
            if let id = request.newestEndedID { endings[id, default: 0] += 1 }
        }
    }
}
