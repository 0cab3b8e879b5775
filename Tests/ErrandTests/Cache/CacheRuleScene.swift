import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// A server on a socket, and a proxy with a cache in a folder of its own.
@MainActor final class CacheRuleScene {
    let clock = ManualClock()
    let events = EventRecorder()
    let server: FixtureServer
    let folder: TemporaryFolder
    let cache: APICache
    let proxy: APIProxy
    var service: APIService

    /// `respond` receives the number of the request, from 1.
    init(
        limits: QueueLimits = QueueLimits(),
        reachability: Reachability = Reachability(status: .unknown),
        cookies: CookieJar = CookieJar(trustworthyLoopback: true),
        transport: any HTTPTransport = SystemTransport(),
        _ respond: @escaping @Sendable (RecordedRequest, Int) -> Response = { CacheRuleScene.version($1) }
    ) throws {
        let counter = Counter()
        server = try FixtureServer.start { respond($0, counter.next()) }
        folder = try TemporaryFolder()
        cache = APICache(folder: folder.url.appending(path: "cache"))
        service = APIService(baseURL: server.baseURL)
        (service.envelope, service.failureReader, service.retryPolicy) = (nil, nil, .never)
        proxy = APIProxy(
            service: service,
            transport: transport,
            cookies: cookies,
            queueLimits: limits,
            reachability: reachability,
            clock: clock,
            monitors: [events],
            cache: cache
        )
    }

    /// A response that is fresh for a minute, unless the lines say something else.
    nonisolated static func version(
        _ number: Int,
        _ control: String? = "max-age=60",
        _ headers: HeaderLines = [:]
    ) -> Response {
        let lines = control.map { HeaderLines([HeaderLine("Cache-Control", $0)]) } ?? [:]
        return .text("v\(number)", headers: lines + headers)
    }

    func request(
        _ policy: CachePolicy = .http,
        _ path: String = "/goods",
        method: HTTPMethod = .get,
        params: APIParams? = nil,
        headers: HTTPHeaders = [:],
        delegate: (any APIManagerCallbackDelegate)? = nil,
        options change: (inout APIRequestOptions) -> Void = { _ in }
    ) -> APIRequest<String> {
        var options = APIRequestOptions(cachePolicy: policy)
        change(&options)
        return APIRequest(
            path,
            method: method,
            params: params,
            headers: headers,
            service: service,
            options: options,
            delegate: delegate,
            proxy: proxy
        )
    }

    /// Loads, and returns the text and where it comes from, such as `v1 cache`, or the error, such as `http 504`.
    func load(
        _ policy: CachePolicy = .http,
        _ path: String = "/goods",
        method: HTTPMethod = .get,
        params: APIParams? = nil,
        headers: HTTPHeaders = [:],
        options change: (inout APIRequestOptions) -> Void = { _ in }
    ) async -> String {
        await outcome(
            of: request(policy, path, method: method, params: params, headers: headers, options: change)
        )
    }

    func outcome(of request: APIRequest<String>) async -> String {
        do throws(APIError) {
            let text = try await request.value()
            return "\(text) \(request.rawResponse.map { "\($0.source)" } ?? "nowhere")"
        } catch {
            return ["\(error.type)", error.response.map { "\($0.status)" }].compactMap(\.self).joined(separator: " ")
        }
    }

    /// The number of requests that the server has received.
    var sent: Int { server.totalRequests }

    /// Waits for what the cache does after it has responded.
    func settle() async { await suspend(while: !proxy.activeRequests.isEmpty) }

    /// What all events together violate.
    var violations: [String] { events.violations }
}

/// A screen that records what is shown and the endings, in their order.
@MainActor final class CacheScreen: APIManagerCallbackDelegate {
    private(set) var log: [String] = []
    private(set) var shown: [APIResponse] = []
    private let screen = Screen()
    var onShown: (@MainActor (BaseAPIRequest) -> Void)?

    func managerCallAPI(_ request: BaseAPIRequest, didLoadCached response: APIResponse) {
        #expect(request.isLoading, "shown after the ending")
        log.append("shown \(response.text)")
        shown.append(response)
        onShown?(request)
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) {
        log.append("success \(request.rawResponse?.text ?? "-")")
        screen.managerCallAPIDidSucceed(request)
    }

    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        log.append("failure \(error.type)")
        screen.managerCallAPIDidFail(request, with: error)
    }

    func managerCallAPIDidCancel(_ request: BaseAPIRequest) {
        log.append("cancelled")
        screen.managerCallAPIDidCancel(request)
    }

    func ending() async -> Screen.Event? { await screen.ending() }
}

/// Accepts what a closure accepts.
@MainActor final class ContentValidator: APIManagerValidator {
    private let accepts: @MainActor (any Sendable) throws -> Bool

    init(_ accepts: @escaping @MainActor (any Sendable) throws -> Bool) { self.accepts = accepts }

    func request(_ request: BaseAPIRequest, accepts content: any Sendable, in response: APIResponse) throws -> Bool {
        try accepts(content)
    }
}

/// A `GET` whose validator a test sets.
final class ValidatedRequest: SampleRequest, APIManager {
    typealias Response = String

    required init(
        delegate: (any APIManagerCallbackDelegate)? = nil,
        paramSource: (any APIManagerParamSource)? = nil,
        proxy: APIProxy?
    ) {
        super.init(delegate: delegate, paramSource: paramSource, proxy: proxy)
        method = .get
    }
}
