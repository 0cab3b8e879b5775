import Errand
import Foundation

/// Records every exchange of the proxies that it monitors.
final class Wire: APIMonitor {
    private struct State {
        /// The exchanges under way, by load.
        var open: [RequestID: (request: HTTPRequest, start: ContinuousClock.Instant)] = [:]
        var ended: [Exchange] = []
    }

    private let state = Lock(State())
    private let (endings, news) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// The exchanges that have ended since the log was cleared, in the order of their beginnings: the events of one load may follow
    /// those of the next.
    var exchanges: [Exchange] { state.withLock(\.ended).sorted { $0.start < $1.start } }

    /// Clears the log.
    func forget() {
        state.withLock { $0.ended = [] }
    }

    /// Waits for an exchange that satisfies the condition, and returns the first one.
    func exchange(where isWanted: (Exchange) -> Bool) async throws -> Exchange {
        if let exchange = exchanges.first(where: isWanted) { return exchange }
        for await _ in endings {
            if let exchange = exchanges.first(where: isWanted) { return exchange }
        }
        throw CancellationError()
    }

    /// Waits until no exchange is under way: the events of a load may follow what its delegate does.
    func settle() async {
        while !Task.isCancelled, !state.withLock(\.open.isEmpty) { for await _ in endings { break } }
    }

    func observe(_ event: APIEvent) {
        switch event.kind {
        case .requestMade(let request): state.withLock { $0.open[event.id] = (request, event.time) }
        case .redirected(let response): end(event, with: .response(status: response.status, body: response.body))
        case .responded(let response): end(event, with: .response(status: response.status, body: response.body))
        case .failed(let error): end(event, with: .failure(error))
        // The exchange of a load that is cancelled does not end before the load.
        case .ended: end(event, with: .failure(APIError(.cancelled)))
        default: break
        }
    }

    private func end(_ event: APIEvent, with outcome: Exchange.Outcome) {
        let isOpen = state.withLock { state in
            guard let (request, start) = state.open.removeValue(forKey: event.id) else { return false }
            state.ended.append(Exchange(request, outcome, start, start.duration(to: event.time)))
            return true
        }
        if isOpen { news.yield() }
    }
}

/// One request and its response, as sent and received.
struct Exchange: Sendable {
    /// How it has ended.
    enum Outcome {
        case response(status: Int, body: Data)
        case failure(APIError)
    }

    let request: HTTPRequest
    /// The path and the query.
    let path: String
    /// The kinds of credentials in the request's headers.
    let credentials: String
    let outcome: Outcome
    let start: ContinuousClock.Instant
    let duration: Duration

    init(_ request: HTTPRequest, _ outcome: Outcome, _ start: ContinuousClock.Instant, _ duration: Duration) {
        self.request = request
        self.start = start
        path = request.url.path + (request.url.query.map { "?" + $0 } ?? "")
        let kinds = [("Cookie", "cookie"), ("X-Token", "token"), ("X-Key-ID", "key")]
        let shown = kinds.filter { request.headers[$0.0] != nil }
        credentials = shown.map(\.1).joined(separator: ", ")
        self.outcome = outcome
        self.duration = duration
    }

    /// The HTTP status; `nil` without a response.
    var status: Int? {
        guard case .response(let status, _) = outcome else { return nil }
        return status
    }

    /// The body of the response; `nil` without one.
    var body: Data? {
        guard case .response(_, let body) = outcome else { return nil }
        return body
    }

    /// The error of the exchange; `nil` with a response.
    var error: APIError? {
        guard case .failure(let error) = outcome else { return nil }
        return error
    }

    /// The `errcode` of a response in an envelope.
    var code: Int? {
        body.flatMap { try? JSONDecoder().decode(Code.self, from: $0) }?.errcode
    }

    private struct Code: Decodable {
        let errcode: Int
    }

    fileprivate var shownOutcome: String {
        switch outcome {
        case .response(let status, _): String(status)
        case .failure(let error): (error.underlying as? TransportError).map { "\($0.kind)" } ?? "\(error.type)"
        }
    }
}

extension Table {
    /// Creates a table with a row for each exchange.
    init(_ exchanges: [Exchange]) {
        self.init(
            .left("Wire"),
            .left("Path"),
            .left("Shows"),
            .right("Status"),
            .right("Code"),
            .right("Bytes"),
            .right("ms")
        )
        for exchange in exchanges {
            add(
                exchange.request.method.rawValue,
                // The beginning of a long path.
                exchange.path.count > 50 ? exchange.path.prefix(49) + "…" : exchange.path,
                exchange.credentials,
                exchange.shownOutcome,
                exchange.code.map(String.init) ?? "",
                exchange.body.map { String($0.count) } ?? "",
                String(Int(exchange.duration / .milliseconds(1)))
            )
        }
    }
}

/// A transport that holds the expected number of requests, and then sends all of them.
///
/// Nothing is added to a request afterwards: a session or a key that the response to one of them renews is not in another.
final class StartingLine: HTTPTransport {
    private struct State {
        var expected = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
        var isOffline = false
    }

    private let transport: any HTTPTransport
    private let state = Lock(State())

    /// Creates a barrier before another transport.
    init(before transport: any HTTPTransport) {
        self.transport = transport
    }

    var capacity: TransportCapacity { transport.capacity }

    /// Lets the next `count` requests wait for each other.
    func expect(_ count: Int) {
        state.withLock { $0.expected = count }
    }

    /// Lets all requests fail as without a network.
    func goOffline() { state.withLock { $0.isOffline = true } }

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        await cross()
        guard !state.withLock(\.isOffline) else { throw TransportError(.noNetwork, "in a tunnel") }
        return try await transport.send(request, progress: progress)
    }

    /// Waits for the expected requests; returns at once when none is expected, or when a waiting one is cancelled.
    private func cross() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOpen = state.withLock { state in
                    state.waiting.append(continuation)
                    return state.waiting.count >= state.expected
                }
                if isOpen { open() }
            }
        } onCancel: {
            open()
        }
    }

    private func open() {
        let waiting = state.withLock { state in
            state.expected = 0
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
