import ErrandTesting
import FixtureServer
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@Suite("One request on the wire, with its redirects and cookies", .hangLimit, .timeLimit(.minutes(10)))
struct ExchangeTests {
    private static let url = URL("http://shop.test/api/photo")

    private func exchange(
        _ script: @escaping ScriptedTransport.Script,
        id: RequestID? = nil,
        cookies: CookieJar = CookieJar()
    ) -> (exchange: (HTTPRequest) -> Exchange, transport: ScriptedTransport, loads: LoadTable) {
        let transport = ScriptedTransport(script)
        let context = APIProxy.sample(transport)
        if let id { context.loads.insert(.sample(id)) }
        let exchange = {
            Exchange($0, id: id, session: CookieSession(cookies, clock: context.clock), proxy: context, trace: nil)
        }
        return (exchange, transport, context.loads)
    }

    private func download(to file: URL) -> HTTPRequest {
        var request = HTTPRequest(.get, Self.url)
        request.destination = .file(file)
        return request
    }

    @Test func `Each request of a chain has the cookies of its URL, those of the response before included`()
        async throws
    {
        let cookies = CookieJar()
        let (exchange, transport, _) = exchange(
            { request in
                guard request.url.path == "/api/photo" else { return .json("{}") }
                return .status(302, headers: ["Location": "/next", "Set-Cookie": "step=1; Path=/next"])
            },
            cookies: cookies
        )
        cookies.store(setCookie: "sid=7; Path=/", from: Self.url)
        let response = try await exchange(HTTPRequest(.get, Self.url)).send(progress: nil)
        #expect(response.status == 200)
        #expect(response.url == URL("http://shop.test/next"))
        #expect(response.redirects == [Self.url])
        #expect(transport.requests.map { $0.headers["Cookie"] } == ["sid=7", "step=1; sid=7"])
    }

    @Test func `A chain ends with an error after as many redirects as the policy follows`() async {
        let (exchange, transport, _) = exchange { request in
            .status(302, headers: ["Location": "/\((Int(request.url.lastPathComponent) ?? 0) + 1)"])
        }
        var request = HTTPRequest(.get, Self.url)
        request.redirectPolicy = .follow(limit: 3)
        let error = await #expect(throws: APIError.self) { try await exchange(request).send(progress: nil) }
        #expect(error?.type == .transport)
        #expect(transport.requests.count == 4)
    }

    @Test(arguments: [
        ("bytes 0-2/9", nil, false), ("BYTES 6-8/9", nil, false), ("bytes 0-2/3", nil, true), ("0-2/9", nil, true),
        ("bytes 6-8/*", nil, false), ("bytes 0-2/*", nil, true),
        ("items 0-2/9", nil, true), ("bytes 0-2/9", "bytes=0-2", true),
    ])
    func `A part of the body that was not requested is no response`(range: String, requested: String?, isRight: Bool)
        async throws
    {
        let folder = try TemporaryFolder()
        let id = RequestID.next()
        let (exchange, transport, loads) = exchange(
            { _ in HTTPResponse(status: 206, headers: ["Content-Range": range], body: Data("new".utf8)) },
            id: id
        )
        for file in [nil, folder.url.appending(path: "photo.jpg")] {
            var request = HTTPRequest(.get, Self.url, headers: requested.map { ["Range": $0] } ?? [:])
            if let file { request.destination = .file(file) }
            do throws(APIError) {
                let response = try await exchange(request).send(progress: nil)
                #expect(isRight && response.status == 206)
            } catch {
                #expect(!isRight && error.type == .transport)
            }
        }
        #expect(transport.requests.count == 2)
        loads.discardFile(of: id)
        #expect(try folder.names.isEmpty)
    }

    @Test func `A file is staged beside its target until the load ends`() async throws {
        let folder = try TemporaryFolder()
        let target = folder.url.appending(path: "photo.jpg")
        try Data("old".utf8).write(to: target)
        let id = RequestID.next()
        let (exchange, _, loads) = exchange({ _ in HTTPResponse(status: 200, body: Data("new".utf8)) }, id: id)
        let response = try await exchange(download(to: target)).send(progress: nil)
        let staged = try #require(response.file)
        #expect(staged != target && staged.lastPathComponent == "photo.jpg")
        #expect(try Data(contentsOf: staged) == Data("new".utf8))
        #expect(try Data(contentsOf: target) == Data("old".utf8))
        #expect(try folder.names.count == 2)
        loads.discardFile(of: id)
        #expect(try folder.names == ["photo.jpg"])
    }

    @Test(arguments: [204, 205, 304, 404])
    func `A response without a file leaves the older one, and nothing beside it`(_ status: Int) async throws {
        let folder = try TemporaryFolder()
        let target = folder.url.appending(path: "photo.jpg")
        try Data("old".utf8).write(to: target)
        let (exchange, _, _) = exchange({ _ in .status(status) }, id: .next())
        #expect(try await exchange(download(to: target)).send(progress: nil).status == status)
        #expect(try folder.names == ["photo.jpg"])
        #expect(try Data(contentsOf: target) == Data("old".utf8))
    }

    @Test func `The body of an accepted status is stored as well, but a 304 describes the older file`() async throws {
        let folder = try TemporaryFolder()
        let target = folder.url.appending(path: "photo.jpg")
        try Data("old".utf8).write(to: target)
        let (missing, _, _) = exchange({ _ in HTTPResponse(status: 404, body: Data("none".utf8)) }, id: .next())
        let stored = try await missing(download(to: target)).send(storing: [404], progress: nil)
        #expect(try Data(contentsOf: #require(stored.file)) == Data("none".utf8))
        let (unmodified, _, _) = exchange({ _ in .status(304) }, id: .next())
        let response = try await unmodified(download(to: target)).send(storing: [304], progress: nil)
        #expect(response.file == target)
        #expect(try Data(contentsOf: target) == Data("old".utf8))
    }

    @Test func `A load that has ended stages no file, and an exchange of several loads writes none`() async throws {
        let folder = try TemporaryFolder()
        let target = folder.url.appending(path: "photo.jpg")
        let id = RequestID.next()
        let (ended, endedTransport, loads) = exchange({ _ in .status(200) }, id: id)
        _ = loads.claim(id)
        let cancelled = await #expect(throws: APIError.self) {
            try await ended(download(to: target)).send(progress: nil)
        }
        #expect(cancelled?.type == .cancelled)
        let (shared, sharedTransport, _) = exchange { _ in .status(200) }
        let refused = await #expect(throws: APIError.self) {
            try await shared(download(to: target)).send(progress: nil)
        }
        #expect(refused?.type == .invalidRequest)
        #expect(endedTransport.requests.isEmpty && sharedTransport.requests.isEmpty)
        #expect(try folder.names.isEmpty)
    }

    @Test func `Nothing is sent by a cancelled task`() async {
        let (exchange, transport, _) = exchange { _ in .status(200) }
        let task = Task { () async -> APIErrorType? in
            while !Task.isCancelled { await Task.yield() }
            do throws(APIError) {
                _ = try await exchange(HTTPRequest(.get, Self.url)).send(progress: nil)
                return nil
            } catch {
                return error.type
            }
        }
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(transport.requests.isEmpty)
    }
}

@MainActor @Suite("The layer over live sockets", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct LiveExchangeTests {
    let screen = Screen()

    private func proxy(_ kind: TransportKind, _ server: FixtureServer) throws -> APIProxy {
        APIProxy(service: APIService(baseURL: server.baseURL), transport: try kind.make())
    }

    private func standardServer() throws -> FixtureServer {
        try FixtureServer.start(handler: RouteTable.standard.response)
    }

    @Test(arguments: TransportKind.allCases)
    func `A load sends and receives Chinese text unchanged`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in
            .json(bytes: #"{"errcode":200,"data":[{"id":1,"name":"龙井茶"}]}"#.utf8)
        }
        screen.params = ["query": "绿茶"]
        let request = GoodsRequest(delegate: screen, paramSource: screen, proxy: try proxy(kind, server))
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(request.response == [Goods(id: 1, name: "龙井茶")])
        let recorded = try await server.takeRequest()
        #expect(recorded.method == "POST")
        #expect(recorded.path == "/goods")
        #expect(recorded.text == #"{"query":"绿茶"}"#)
        #expect(recorded.header("Content-Type") == "application/json")
    }

    @Test(.fault(13), arguments: TransportKind.allCases)
    func `20 redirects succeed, the 21st and a loop fail`(_ kind: TransportKind) async throws {
        let server = try standardServer()
        let proxy = try proxy(kind, server)
        let response = try await proxy.send(HTTPRequest(.get, server.url("/redirect/20")))
        #expect(response.status == 200)
        #expect(response.redirects.count == 20)
        #expect(response.url.path == "/anything")
        for (path, reason) in [("/redirect/21", "more than 20 redirects"), ("/redirect-loop", "requested before")] {
            let error = await #expect(throws: APIError.self) {
                try await proxy.send(HTTPRequest(.get, server.url(path)))
            }
            #expect(error?.type == .transport)
            #expect(error?.reason?.contains(reason) == true)
        }
    }

    @Test(.fault(13), arguments: TransportKind.allCases, [303, 307, 308])
    func `303 becomes GET without body, 307 and 308 keep both`(_ kind: TransportKind, _ status: Int) async throws {
        let server = try standardServer()
        let body = HTTPBody.data(Data("payload".utf8))
        let url = server.url("/redirect-to?status_code=\(status)&url=/anything")
        let response = try await proxy(kind, server).send(HTTPRequest(.post, url, body: body))
        #expect(response.status == 200)
        let last = try #require(server.requests.last)
        #expect(last.method == (status == 303 ? "GET" : "POST"))
        #expect(last.text == (status == 303 ? "" : "payload"))
    }

    @Test(arguments: TransportKind.allCases)
    func `The body of a redirect is no progress of the response`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { request in
            guard request.path == "/1" else { return .text("0123456789") }
            return .text("moved", status: 302, headers: ["Location": "/2"])
        }
        let counts = Lock<[Int64]>([])
        let request = HTTPRequest(.get, server.url("/1"))
        let response = try await proxy(kind, server).send(request) { report in
            counts.withLock { $0.append(report.completedBytes) }
        }
        #expect(response.redirects.count == 1)
        #expect(counts.withLock(\.self).last == 10)
        #expect(counts.withLock(\.self).allSatisfy { $0 <= 10 } && !counts.withLock(\.self).contains(5))
    }

    @Test(.fault(14), arguments: TransportKind.allCases)
    func `Each Location is resolved by RFC 3986 or is a typed error`(_ kind: TransportKind) async throws {
        let long = "/" + String(repeating: "a", count: 8192)
        let targets: [(location: String, path: String?)] = [
            ("x", "/a/b/x"), ("../x", "/a/x"), ("?q=1", "/a/b/c?q=1"), ("/ü", "/%C3%BC"), (long, long),
            ("javascript:alert(1)", nil), ("file:///etc/passwd", nil), ("http://[", nil),
        ]
        for (location, path) in targets {
            let server = try FixtureServer.start { request in
                guard request.path == "/a/b/c", request.query == nil else { return .text("there") }
                return Response(status: 302, headers: ["Location": location, "Content-Length": "0"], steps: [])
            }
            let proxy = try proxy(kind, server)
            let result = await result { () throws(APIError) in
                try await proxy.send(HTTPRequest(.get, server.url("/a/b/c")))
            }
            #expect((try? result.get().status) == path.map { _ in 200 }, "\(location)")
            #expect(server.requests.count == (path == nil ? 1 : 2))
            if let path { #expect(server.requests.last?.target == path) }
        }
    }

    @Test(.fault(57), arguments: TransportKind.allCases)
    func `No secret is sent by a redirect to another port`(_ kind: TransportKind) async throws {
        let other = try FixtureServer.start { _ in .text("other") }
        let server = try FixtureServer.start { _ in .redirect(to: other.url("/x").absoluteString) }
        let headers: HTTPHeaders = ["Authorization": "Bearer s3cret", "X-Api-Key": "s3cret", "Cookie": "sid=s3cret"]
        let response = try await proxy(kind, server).send(HTTPRequest(.get, server.url("/"), headers: headers))
        #expect(response.text == "other")
        let foreign = try await other.takeRequest()
        #expect(!String(describing: foreign.headers.map(\.value)).contains("s3cret"))
        let request = HTTPRequest(.get, server.url("/"))
        #expect(try await proxy(kind, server).send(request).url.port == Int(other.port))
    }

    /// Another origin than `http://127.0.0.1` with the first server's port.
    enum OtherOrigin: String, Sendable {
        case host = "localhost"
        case subdomain = "shop.localhost"
        case port = "127.0.0.1"
        case userinfo = "user:s3cret@127.0.0.1"

        var isSamePort: Bool { self == .host || self == .subdomain }
    }

    @Test(.fault(57), arguments: [.host, .port, .userinfo] as [OtherOrigin], [301, 302, 303, 307, 308])
    func `No secret is sent to another host, port or user`(_ origin: OtherOrigin, _ status: Int) async throws {
        try await expectNoSecret(sentTo: origin, by: status)
    }

    @Test(
        .fault(57),
        .enabled(if: Loopback.hasSubdomains, "this system resolves no names below localhost"),
        arguments: [301, 302, 303, 307, 308]
    )
    func `No secret is sent to a subdomain`(_ status: Int) async throws {
        try await expectNoSecret(sentTo: .subdomain, by: status)
    }

    private func expectNoSecret(sentTo origin: OtherOrigin, by status: Int) async throws {
        let other = try FixtureServer.start { _ in .text("other") }
        let server = try FixtureServer.start { request in
            guard request.path == "/" else { return .text("this server under another name") }
            let port = origin.isSamePort ? request.header("Host")?.split(separator: ":").last : nil
            return .redirect(to: "http://\(origin.rawValue):\(port ?? "\(other.port)")/x", status: status)
        }
        let headers: HTTPHeaders = ["Authorization": "Bearer s3cret", "X-Api-Key": "s3cret", "Cookie": "sid=s3cret"]
        let proxy = try proxy(.allCases.last ?? .urlSession, server)
        _ = try await proxy.send(HTTPRequest(.get, server.url("/"), headers: headers))
        let body = HTTPBody.data(Data("s3cret".utf8))
        _ = try? await proxy.send(HTTPRequest(.post, server.url("/"), headers: headers, body: body))
        let foreign = other.requests + server.requests.filter { $0.path == "/x" }
        #expect(foreign.count == (status < 307 ? 2 : 1))
        #expect(foreign.allSatisfy { !"\($0.headers.map(\.value)) \($0.text)".contains("s3cret") })
        #expect(foreign.allSatisfy { $0.headers["Authorization"] == nil })
    }

    @Test(arguments: TransportKind.allCases)
    func `Each hop of a redirect stores its cookies and receives its cookies`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { request in
            guard request.path == "/login" else { return .text(request.header("Cookie") ?? "none") }
            return .redirect(to: "/home").adding("Set-Cookie", "sid=1; Path=/").adding(
                "Set-Cookie",
                "only=login; Path=/login"
            )
        }
        let proxy = try proxy(kind, server)
        #expect(try await proxy.send(HTTPRequest(.get, server.url("/login"))).text == "sid=1")
        #expect(try await proxy.send(HTTPRequest(.get, server.url("/x"))).text == "sid=1")
        #expect(proxy.cookies.cookies.count == 2)
        proxy.cookies.removeAll()
        #expect(try await proxy.send(HTTPRequest(.get, server.url("/x"))).text == "none")
    }

    @Test(
        .enabled(if: Loopback.hasSubdomains, "this system resolves no names below localhost"),
        arguments: TransportKind.allCases
    )
    func `Each host of a redirect stores and receives its own cookies alone`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { request in
            let host = request.header("Host") ?? ""
            let hops = ["a": "b", "b": "c"]
            let response = hops[String(host.prefix(1))].map {
                Response.redirect(to: "http://\($0)\(host.dropFirst())/next")
            }
            return (response ?? .text("there")).adding("Set-Cookie", "from=\(host.prefix(1)); Path=/")
        }
        let proxy = try proxy(kind, server)
        for cookies in [[nil, nil, nil], ["from=a", "from=b", "from=c"]] {
            server.removeRecordedRequests()
            _ = try await proxy.send(HTTPRequest(.get, URL("http://a.localhost:\(server.port)/")))
            #expect(server.requests.map { $0.header("Cookie") } == cookies)
        }
        let stored = proxy.cookies.cookies.map { "\($0.domain) \($0.value)" }
        #expect(stored == ["a.localhost a", "b.localhost b", "c.localhost c"])
    }

    @Test(arguments: TransportKind.allCases)
    func `Cancelling by ID closes the socket, and so does releasing the request`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .hang }
        let proxy = try proxy(kind, server)
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        let id = request.loadData()
        _ = try await server.takeRequest()
        proxy.cancelRequest(id)
        #expect(await screen.ending() == .cancelled)
        #expect(await server.waitForOpenConnections(0))
        var released: GoodsRequest? = GoodsRequest(delegate: screen, proxy: proxy)
        released?.loadData()
        _ = try await server.takeRequest()
        released = nil
        #expect(await server.waitForOpenConnections(0))
        #expect(proxy.activeRequests.isEmpty)
        #expect(screen.events == [.cancelled])
    }

    @Test(.fault(59), arguments: TransportKind.allCases)
    func `No response is cached: a repeated request is sent to the server, whatever its headers`(_ kind: TransportKind)
        async throws
    {
        let server = try FixtureServer.start { request in
            .text("for \(request.header("X-Token") ?? "nobody")")
                .adding("Cache-Control", "public, max-age=2000000000").adding("ETag", "\"1\"")
                .adding("Date", "Thu, 01 Jan 2026 00:00:00 GMT")
        }
        let proxy = try proxy(kind, server)
        for account in ["a", "b", "a"] {
            let request = HTTPRequest(.get, server.url("/me"), headers: ["X-Token": account])
            #expect(try await proxy.send(request).text == "for \(account)")
            #expect(try await server.takeRequest().headers["If-None-Match"] == nil)
        }
        #expect(server.totalRequests == 3)
    }

    @Test(.fault(75), arguments: TransportKind.allCases)
    func `A slow callback delays no other exchange`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .json(bytes: goodsJSON([]).utf8) }
        let proxy = try proxy(kind, server)
        let slow = GoodsRequest(delegate: screen, proxy: proxy)
        slow.loadData()
        screen.onEvent = { _, _ in
            for _ in 0..<5 { Task.detached { try await proxy.send(HTTPRequest(.get, server.url("/other"))) } }
            // The main actor is blocked until the other exchanges have ended.
            let deadline = ContinuousClock.now + .seconds(20)
            while server.totalRequests < 6, ContinuousClock.now < deadline {}
        }
        #expect(await screen.ending() == .success)
        #expect(server.totalRequests == 6)
    }

    @Test(.fault(16), arguments: TransportKind.allCases)
    func `Loads that are cancelled at random instants each end once`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in
            Response.json(bytes: goodsJSON([]).utf8).preceded(by: .wait(.milliseconds(2)))
        }
        let proxy = try proxy(kind, server)
        let requests = (0..<200).map { _ in GoodsRequest(delegate: screen, proxy: proxy) }
        for (number, request) in requests.enumerated() {
            let id = request.loadData()
            // Of ten, one is not cancelled, and one at once.
            guard number % 10 > 0 else { continue }
            if number % 10 == 1 { proxy.cancelRequest(id) }
            let delay = Duration.microseconds(Int.random(in: 0..<4000))
            Task.detached {
                try await Task.sleep(for: delay)
                proxy.cancelRequest(id)
            }
        }
        let endings = await screen.endings(of: requests)
        #expect(endings.allSatisfy { $0 == .success || $0 == .cancelled })
        #expect(endings.count { $0 == .success } >= 20 && endings.count { $0 == .cancelled } >= 20)
        await sentinel(proxy)
        #expect(screen.events.count == 200)
        #expect(proxy.activeRequests.isEmpty)
    }

    private func result(
        _ body: () async throws(APIError) -> APIResponse
    ) async -> Result<APIResponse, APIError> {
        do throws(APIError) {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}
