import ErrandTesting
import FixtureServer
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Ready-made requests", .hangLimit, .timeLimit(.minutes(10)))
struct APIRequestTests {
    let screen = Screen()

    private func transport(_ response: HTTPResponse = .json(goodsJSON([Goods(id: 1, name: "pen")])))
        -> ScriptedTransport
    {
        ScriptedTransport { _ in response }
    }

    private func url(_ path: String, params: APIParams? = nil, base: String = "https://shop.test:8443/api") async throws
        -> String?
    {
        let transport = transport()
        let proxy = APIProxy(fake: transport, service: .sample { $0.baseURL = URL(base) })
        _ = try await APIRequest<[Goods]>(path, params: params, proxy: proxy).value()
        return transport.requests.first?.url.absoluteString
    }

    @Test func `A path and a type make a request`() async throws {
        let transport = transport()
        let goods: [Goods] = try await APIRequest("/goods", proxy: APIProxy(fake: transport)).value()
        #expect(goods == [Goods(id: 1, name: "pen")])
        #expect(transport.requests.first?.method == .get)
        #expect(transport.requests.first?.url.absoluteString == "http://shop.test/api/goods")
    }

    @Test func `Everything that a subclass overrides is an argument`() async throws {
        let transport = transport(.status(200))
        var service = APIService.sample { $0.baseURL = URL("http://other.test/v2") }
        service.commonHeaders = { ["X-Client": "test"] }
        let request = APIRequest<Void>(
            "/orders/{id}",
            method: .put,
            params: ["id": 7, "text": "a b"],
            headers: ["X-One": "1"],
            timeout: .seconds(7),
            requestSerializer: .form,
            responseSerializer: .nothing,
            service: service,
            restartPolicy: .ignoreNew,
            isLoginRequest: true,
            options: APIRequestOptions(
                deadline: .seconds(70),
                priority: .userInitiated,
                retryPolicy: .never,
                idempotencyKey: { "key" },
                envelope: .wholeBody,
                acceptedStatuses: [404],
                redirectPolicy: .refuse,
                releasePolicy: .finish,
                reportsProgress: true
            ),
            proxy: APIProxy(fake: transport)
        )
        try await request.value()
        let sent = try #require(transport.requests.first)
        #expect(sent.method == .put && sent.url.absoluteString == "http://other.test/v2/orders/7")
        #expect(sent.body == .data(Data("text=a+b".utf8)))
        #expect(sent.headers["X-One"] == "1" && sent.headers["X-Client"] == "test")
        #expect(sent.headers["Idempotency-Key"] == "key")
        #expect(sent.timeout == .seconds(7) && request.options.deadline == .seconds(70))
        #expect(request.restartPolicy == .ignoreNew && request.isLoginRequest)
        let options = request.options
        #expect(options.priority == .userInitiated && options.retryPolicy?.maxRetries == 0)
        #expect(options.redirectPolicy != nil && options.envelope == .wholeBody && options.acceptedStatuses == [404])
        #expect(options.releasePolicy == .finish && options.reportsProgress && !options.coalescesIdentical)
    }

    @Test func `Parts make an upload`() async throws {
        let transport = transport(.status(200))
        let proxy = APIProxy(fake: transport)
        try await APIRequest<Void>("/avatar", method: .post, requestSerializer: .multipart, proxy: proxy) {
            $0.append(Data("picture".utf8), name: "file")
        }.value()
        #expect(transport.requests.first?.headers["Content-Type"]?.hasPrefix("multipart/form-data") == true)
        #expect(transport.requests.first?.body.pieces.count == 4)
    }

    @Test func `A download is stored at its destination`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "a.bin")
        let server = try FixtureServer.start { _ in .bytes([1, 2, 3]) }
        defer { server.stop() }
        let proxy = APIProxy(service: APIService(baseURL: server.baseURL))
        let request = APIRequest<DownloadedFile>("/a", destination: .file(file), proxy: proxy)
        #expect(try await request.value() == DownloadedFile(url: file))
        #expect(try Data(contentsOf: file) == Data([1, 2, 3]))
    }

    @Test func `The parameters of a call and of a param source are added to those of the request`() async {
        let transport = transport()
        screen.params = ["a": 2, "b": 3]
        let proxy = APIProxy(fake: transport)
        let request = APIRequest<[Goods]>(
            "/goods",
            params: ["a": 1, "z": 0],
            delegate: screen,
            paramSource: screen,
            proxy: proxy
        )
        request.loadData()
        #expect(await screen.ending() == .success)
        request.loadData(params: ["z": 9])
        #expect(await screen.ending() == .success)
        request.loadAgain()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.map(\.url.query) == ["a=2&b=3&z=0", "a=1&z=9", "a=1&z=9"])
    }

    @Test func `Envelope, login and retry apply as for a subclass`() async throws {
        let (account, clock) = (Account(), ManualClock())
        let responses = Responses([.status(401), .status(503), .json(#"{"errcode":5001,"msg":"sold out"}"#)])
        let transport = ScriptedTransport { _ in responses.next() }
        let service = APIService.sample {
            ($0.reloginHandler, $0.retryPolicy) = (account, RetryPolicy())
            $0.commonHeaders = { ["X-Token": account.token] }
        }
        let proxy = APIProxy(service: service, transport: transport, clock: clock)
        let request = APIRequest<[Goods]>("/goods", delegate: screen, proxy: proxy)
        let id = request.loadData()
        #expect(proxy.activeRequests.map(\.id) == [id])
        // The timeout of the relogin sleeps on the same clock.
        let skipping = Task { [transport] in
            await suspend(while: !Task.isCancelled) {
                if transport.requests.count == 2 { clock.advance(by: .seconds(1)) }
            }
        }
        defer { skipping.cancel() }
        #expect(await screen.ending() == .failure(.server))
        #expect(request.error?.code == 5001 && request.error?.path == "/goods")
        #expect(transport.requests.map { $0.headers["X-Token"] } == ["t0", "t1", "t1"])
    }

    @Test func `A ready-made request is cancelled by its ID, and by its release unless a closure waits`() async {
        let gate = Latch()
        let transport = ScriptedTransport { _ throws(TransportError) in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        let proxy = APIProxy(fake: transport)
        var request: APIRequest<[Goods]>? = APIRequest("/goods", delegate: screen, proxy: proxy)
        proxy.cancelRequest(request?.loadData() ?? .next())
        #expect(await screen.ending() == .cancelled)
        request?.loadData()
        request = nil
        #expect(proxy.activeRequests.isEmpty)
        let result = await withCheckedContinuation { result in
            APIRequest<[Goods]>("/goods", proxy: proxy).loadData { result.resume(returning: $0) }
            gate.open()
        }
        #expect(result.error == nil)
        #expect(screen.events == [.cancelled])
    }

    @Test func `Two ready-made requests for the same resource share an exchange`() async throws {
        let gate = Latch()
        let transport = ScriptedTransport { _ throws(TransportError) in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        let proxy = APIProxy(fake: transport)
        let options = APIRequestOptions(coalescesIdentical: true)
        let requests = (0..<2).map { _ in
            APIRequest<[Goods]>("/goods", options: options, delegate: screen, proxy: proxy)
        }
        for request in requests { request.loadData() }
        await suspend(while: proxy.sharedLoadCount < 2)
        gate.open()
        #expect(await screen.endings(of: requests) == [.success, .success])
        #expect(transport.requests.count == 1)
    }

    // MARK: Absolute URLs

    @Test(arguments: [
        ("https://shop.test:8443/v2/goods?page=2", "https://shop.test:8443/v2/goods?page=2&a=1"),
        ("HTTPS://SHOP.test:8443/v2/a b#top", "https://SHOP.test:8443/v2/a%20b?a=1"),
        ("https://me:secret@shop.test:8443/v2/../x", "https://shop.test:8443/x?a=1"),
        ("https://shop.test:8443/o/{id}/lines", "https://shop.test:8443/o/5%2F6/lines?a=1"),
    ])
    func `An absolute URL of the service's origin is sent as it is`(_ path: String, _ expected: String) async throws {
        let params: APIParams = path.contains("{id}") ? ["a": 1, "id": "5/6"] : ["a": 1]
        #expect(try await url(path, params: params) == expected)
    }

    @Test func `An absolute URL with an address and no port is possible`() async throws {
        #expect(try await url("http://[::1]/a", base: "http://[::1]/api") == "http://[::1]/a")
        #expect(try await url("https://shop.test/a", base: "https://shop.test:443/") == "https://shop.test/a")
    }

    @Test(arguments: [
        "https://evil.test/api?token=s3cret", "http://shop.test:8443/x", "https://shop.test/x",
        "https://shop.test:8443@evil.test/x", "https://shop.test.evil.test/x", "ftp://shop.test:8443/",
        "https://{host}/x",
    ])
    func `An absolute URL of another origin is never sent`(_ path: String) async throws {
        let transport = transport()
        let service = APIService.sample { $0.baseURL = URL("https://shop.test:8443/api") }
        let proxy = APIProxy(fake: transport, service: service)
        let request = APIRequest<[Goods]>(path, params: ["host": "evil.test"], proxy: proxy)
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .security || error?.type == .invalidRequest)
        if path.contains("evil.test/") { #expect(error?.type == .security) }
        #expect(error?.description.contains("s3cret") == false, "\(error?.description ?? "")")
        #expect(transport.requests.isEmpty)
    }
}
