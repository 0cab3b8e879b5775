import ErrandImages
import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("No public value prints a secret that it contains", .timeLimit(.minutes(10)))
struct SentinelTests {
    private nonisolated static let secret = "s3cret"
    private nonisolated static let url = URL("https://me:s3cret@shop.test/api?token=s3cret&s3cret#s3cret")
    private nonisolated static let bytes = Data("s3cret".utf8)
    private nonisolated static let headers: HTTPHeaders = [
        "Authorization": "s3cret", "X-JWT": "s3cret", "Location": url.absoluteString,
    ]

    struct Login: Codable, Sendable {
        var password = "s3cret"
    }

    /// A list whose responses are secrets.
    final class Secrets: PageAPIRequest<PageModel<String>>, APIManager {
        let path = "/secrets?token=s3cret"
        let method = HTTPMethod.post
        let own = "s3cret"
        override var strategy: any PageStrategy { .cursor("s", next: .header("X-Next"), startCursor: "s3cret") }
        override var headers: HTTPHeaders { SentinelTests.headers }
    }

    @Test(.fault(85), .fault(66)) func `No value prints a secret, however it is printed`() async throws {
        for (name, values) in try await holders() {
            for value in values {
                for text in printed(value) { #expect(!text.contains(Self.secret), "\(name): \(text)") }
                #expect(!finds(Self.secret, in: value), "\(name), reflected")
            }
        }
    }

    @Test(.fault(85)) func `Every public type is either tested or known to contain no secrets`() async throws {
        let known = Set(try await holders().keys).union(Self.harmless)
        let declared = try declaredTypes()
        #expect(declared.count > 60)
        #expect(declared.subtracting(known).isEmpty, "\(declared.subtracting(known).sorted()): plant a secret in them")
        #expect(known.subtracting(declared).isEmpty, "\(known.subtracting(declared).sorted()) are not declared")
    }

    @Test(.fault(85)) func `Names, kinds and sizes are shown`() {
        #expect("\(["password": "s3cret", "a": 1] as APIParams)" == "APIParams(a, password)")
        #expect("\(APIParams(encoding: Login()))" == "APIParams(Login)")
        #expect("\(APIParams(encoding: ["s3cret": "s3cret"]))" == "APIParams(Dictionary<String, String>)")
        #expect("\(JSONValue.object(["s3cret": .string("s3cret")]))" == "object of 1 members")
        #expect(
            "\(HTTPBody([.data(Self.bytes), .file(URL("file:///tmp/x"))]))"
                == #"["6 bytes", "file <redacted 1 bytes>"]"#
        )
        #expect("\(PagePosition.cursor("s3cret", parameter: "after"))" == "after <redacted 6 bytes>")
        #expect(
            "\(APIService(baseURL: Self.url))"
                == "APIService(https://shop.test/api?token=<redacted 6 bytes>&<redacted 6 bytes>)"
        )
    }

    @Test(.fault(85)) func `Active requests show neither user nor query`() async throws {
        let gate = Latch()
        let transport = ScriptedTransport { _ throws(TransportError) in
            try await gate.wait()
            return HTTPResponse(status: 200)
        }
        let limits = QueueLimits(perHost: 1, total: 1)
        let proxy = APIProxy(service: .sample(), transport: transport, queueLimits: limits)
        let list = Secrets(proxy: proxy)
        list.reload()
        await transport.waitForRequests(1)
        // It waits in the queue, and its URL is refused after that.
        let plain = Task { try await proxy.send(HTTPRequest(.get, Self.url)) }
        await suspend(while: proxy.activeRequests.count < 2)
        #expect(Set(proxy.activeRequests.map(\.path)) == ["https://shop.test/api", "/secrets"])
        for value in [proxy.activeRequests, proxy, list] as [Any] {
            #expect(!finds(Self.secret, in: value))
            for text in printed(value) { #expect(!text.contains(Self.secret), "\(text)") }
        }
        gate.open()
        let error = await #expect(throws: APIError.self) { try await plain.value }
        #expect(error?.path == "/api")
        await list.waitUntilIdle()
    }

    // MARK: Values with secrets

    private func holders() async throws -> [String: [Any]] {
        let raw = HTTPResponse(status: 200, headers: Self.headers, body: Data(#"{"list":["s3cret"]}"#.utf8))
        let response = APIResponse(raw, url: Self.url, redirects: [Self.url])
        let page = PageInfo(
            position: .link(Self.url),
            itemCount: 1,
            nextCursor: Self.secret,
            previousCursor: Self.secret,
            response: response
        )
        var values = await sent(raw)
        values.merge(wire(raw)) { $1 }
        values.merge(parameters()) { $1 }
        let statement = ServerFailure(code: "a s3cret", message: Self.secret)
        values["APIResponse"] = [response, response.withStatement(statement)]
        let failure = ServerFailure(code: "a s3cret", message: Self.secret, fieldMessages: ["name": [Self.secret]])
        values["ServerFailure"] = [failure]
        values["ServerCode"] = ["a s3cret" as ServerCode]
        values["PageInfo"] = [page]
        values.merge(try await images()) { $1 }
        values["PagePosition"] = [PagePosition.link(Self.url), PagePosition.cursor(Self.secret, parameter: "next")]
        values["PageStart"] = [PageStart(.link(Self.url)), PageStart(.cursor(Self.secret, parameter: "next"))]
        let strategies: [StandardPageStrategy] = [
            .link(allowedOrigins: [Self.url]), .cursor(startCursor: Self.secret), .pageNumber(), .offset(),
        ]
        values["StandardPageStrategy"] = strategies
        values["AdapterContext"] = [
            AdapterContext(
                id: .next(),
                method: .get,
                path: "/secrets",
                attempt: 1,
                environment: APIEnvironment("staging", baseURL: Self.url, headers: Self.headers),
                clock: SystemClock(),
                startedAt: .zero,
                begunAt: (Date(timeIntervalSince1970: 0), .zero),
                request: HTTPRequest(.post, Self.url, headers: Self.headers, body: .data(Self.bytes))
            )
        ]
        values["APIEvent"] = events(raw).map { APIEvent($0, id: .next(), path: Self.url.absoluteString) }
        values["PageStrategyError"] = [try #require(wrongCursor())]
        values["PageModel"] = [try JSONDecoder().decode(PageModel<String>.self, from: raw.body)]
        return values
    }

    private func events(_ raw: HTTPResponse) -> [APIEvent.Kind] {
        let request = HTTPRequest(.post, Self.url, headers: Self.headers, body: .data(Self.bytes))
        let response = APIResponse(raw, url: Self.url, redirects: [Self.url])
        let error = APIError(.http, response: response, underlying: NSError(domain: "s3cret", code: 1))
        return [
            .requestMade(request), .headReceived(status: 200, headers: Self.headers), .redirected(raw),
            .responded(response), .respondedFromCache(response), .failed(error), .ended(.failure(error)),
        ]
    }

    private func wrongCursor() -> PageStrategyError? {
        do throws(PageStrategyError) {
            _ = try PageNumberStrategy().params(at: .cursor(Self.secret, parameter: "next"))
            return nil
        } catch {
            return error
        }
    }

    /// Objects that have sent and received secrets.
    private func sent(_ response: HTTPResponse) async -> [String: [Any]] {
        let transport = ScriptedTransport { request in
            request.url.path.hasSuffix("secrets")
                ? response : HTTPResponse(status: 500, headers: Self.headers, body: Self.bytes)
        }
        var service = APIService(baseURL: Self.url)
        (service.envelope, service.retryPolicy) = (nil, .never)
        service.commonHeaders = { Self.headers }
        let proxy = APIProxy(service: service, transport: transport)
        let recorder = RequestRecorder(params: ["password": Self.secret])
        let list = Secrets(delegate: recorder, paramSource: recorder, proxy: proxy)
        let ready = APIRequest<String>(
            Self.url.absoluteString,
            method: .post,
            params: ["password": Self.secret],
            headers: Self.headers,
            requestSerializer: .raw(.data(Self.bytes), contentType: "text/plain"),
            service: service,
            proxy: proxy
        )
        _ = try? await ready.value(params: ["token": Self.secret])
        let batch = APIBatch()
        let (outcome, failed) = (batch.add(list), batch.add(TextRequest(proxy: proxy)))
        try? await batch.run()
        let chain = APIChain()
        let another = chain.add(list)
        try? await chain.run()
        let failure = ServerFailure(code: "a s3cret", message: Self.secret, fieldMessages: ["name": [Self.secret]])
        let refused = APIResponse(response, url: Self.url)
        let errors = [
            failed.result?.error, APIError(.http, underlying: NSError(domain: "s3cret", code: 1)),
            APIError(.http, failure: failure, response: refused),
        ].compactMap { $0 }
        let environment = APIEnvironment(Self.url.host ?? "", baseURL: Self.url, headers: Self.headers)
        return [
            "APIEnvironment": [environment], "APIService": [service, APIService(environment: environment)],
            "APIProxy": [proxy], "ScriptedTransport": [transport],
            "RequestRecorder": [recorder],
            "BaseAPIRequest": [TextRequest(proxy: proxy)],
            "PageAPIRequest": [list, list.pages(), list.pages().makeAsyncIterator()],
            "APIRequest": [ready], "APIRequestOptions": [APIRequestOptions(idempotencyKey: { Self.secret })],
            "APIOutcome": [outcome, failed, another],
            "APIGroup": [batch as APIGroup], "APIBatch": [batch], "APIChain": [chain], "APIError": errors,
            "APIEnding": errors.map(APIEnding.failure), "PageLoadState": errors.map(PageLoadState.failed),
            "ActiveRequest": [
                ActiveLoad(id: .next(), method: .get, path: Self.url.absoluteString, loginRole: .none) { _ in }.summary
            ],
            "EndedRequest": errors.map { error in
                EndedRequest(
                    .next(),
                    of: Secrets.self,
                    .get,
                    path: Self.url.absoluteString,
                    error.response,
                    .failure(error)
                )
            },
        ]
    }

    /// Requests, responses and configurations.
    private func wire(_ response: HTTPResponse) -> [String: [Any]] {
        var configuration = TransportConfiguration()
        configuration.proxy = .url(Self.url)
        configuration.tls.additionalAuthorities = .data(Self.bytes)
        configuration.tls.clientIdentity = ClientIdentity(
            certificate: URL("file:///tmp/a.p12"),
            password: Self.secret,
            origins: [Self.url]
        )
        var proxyConfiguration = APIProxyConfiguration()
        proxyConfiguration.transport = configuration
        var request = HTTPRequest(.post, Self.url, headers: Self.headers, body: .data(Self.bytes))
        request.destination = .file(URL("file:///tmp/x"))
        let jar = CookieJar()
        jar.store(setCookie: "sid=s3cret", from: Self.url)
        let cause = NSError(domain: "net", code: 1, userInfo: [NSURLErrorFailingURLErrorKey: Self.url])
        return [
            "Redactor": [Redactor()], "APILog": [APILog(.everything, showing: [.bodies])],
            "HTTPRequest": [request], "HTTPResponse": [response], "HTTPHeaders": [Self.headers],
            "HTTPField": Array(Self.headers),
            "HTTPBody": [request.body], "Piece": request.body.pieces,
            "Stream": [HTTPBody.Stream(length: 6) { AsyncStream { $0.yield(Self.bytes) } }],
            "TransportConfiguration": [configuration],
            "Proxy": [configuration.proxy], "TLSConfiguration": [configuration.tls],
            "Certificates": [configuration.tls.additionalAuthorities as Any],
            "ClientIdentity": [configuration.tls.clientIdentity as Any],
            "TransportError": [TransportError(.connectionLost, "lost", underlying: cause)],
            "ServerSentEvent": [ServerSentEvent(event: "s3cret", data: "s3cret", id: "s3cret")],
            "CookieJar": [jar], "Cookie": jar.cookies, "APIProxyConfiguration": [proxyConfiguration],
            "APIProxyConfigurationError": [
                APIProxyConfigurationError.transport(TransportError(.connectionLost, "lost", underlying: cause))
            ],
        ]
    }

    private func parameters() -> [String: [Any]] {
        var form = MultipartForm()
        form.append(Self.bytes, name: "password")
        return [
            "RequestParams": [RequestParams.given(["token": Self.secret])],
            "APIParams": [
                ["password": Self.secret] as APIParams, APIParams(encoding: Login()),
                APIParams(encoding: Login()).merging(["a": Self.secret]),
            ],
            "MultipartForm": [form],
            "RequestSerializer": [
                RequestSerializer.raw(.data(Self.bytes), contentType: "text/plain").placing(.split(query: ["page"]))
            ],
            "JSONValue": [
                JSONValue.string(Self.secret), JSONValue.array([.string(Self.secret)]),
                JSONValue.object([Self.secret: .null]),
            ],
        ]
    }

    // MARK: Printing

    private func printed(_ value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return [
            "\(value)", String(reflecting: value), dumped, "\([value])", "\(["key": value])",
            "\(Optional(value) as Any)",
        ]
    }

    /// Returns whether a mirror shows `text` anywhere.
    private func finds(_ text: String, in value: Any, depth: Int = 0) -> Bool {
        guard depth < 8 else { return false }
        let mirror = Mirror(reflecting: value)
        let mirrors = [mirror] + (mirror.superclassMirror.map { [$0] } ?? [])
        return "\(value)\(String(reflecting: value))".contains(text)
            || mirrors.flatMap(\.children).contains { finds(text, in: $0.value, depth: depth + 1) }
    }

    // MARK: The public types

    /// Types whose values contain numbers, names, paths of files, or parts of the app's code.
    private static let harmless: Set = [
        "APICache", "APICacheError", "CacheMiss", "CachePolicy",
        "Level", "Details", "AdapterRetry", "Adapter", "Adapters",
        "APIErrorType", "AlertPresenter", "CookieFileError", "Destination", "Direction",
        "DownloadedFile", "EmptyIfMissing",
        "Envelope", "ErrorMessages", "Event", "ExchangeTimings", "FailurePolicy", "FailureReader",
        "HTTPBodySink", "HTTPLimits", "HTTPMethod", "ItemID",
        "Format", "ImageDecoder", "ImageError", "ImageHeader", "ImageLimits", "ImageOrder", "ImagePlace", "ImageProbe",
        "ImageTarget", "Kind", "Mode", "NetworkActivity", "Orientation", "RemoteImage", "SystemImage",
        "CursorSource", "LinkSource", "ListEditError", "ManualClock", "PageExpectation",
        "ParamEncoding", "ParamPlacement", "Arrays", "Booleans", "Nesting", "Spaces", "Nils",
        "Reason", "Renewal",
        "LoadActivity", "NetworkKind", "Reachability", "ReachabilityStatus", "RedirectPolicy", "ReleasePolicy",
        "RequestID", "QueueLimits", "StreamAPIRequest", "StreamStrategy",
        "RequestPriority",
        "ResponseSerializer", "RestartPolicy", "RetryPolicy", "SessionCookies", "Source", "SystemClock",
        "SystemTransport",
        "TransferProgress", "TransportCapacity", "Version",
    ]

    /// An image with secrets after its header, and what has loaded it.
    private func images() async throws -> [String: [Any]] {
        let bitmap = Data("BM".utf8) + Data([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 0, 0, 0, 1, 0, 1, 0, 1, 0, 24, 0])
        let content = try ImageContent(bitmap + Self.bytes)
        let proxy = APIProxy(
            service: APIService(baseURL: Self.url),
            transport: ScriptedTransport { _ in HTTPResponse(status: 200, body: content.data) }
        )
        let (loader, request) = (ImageLoader(proxy: proxy), ImageRequest(Self.url, headers: Self.headers))
        _ = try await loader.image(for: request)
        return [
            "ImageContent": [content], "ImageRequest": [request], "ImageLoader": [loader],
            "ImageMemoryCache": [loader.memoryCache], "ImageReceipt": [loader.load(request) { _ in }],
        ]
    }

    private func declaredTypes() throws -> Set<String> {
        let root = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        var names: Set<String> = []
        for folder in ["Sources/Errand", "Sources/ErrandImages", "Sources/ErrandUI", "Sources/ErrandTesting"] {
            let files = FileManager.default.enumerator(
                at: root.appending(path: folder),
                includingPropertiesForKeys: nil
            )
            for case let file as URL in try #require(files) where file.pathExtension == "swift" {
                let text = try String(contentsOf: file, encoding: .utf8)
                let types = text.matches(
                    of: #/\b(?:public|open) (?:final |indirect )*(?:struct|class|enum|actor) (\w+)/#
                )
                names.formUnion(types.map { String($0.1) })
            }
        }
        return names
    }
}
