import ErrandTesting
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// How a case of the suite has ended.
enum CacheSuiteResult: Sendable, Encodable {
    case passed
    case failed(CacheSuiteFailure)

    /// In the format of the suite's results.
    func encode(to encoder: any Encoder) throws {
        switch self {
        case .passed:
            var container = encoder.singleValueContainer()
            try container.encode(true)
        case .failed(let failure):
            var container = encoder.unkeyedContainer()
            try container.encode(failure.name)
            try container.encode(failure.message)
        }
    }
}

/// Why a case of the suite does not pass.
struct CacheSuiteFailure: Error {
    /// `Setup` if nothing was tested, `Assertion`, or `TypeError` for what is one in the suite's own client.
    let name: String
    let message: String

    static func error(_ message: String) -> CacheSuiteFailure { CacheSuiteFailure(name: "TypeError", message: message) }

    static func check(
        _ condition: Bool,
        setup: Bool,
        _ message: @autoclosure () -> String
    ) throws(CacheSuiteFailure) {
        guard !condition else { return }
        throw CacheSuiteFailure(name: setup ? "Setup" : "Assertion", message: message())
    }
}

/// What the client receives for one request.
struct CacheSuiteResponse: Sendable {
    /// `nil` if there is no response.
    let status: Int?
    let headers: HTTPHeaders
    let body: String
    let interimResponses: [(status: Int, headers: HTTPHeaders)]

    /// The values of all lines of a name, as one.
    subscript(name: String) -> String? {
        let fields = headers.fields(named: name)
        return fields.isEmpty ? nil : fields.map { String(latin1: $0.bytes) }.joined(separator: ", ")
    }

    /// The number that the server gave to the request for which it sent this response.
    var serverCount: Int? { self["Server-Request-Count"]?.leadingNumber }
}

/// The client of the suite: sends the requests of one case through a proxy with a cache of its own.
@MainActor final class CacheSuiteClient {
    private let test: CacheSuite.Test
    private let server: CacheSuiteServer
    private let log: @Sendable (String) -> Void
    private let clock = ManualClock()
    private let folder: TemporaryFolder
    private let resource: CacheSuiteResource
    private let transport: InterimObserver
    private let proxy: APIProxy
    private let service: APIService

    init(
        _ test: CacheSuite.Test,
        server: CacheSuiteServer,
        transport: SystemTransport,
        log: @escaping @Sendable (String) -> Void
    ) throws {
        (self.test, self.server, self.log) = (test, server, log)
        folder = try TemporaryFolder()
        resource = CacheSuiteResource(test.requests, clock: clock, log: log)
        self.transport = InterimObserver(base: transport)
        let cache = APICache(folder: folder.url, capacity: 64 << 20, usesHeuristicFreshness: true)
        proxy = APIProxy(transport: self.transport, cookies: CookieJar(), clock: clock, cache: cache)
        var service = APIService(baseURL: server.baseURL)
        (service.envelope, service.failureReader, service.retryPolicy) = (nil, nil, .never)
        service.loginExpiredStatuses = []
        self.service = service
    }

    /// Runs the case.
    func result() async -> CacheSuiteResult {
        server.add(resource)
        defer { server.remove(resource) }
        do throws(CacheSuiteFailure) {
            try await run()
            return .passed
        } catch {
            return .failed(error)
        }
    }

    private func run() async throws(CacheSuiteFailure) {
        var responses: [CacheSuiteResponse] = []
        for (index, step) in test.requests.enumerated() {
            let response = try await response(to: index, after: responses.last)
            responses.append(response)
            try CacheSuiteCheck(step, number: index + 1, response).check(body: resource.id)
            guard step.pauseAfter == true else { continue }
            await settle()
            clock.advance(by: .seconds(3))
        }
        await settle()
        try checkArrivals(for: responses)
    }

    /// Waits for what the cache does after it has responded, for which a pause of the suite is long enough.
    private func settle() async {
        await suspend(while: !proxy.activeRequests.isEmpty || transport.isSending)
    }

    private func response(
        to index: Int,
        after previous: CacheSuiteResponse?
    ) async throws(CacheSuiteFailure) -> CacheSuiteResponse {
        let step = test.requests[index]
        let request = request(for: index, after: previous)
        log("client: \(request.method) \(request.path)\(request.headers.lines)")
        do {
            let response = try await request.value()
            let body = String(decoding: response.body, as: UTF8.self)
            log("client: \(response.status)\(response.headers.lines)\n\n    \(body)")
            return CacheSuiteResponse(
                status: response.status,
                headers: response.headers,
                body: body,
                interimResponses: transport.takeResponses()
            )
        } catch {
            log("client: \(error)")
            // Where the suite expects an error of a proxy, whatever its status, a cache of the client has no response at all.
            guard case .any = step.expectedStatus else { throw .error("Response \(index + 1): \(error)") }
            return CacheSuiteResponse(status: nil, headers: [:], body: "", interimResponses: transport.takeResponses())
        }
    }

    private func request(for index: Int, after previous: CacheSuiteResponse?) -> APIRequest<APIResponse> {
        let step = test.requests[index]
        let body = step.requestBody.map { Data($0.utf8) }
        let path = step.filename.map { "/\($0)" } ?? ""
        let query = step.queryArg.map { "?\($0)" } ?? ""
        return APIRequest(
            "/test/\(resource.id)\(path)\(query)",
            method: HTTPMethod(rawValue: step.requestMethod ?? "GET"),
            headers: headers(for: index, after: previous),
            requestSerializer: body.map { .raw(.data($0), contentType: "text/plain;charset=UTF-8") } ?? .json,
            responseSerializer: ResponseSerializer { response, _ in response },
            service: service,
            options: APIRequestOptions(
                acceptedStatuses: Set(100...999),
                redirectPolicy: .refuse,
                cachePolicy: .http
            ),
            proxy: proxy
        )
    }

    private func headers(for index: Int, after previous: CacheSuiteResponse?) -> HTTPHeaders {
        let step = test.requests[index]
        var headers = HTTPHeaders()
        for header in step.requestHeaders ?? [] {
            let now = step.magicIms == true ? previous?["Server-Now"]?.leadingNumber : nil
            let text = header.resolved(by: step, now: now, base: nil).text
            headers.append(HTTPField(header.name, bytes: text.latin1))
        }
        // As fetch does.
        if step.cache == "no-cache", headers["Cache-Control"] == nil { headers.append("Cache-Control", "max-age=0") }
        headers.append("Test-Name", test.name)
        headers.append("Test-ID", test.id)
        headers.append("Req-Num", String(index + 1))
        return headers
    }

    /// Compares the requests that the server has received with those that it should have.
    private func checkArrivals(for responses: [CacheSuiteResponse]) throws(CacheSuiteFailure) {
        var arrivals = resource.arrivals[...]
        for (index, step) in test.requests.enumerated() {
            let check = CacheSuiteCheck(step, number: index + 1, responses[index])
            // The server does not see it.
            guard step.expectedType != .cached else { continue }
            try check.check(arrivals.popFirst())
        }
    }
}

/// Passes requests on to another transport, and collects the interim responses of the exchanges.
struct InterimObserver: HTTPTransport {
    private final class State: Sendable {
        let responses = Lock<[(status: Int, headers: HTTPHeaders)]>([])
        let sends = Lock(0)
    }

    let base: SystemTransport
    private let state = State()

    init(base: SystemTransport) { self.base = base }

    var capacity: TransportCapacity { base.capacity }

    /// Whether an exchange has not ended.
    var isSending: Bool { state.sends.withLock { $0 > 0 } }

    /// Returns the interim responses since the last call.
    func takeResponses() -> [(status: Int, headers: HTTPHeaders)] {
        state.responses.withLock { responses in
            defer { responses = [] }
            return responses
        }
    }

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        var observed = request
        let former = request.observer
        observed.observer = { [state] event in
            former?(event)
            guard case .interim(let status, let headers) = event else { return }
            state.responses.withLock { $0.append((status, headers)) }
        }
        state.sends.withLock { $0 += 1 }
        defer { state.sends.withLock { $0 -= 1 } }
        return try await base.send(observed, progress: progress)
    }
}

extension HTTPHeaders {
    /// For a log.
    fileprivate var lines: String { map { "\n    \($0.name): \(String(latin1: $0.bytes))" }.joined() }
}
