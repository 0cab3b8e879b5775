import Errand
import ErrandTesting
import FixtureServer
import Foundation
import Testing
import TestSupport

@testable import ErrandSigning

@Suite("Sealed traffic", .hangLimit, .timeLimit(.minutes(5)))
struct SealingTests {
    @Test(arguments: SealingCipher.allCases, [false, true])
    func `A body is sealed on its way and opened by the receiver`(_ cipher: SealingCipher, _ isBase64: Bool)
        async throws
    {
        let scene = SealingScene(cipher, isBase64: isBase64)
        #expect(try await scene.send("plain text") == #"{"text":"plain text"}"#)
        #expect(scene.server.bodies == [#"{"text":"plain text"}"#])
        let request = try #require(scene.transport.requests.last)
        #expect(request.headers["X-Key-ID"] == "k1")
        #expect(request.headers["Content-Type"] == "application/x-sealed")
        #expect(request.headers["X-Sealed-Content-Type"] == "application/json")
        guard case .data(let body) = request.body.pieces.first else { return #expect(Bool(false), "no data") }
        #expect(body.range(of: Data("plain".utf8)) == nil)
        let count = #"{"text":"plain text"}"#.utf8.count + 28
        #expect(body.count == (isBase64 ? (count + 2) / 3 * 4 : count))
    }

    @Test func `Every send has another nonce`() async throws {
        let scene = SealingScene()
        for _ in 0..<50 { _ = try await scene.send("same") }
        let nonces = scene.transport.requests.map { request -> Data in
            guard case .data(let body) = request.body.pieces.first else { return Data() }
            return body.prefix(12)
        }
        #expect(Set(nonces).count == 50)
        #expect(scene.exchange.calls == 1)
    }

    @Test func `A request without a body has the names of key and send alone, and its response is opened`() async throws
    {
        let scene = SealingScene()
        let value = try await APIRequest<String>("/goods", params: ["page": 2, "q": "a b"], proxy: scene.proxy).value()
        #expect(value.isEmpty)
        let request = try #require(scene.transport.requests.last)
        #expect(request.body.isEmpty && request.headers["X-Key-ID"] == "k1")
        #expect(request.headers["X-Sealed-Content-Type"] == nil && request.headers["Content-Type"] == nil)
    }

    @Test func `The type of a body is authenticated as it is sent, without blanks`() async throws {
        let scene = SealingScene()
        let service = try #require(scene.proxy.defaultService)
        let headers: HTTPHeaders = ["Content-Type": " text/plain\t"]
        let url = try #require(URL(string: "echo"))
        let request = HTTPRequest(.post, url, headers: headers, body: .data(Data("hi".utf8)))
        #expect(try await scene.proxy.send(request, to: service).text == #"{"errcode":200,"msg":"ok","data":"hi"}"#)
        #expect(scene.transport.requests.last?.headers["X-Sealed-Content-Type"] == "text/plain")
    }

    @Test func `A response has its former Content-Type again, and no line of the sealed one`() async throws {
        let scene = SealingScene()
        let service = try #require(scene.proxy.defaultService)
        guard let url = URL(string: "echo?a=1") else { return }
        let request = HTTPRequest(.post, url, headers: ["Content-Type": "text/plain"], body: .data(Data("hi".utf8)))
        let response = try await scene.proxy.send(request, to: service)
        #expect(response.text == #"{"errcode":200,"msg":"ok","data":"hi"}"#)
        #expect(response.headers["Content-Type"] == "application/json")
        #expect(response.headers["X-Sealed-Content-Type"] == nil)
        #expect(scene.transport.requests.last?.headers["X-Sealed-Content-Type"] == "text/plain")
    }

    @Test(arguments: 0..<7)
    func `A response that was changed on its way is a security error`(_ kind: Int) async throws {
        let scene = SealingScene()
        _ = try await scene.send("first")
        scene.server.setChange { response in
            switch kind {
            case 0: response.body[0] ^= 1
            case 1: response.body[13] ^= 1
            case 2: response.body[response.body.count - 1] ^= 1
            case 3: response.status = 201
            case 4: response.headers["X-Sealed-Content-Type"] = "text/html"
            case 5: response.headers["X-Sealed-Content-Type"] = nil
            default: response.body = response.body.prefix(20)
            }
        }
        let error = try #require(await scene.failure())
        #expect(error.type == .security)
        let kinds: [SigningError.Kind] = [.notAuthentic, .malformedBody]
        #expect(kinds.contains { $0 == (error.underlying as? SigningError)?.kind })
        #expect(scene.exchange.calls == 1)
        #expect(scene.transport.requests.count == 2)
    }

    @Test func `The response to another request, or a request itself, is a security error`() async throws {
        let scene = SealingScene()
        let responses = Recorded()
        scene.server.setChange { response in response = responses.exchange(with: response) }
        _ = try? await APIRequest<String>("/a?x=1", method: .post, params: ["a": 1], proxy: scene.proxy).value()
        for path in ["/a?x=2", "/b?x=1"] {
            let request = await APIRequest<String>(path, method: .post, params: ["a": 1], proxy: scene.proxy)
            let error = await #expect(throws: APIError.self) { try await request.value() }
            #expect(error?.type == .security)
        }
        let reflecting = ScriptedTransport { request in
            guard case .data(let body) = request.body.pieces.first else { return .status(500) }
            return HTTPResponse(status: 200, headers: request.headers, body: body)
        }
        let proxy = APIProxy(service: scene.proxy.defaultService, transport: reflecting)
        let request = await APIRequest<String>("/a", method: .post, params: ["a": 1], proxy: proxy)
        #expect(await #expect(throws: APIError.self) { try await request.value() }?.type == .security)
    }

    @Test func `A request that was changed on its way is refused by the server`() async throws {
        let scene = SealingScene(service: { service in
            service.adapters.request.append(Adapter(of: MethodSwap()) { request, _ in request.method = .put })
        })
        #expect(await scene.failure()?.status == 400)
    }

    // MARK: Bodies

    @Test func `A file is sealed in memory, up to the limit`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "errand-sealing-\(UUID())")
        try Data("file".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let scene = SealingScene(change: { $0.maxBodyBytes = 10 })
        func send(_ pieces: [HTTPBody.Piece]) async throws -> APIResponse {
            guard let url = URL(string: "echo"), let service = scene.proxy.defaultService else {
                throw CancellationError()
            }
            return try await scene.proxy.send(HTTPRequest(.put, url, body: HTTPBody(pieces)), to: service)
        }
        _ = try await send([.data(Data("123456".utf8)), .file(file)])
        #expect(scene.server.bodies == ["123456file"])
        let stream = HTTPBody.Stream(length: 1) { AsyncStream { $0.finish() } }
        let refused: [[HTTPBody.Piece]] = [
            [.data(Data("1234567".utf8)), .file(file)], [.data(Data(count: 11))], [.stream(stream)],
            [.file(file.appending(path: "missing"))],
        ]
        for pieces in refused {
            let error = await #expect(throws: APIError.self) { try await send(pieces) }
            #expect(error?.type == .invalidRequest)
            #expect((error?.underlying as? SigningError)?.kind == .unsupportedRequest)
        }
        #expect(scene.transport.requests.count == 1)
    }

    private final class Ticks: StreamAPIRequest<ServerSentEvent>, APIManager {
        let path = "/ticks"
        let method = HTTPMethod.get
    }

    /// Its elements would be delivered as they arrive, whoever has sent them.
    @Test func `A stream is refused before it is sent`() async throws {
        let scene = SealingScene()
        let ticks = await Ticks(proxy: scene.proxy)
        let error = await #expect(throws: APIError.self) { for try await _ in await ticks.elements() {} }
        #expect(error?.type == .invalidRequest)
        #expect((error?.underlying as? SigningError)?.kind == .unsupportedRequest)
        #expect(scene.transport.requests.isEmpty)
    }

    @Test func `A request whose response is stored in a file is refused before it is sent`() async throws {
        let scene = SealingScene()
        let request = await APIRequest<DownloadedFile>("/file", proxy: scene.proxy)
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .invalidRequest)
        #expect((error?.underlying as? SigningError)?.kind == .unsupportedRequest)
        #expect(scene.transport.requests.isEmpty && scene.exchange.calls == 0)
    }

    // MARK: The list of adapters

    @Test func `A request is sealed, then signed, in whichever order both are set up`() async throws {
        for isSignedFirst in [true, false] {
            let scene = SealingScene(service: { service in
                service.adapters.request.append(stamp("X-Early"))
                if isSignedFirst {
                    service.adapters.request.append(Adapter(of: BodySignature(), stamp("X-Signed").adapt))
                }
            })
            if !isSignedFirst {
                scene.proxy.defaultService?.adapters.request.append(
                    Adapter(of: BodySignature(), stamp("X-Signed").adapt)
                )
            }
            _ = try await scene.send("a")
            let request = try #require(scene.transport.requests.last)
            #expect(request.headers["X-Early"] == "application/json")
            #expect(request.headers["X-Signed"] == "application/x-sealed")
        }
    }

    @Test func `Sealing a service again replaces its sealing`() async throws {
        let scene = SealingScene()
        var service = try #require(scene.proxy.defaultService)
        service.seal(with: scene.sealing)
        #expect(service.adapters.request.count == 1 && service.adapters.response.count == 1)
        let adapter = Adapter<APIResponse> { _, _ in }
        service.adapters.response.append(adapter)
        service.seal(with: scene.sealing)
        #expect(service.adapters.response.first?.owner is SealingAdapter && service.adapters.response.count == 2)
    }

    // MARK: Secrets

    @Test func `Neither keys nor plaintext are printed`() async throws {
        let scene = SealingScene()
        let key = SessionKey(id: "s3cret", bytes: Data("s3crets3crets3crets3crets3crets3".utf8))
        scene.exchange.load { key }
        // The server does not know the key: the load fails as often as it may be sent.
        let failure = try #require(await scene.failure("s3cret"))
        let values: [Any] = [
            key, scene.sealing, failure, try #require(scene.proxy.defaultService), scene.exchange, scene.proxy,
            try #require(scene.proxy.defaultService).adapters.request, try #require(scene.session),
            SigningError(.notAuthentic, reason: "no"), scene.transport.requests,
        ]
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] {
                #expect(!text.contains("s3cret"), "\(text)")
                #expect(!text.contains("115, 51, 99"), "\(text)")
            }
        }
    }
}

/// Records the first response and gives it instead of all others.
final class Recorded: @unchecked Sendable {
    private let lock = NSLock()
    private var first: HTTPResponse?

    func exchange(with response: HTTPResponse) -> HTTPResponse {
        lock.withLock {
            first = first ?? response
            return first ?? response
        }
    }
}

private struct MethodSwap: SigningAdapter {}

private struct BodySignature: SigningAdapter {}

/// Returns an adapter that writes the type of the body as it is then into a header.
private func stamp(_ name: String) -> Adapter<HTTPRequest> {
    Adapter { request, _ in request.headers[name] = request.headers["Content-Type"] }
}

@Suite("A service that is sealed and signed", .hangLimit, .timeLimit(.minutes(5)))
struct SealedSignatureTests {
    private let scene = SealingScene()

    @Test(arguments: [false, true])
    func `In whichever order they are set up, parameters are signed before what is sealed and signed`(_ isSealed: Bool)
        throws
    {
        var service = APIService(baseURL: try #require(URL(string: "http://shop.test/")))
        service.sign(with: signature())
        if isSealed { service.seal(with: SealingScene().sealing) }
        service.sign(with: ParamSigning(secret: "s", algorithm: .sha256, into: .parameter("sign")))
        let owners = service.adapters.request.map { $0.owner }
        #expect(owners.first.map { $0 is ParamSigner } == true)
        #expect(owners.count == (isSealed ? 4 : 3))
    }

    private func signature(_ form: AWSSignature.Form = .header) -> AWSSignature {
        var signature = AWSSignature(region: "eu-central-1", service: "execute-api") { AWSSignatureTests.credentials }
        signature.form = form
        return signature
    }

    private func send(_ query: String, to service: APIService) async throws -> APIResponse {
        let url = try #require(URL(string: "echo?\(query)"))
        let request = HTTPRequest(.post, url, headers: ["Content-Type": "text/plain"], body: .data(Data("hi".utf8)))
        return try await scene.proxy.send(request, to: service)
    }

    @Test(arguments: [false, true])
    func `A plus sign of the query is a space before it is sealed`(_ isSignedFirst: Bool) async throws {
        var service = try #require(scene.proxy.defaultService)
        let sealing = try #require(service.adapters.request.compactMap { $0.owner as? SealingAdapter }.first?.sealing)
        service.sign(with: signature())
        if isSignedFirst { service.seal(with: sealing) }
        let order = service.adapters.request.map(\.name)
        #expect(order == ["AWSQueryAdapter", "SealingAdapter", "AWSSigner"])
        _ = try await send("a=b+c", to: service)
        #expect(scene.server.bodies == ["hi"])
        let request = try #require(scene.transport.requests.last)
        #expect(request.url.query(percentEncoded: true) == "a=b%20c")
        #expect(request.headers["Authorization"] != nil)
    }

    @Test(arguments: [false, true])
    func `A signature in the query is refused`(_ isSignedFirst: Bool) async throws {
        var service = try #require(scene.proxy.defaultService)
        let sealing = try #require(service.adapters.request.compactMap { $0.owner as? SealingAdapter }.first?.sealing)
        service.sign(with: signature(.query(expiry: .seconds(300))))
        if isSignedFirst { service.seal(with: sealing) }
        let error = await #expect(throws: APIError.self) { try await send("a=1", to: service) }
        #expect(error?.type == .invalidRequest)
        #expect(error?.reason?.contains("form = .header") == true)
        #expect(scene.server.bodies.isEmpty)
    }

    @Test func `A response without a body may have the type of a sealed one`() async throws {
        scene.server.setChange { $0 = .status(200, headers: ["Content-Type": "application/x-sealed"]) }
        try await APIRequest<Void>("/a", method: .head, proxy: scene.proxy).value()
    }
}

@Suite("Sealed traffic over sockets", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(5)))
struct SealingLiveTests {
    @Test(arguments: SealingCipher.allCases)
    func `Path and query are authenticated as the server receives them`(_ cipher: SealingCipher) async throws {
        let (sealing, listener) = try start(cipher)
        let proxy = APIProxy(service: service(listener, sealing, cipher))
        let paths = ["/a%20b/é?x=1&y=a%2Bb", "/list/", "/q?text=ü 中", "/a/../b", "/x#fragment"]
        for path in paths {
            let request = await APIRequest<String>(path, method: .post, params: ["n": path], proxy: proxy)
            _ = try await request.value()
        }
        #expect(sealing.bodies.count == paths.count)
        _ = try await APIRequest<String>("", params: ["page": 1, "q": "ä b+c"], proxy: proxy).value()
        #expect(sealing.exchanges == 1)
        listener.stop()
    }

    @Test func `Loads over a few connections whose key expires share one exchange`() async throws {
        let (sealing, listener) = try start(.aesGCM)
        let service = service(listener, sealing, .aesGCM)
        let proxy = APIProxy(service: service)
        for round in 1...5 {
            let values = try await withThrowingTaskGroup { group in
                for number in 0..<50 {
                    group.addTask {
                        try await APIRequest<String>("/e", method: .post, params: ["n": number], proxy: proxy).value()
                    }
                }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(values == Set((0..<50).map { #"{"n":\#($0)}"# }))
            #expect(sealing.exchanges == round)
            sealing.expireKeys()
        }
        listener.stop()
    }

    private func start(_ cipher: SealingCipher) throws -> (SealingServer, FixtureServer) {
        let server = SealingServer(cipher)
        let listener = try FixtureServer.start { request in
            let headers = HTTPHeaders(request.headers.map { HTTPField($0.name, $0.value) })
            let response = server.response(request.method, request.target, headers, Data(request.body))
            let lines = HeaderLines(response.headers.map { HeaderLine($0.name, $0.value) })
            return .bytes(Array(response.body), status: response.status, headers: lines)
        }
        return (server, listener)
    }

    /// A service whose exchange is a load of the same service.
    private func service(_ listener: FixtureServer, _ server: SealingServer, _ cipher: SealingCipher) -> APIService {
        var service = APIService(baseURL: listener.baseURL)
        service.retryPolicy = .never
        service.seal(with: TrafficSealing(cipher: cipher, keyExchange: SampleExchange(server), expiredCodes: [4011]))
        return service
    }
}

@Suite("Responses to sealed requests that are not sealed, old, or without a body", .timeLimit(.minutes(5)))
struct UnsealedResponseTests {
    @Test func `A response that is not sealed is a security error`() async throws {
        let scene = SealingScene()
        scene.server.setChange { $0 = .json(#"{"errcode":200,"msg":"ok","data":"forged"}"#) }
        let error = try #require(await scene.failure())
        #expect(error.type == .security)
        #expect((error.underlying as? SigningError)?.kind == .notSealed)
        scene.server.setChange { $0 = .status(200) }
        #expect(await scene.failure()?.type == .security)
    }

    @Test func `A failure may be served without sealing, as far as it is allowed`() async throws {
        let scene = SealingScene(change: { $0.clearCodes = [7] })
        scene.server.setChange { $0 = .status(503) }
        #expect(await scene.failure()?.type == .http)
        scene.server.setChange { $0 = .json(#"{"errcode":7,"msg":"closed"}"#) }
        let error = await scene.failure()
        #expect(error?.type == .server && error?.code == 7)
        scene.server.setChange { $0 = .json(#"{"errcode":8,"msg":"closed"}"#) }
        #expect(await scene.failure()?.type == .security)
        let strict = SealingScene(change: { $0.clearStatuses = [] })
        strict.server.setChange { $0 = .status(503) }
        #expect(await strict.failure()?.type == .security)
    }

    @Test(arguments: [204, 304, 200, 201], ["", "application/x-sealed", "application/json"])
    func `A response without a body that is not sealed is no success`(_ status: Int, _ type: String) async throws {
        let scene = SealingScene()
        let headers: HTTPHeaders = type.isEmpty ? [:] : ["Content-Type": type]
        scene.server.setChange { $0 = .status(status, headers: headers) }
        for method in [HTTPMethod.post, .get, .put, .delete] {
            let request = await APIRequest<Void>("/a", method: method, params: ["a": 1], proxy: scene.proxy)
            let error = await #expect(throws: APIError.self) { try await request.value() }
            #expect(error?.type == .security, "\(method)")
        }
    }

    @Test func `A status without a body is accepted when it is named as clear`() async throws {
        let scene = SealingScene(change: { $0.clearStatuses.insert(204) })
        scene.server.setChange { $0 = .status(204, headers: ["Content-Type": "application/x-sealed"]) }
        try await APIRequest<Void>("/a", method: .post, params: ["a": 1], proxy: scene.proxy).value()
        scene.server.setChange { $0 = .status(304) }
        await #expect(throws: APIError.self) { try await APIRequest<Void>("/a", proxy: scene.proxy).value() }
    }

    @Test(arguments: [200, 201, 204])
    func `A sealed body of no bytes authenticates that there is none`(_ status: Int) async throws {
        let scene = SealingScene()
        scene.server.sealNothing(status: status)
        let proxy = APIProxy(service: scene.proxy.defaultService, transport: BodyTransport(server: scene.server))
        try await APIRequest<Void>("/a", method: .post, params: ["a": 1], proxy: proxy).value()
        let changes: [SealingServer.Change] = [
            { $0.body[$0.body.count - 1] ^= 1 }, { $0.body[0] ^= 1 }, { $0.status = status == 204 ? 200 : 204 },
            { $0.body = Data() }, { $0.headers["Content-Type"] = "application/json" },
        ]
        for change in changes {
            scene.server.setChange(change)
            let request = await APIRequest<Void>("/a", method: .post, params: ["a": 1], proxy: proxy)
            #expect(await #expect(throws: APIError.self) { try await request.value() }?.type == .security)
        }
    }

    @Test func `An older response to the same request is a security error`() async throws {
        let scene = SealingScene()
        let responses = Recorded()
        scene.server.setChange { response in response = responses.exchange(with: response) }
        #expect(try await scene.send("pay") == #"{"text":"pay"}"#)
        for method in [HTTPMethod.post, .get] {
            let request = await APIRequest<String>("/echo", method: method, params: ["text": "pay"], proxy: scene.proxy)
            let error = await #expect(throws: APIError.self) { try await request.value() }
            #expect((error?.underlying as? SigningError)?.kind == .notAuthentic)
        }
        let nonces = scene.transport.requests.compactMap { $0.headers["X-Sealed-Nonce"] }
        #expect(Set(nonces).count == 3 && nonces.allSatisfy { $0.count == 32 })
    }

    @Test func `A response to HEAD need not be sealed`() async throws {
        let scene = SealingScene()
        scene.server.setChange { $0 = .status(200) }
        try await APIRequest<Void>("/a", method: .head, proxy: scene.proxy).value()
        await #expect(throws: APIError.self) { try await APIRequest<Void>("/a", proxy: scene.proxy).value() }
    }
}

/// Delivers responses of any status with their body.
private struct BodyTransport: HTTPTransport {
    let server: SealingServer

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        var body = Data()
        for case .data(let data) in request.body.pieces { body += data }
        return server.response(request.method.rawValue, request.url.path, request.headers, body)
    }
}

@Suite("Stored responses of sealed services", .timeLimit(.minutes(5)))
struct SealedCacheTests {
    private let server = SealingServer()
    private let exchange: SampleExchange
    private let transport: ScriptedTransport
    private let folder = FileManager.default.temporaryDirectory.appending(path: "errand-sealed-\(UUID())")

    init() {
        exchange = SampleExchange(server)
        transport = server.transport()
        server.setChange { $0.headers["Cache-Control"] = "max-age=600" }
    }

    /// A proxy of another process: it has no key.
    private func proxy(storesOpened: Bool) throws -> APIProxy {
        var service = APIService(baseURL: try #require(URL(string: "http://shop.test/api")))
        (service.retryPolicy, service.cachesAdaptedResponses) = (.never, storesOpened)
        service.seal(with: TrafficSealing(cipher: .aesGCM, keyExchange: exchange, expiredCodes: [4011]))
        // The session of a cache has the name of this file.
        let cookies = CookieJar(file: folder.appending(path: "cookies.txt"))
        let cache = APICache(folder: folder.appending(path: "cache"))
        return APIProxy(service: service, transport: transport, cookies: cookies, cache: cache)
    }

    private func load(_ proxy: APIProxy, _ policy: CachePolicy = .http) async -> String {
        do throws(APIError) {
            let options = APIRequestOptions(cachePolicy: policy)
            let data = try await APIRequest<Data>("/echo", options: options, proxy: proxy).value()
            return String(decoding: data, as: UTF8.self)
        } catch {
            return "\(error.type) \(error.status ?? 0)"
        }
    }

    private static let opened = #"{"errcode":200,"msg":"ok","data":""}"#

    @Test func `What is stored opened is used without a key`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(await load(try proxy(storesOpened: true)) == Self.opened)
        let other = try proxy(storesOpened: true)
        #expect(await load(other, .onlyIfCached) == Self.opened)
        exchange.fail(with: APIError(.noNetwork))
        #expect(exchange.calls == 1, "nothing was sent")
        #expect(await load(other) == Self.opened)
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [CachePolicy.onlyIfCached, .http, .elseLoad])
    func `What is stored sealed is not passed on`(_ policy: CachePolicy) async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(await load(try proxy(storesOpened: false), policy == .elseLoad ? policy : .http) == Self.opened)
        exchange.fail(with: APIError(.noNetwork))
        let expected = policy == .onlyIfCached ? "http 504" : "noNetwork 0"
        #expect(await load(try proxy(storesOpened: false), policy) == expected)
        #expect(transport.requests.count == 1)
    }

    @MainActor @Test func `A digest of the sealed bytes is not left for the opened ones`() async throws {
        server.setChange { $0.headers["Repr-Digest"] = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:" }
        let request = APIRequest<Data>("/echo", proxy: try proxy(storesOpened: false))
        _ = try await request.value()
        let headers = try #require(request.rawResponse).headers
        #expect(headers["Repr-Digest"] == nil && headers["Content-Type"] == "application/json")
    }
}
