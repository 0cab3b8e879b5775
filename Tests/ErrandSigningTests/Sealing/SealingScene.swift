import Errand
import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import ErrandSigning

/// A proxy whose service seals its traffic, with a separate server.
struct SealingScene: Sendable {
    let server: SealingServer
    let exchange: SampleExchange
    let sealing: TrafficSealing
    let transport: ScriptedTransport
    let proxy: APIProxy

    init(
        _ cipher: SealingCipher = .aesGCM,
        isBase64: Bool = false,
        limits: QueueLimits = QueueLimits(perHost: 100_000, total: 100_000),
        clock: any APIClock = SystemClock(),
        before: @escaping @Sendable (HTTPRequest) async throws -> Void = { _ in },
        change: (inout TrafficSealing) -> Void = { _ in },
        service changeService: (inout APIService) -> Void = { _ in }
    ) {
        server = SealingServer(cipher, isBase64: isBase64)
        exchange = SampleExchange(server)
        var sealing = TrafficSealing(cipher: cipher, keyExchange: exchange, expiredCodes: [4011])
        sealing.encoding = isBase64 ? .base64 : .binary
        // A test may wait longer than the default of a minute for a thread of a busy machine.
        sealing.exchangeTimeout = .seconds(600)
        change(&sealing)
        self.sealing = sealing
        transport = server.transport(before)
        guard let url = URL(string: "http://shop.test/api") else { preconditionFailure("no URL") }
        var service = APIService(baseURL: url)
        service.retryPolicy = .never
        changeService(&service)
        service.seal(with: sealing)
        proxy = APIProxy(service: service, transport: transport, queueLimits: limits, clock: clock)
    }

    /// The session of the only environment.
    var session: KeySession? { proxy.defaultService.map { sealing.sessions.session(of: $0.environment) } }

    /// Sends text and returns the text in the response, which is the JSON of the parameters.
    func send(_ text: String, options: APIRequestOptions = APIRequestOptions()) async throws(APIError) -> String {
        try await APIRequest<String>("/echo", method: .post, params: ["text": text], options: options, proxy: proxy)
            .value()
    }

    /// The type of the error with which a load fails; `nil` for a success.
    func failure(_ text: String = "hello") async -> APIError? {
        do throws(APIError) {
            _ = try await send(text)
            return nil
        } catch {
            return error
        }
    }

    /// Begins loads, and returns how each of them ends.
    func failures(_ count: Int) async -> [APIErrorType?] {
        await withTaskGroup { group in
            for number in 0..<count { group.addTask { await failure("\(number)")?.type } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// Waits until this many loads wait for the running exchange.
    func waitForWaiters(_ count: Int) async {
        await suspend(while: session?.waiterCount != count)
    }
}

/// A server with session keys, written after the format in the documentation of ``TrafficSealing``.
final class SealingServer: Sendable {
    /// What it does to its next responses.
    typealias Change = @Sendable (inout HTTPResponse) -> Void

    private struct State {
        var keys: [String: Data] = [:]
        var valid: Set<String> = []
        var exchanges = 0
        var refusals = 0
        var bodies: [String] = []
        var change: Change?
        var status = 200
        var isBodiless = false
    }

    let cipher: SealingCipher
    let isBase64: Bool
    private let state = Lock(State())

    init(_ cipher: SealingCipher = .aesGCM, isBase64: Bool = false) {
        (self.cipher, self.isBase64) = (cipher, isBase64)
    }

    /// How many keys it has given out.
    var exchanges: Int { state.withLock(\.exchanges) }
    /// How many requests had an expired key.
    var refusals: Int { state.withLock(\.refusals) }
    /// The opened bodies of the requests that it has served.
    var bodies: [String] { state.withLock(\.bodies) }

    func setChange(_ change: Change?) { state.withLock { $0.change = change } }

    /// Makes all further responses have this status, and be a sealed body of no bytes.
    func sealNothing(status: Int) { state.withLock { ($0.status, $0.isBodiless) = (status, true) } }

    /// Makes all keys expire.
    func expireKeys() { state.withLock { $0.valid = [] } }

    func makeKey() -> SessionKey {
        let bytes = Data.random(count: 32)
        return state.withLock { state in
            state.exchanges += 1
            let key = SessionKey(id: "k\(state.exchanges)", bytes: bytes)
            state.keys[key.id] = bytes
            state.valid.insert(key.id)
            return key
        }
    }

    /// Responds to one request; `target` is path and query as received.
    func response(_ method: String, _ target: String, _ headers: HTTPHeaders, _ body: Data) -> HTTPResponse {
        if target.hasSuffix("/keys") { return keyResponse(isSealed: headers["X-Key-ID"] != nil) }
        guard let id = headers["X-Key-ID"] else { return .json(#"{"errcode":400,"msg":"no key"}"#, status: 400) }
        guard let key = state.withLock({ $0.valid.contains(id) ? $0.keys[id] : nil }) else {
            state.withLock { $0.refusals += 1 }
            return .json(#"{"errcode":4011,"msg":"key expired"}"#)
        }
        let type = headers["X-Sealed-Content-Type"] ?? ""
        guard let nonce = headers["X-Sealed-Nonce"] else { return .status(400) }
        let lines = "request\n\(method)\n\(target)\n\(id)\n\(nonce)\n\(type)"
        guard let text = body.isEmpty ? "" : opened(body, key, lines) else { return .status(400) }
        state.withLock { $0.bodies.append(text) }
        let (status, isBodiless) = state.withLock { ($0.status, $0.isBodiless) }
        let common = "response\n\(method)\n\(target)\n\(id)\n\(nonce)\napplication/json"
        var response = sealed(isBodiless ? nil : text, key, "\(common)\n\(status)")
        response.status = status
        state.withLock(\.change)?(&response)
        return response
    }

    private func keyResponse(isSealed: Bool) -> HTTPResponse {
        guard !isSealed else { return .json(#"{"errcode":400,"msg":"sealed"}"#, status: 400) }
        let key = makeKey()
        let data = #"{"id":"\#(key.id)","key":"\#(key.bytes.base64EncodedString())"}"#
        return .json(#"{"errcode":200,"msg":"ok","data":\#(data)}"#)
    }

    private func opened(_ body: Data, _ key: Data, _ lines: String) -> String? {
        let bytes = isBase64 ? Data(base64Encoded: body) : body
        let opened = bytes.flatMap { try? cipher.open($0, key: key, authenticating: Data(lines.utf8)) }
        return opened.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the response with a text, or with a sealed body of no bytes for `nil`.
    private func sealed(_ text: String?, _ key: Data, _ lines: String) -> HTTPResponse {
        let body = text.map { text in
            let data = (try? JSONEncoder().encode(text)) ?? Data()
            return Data(#"{"errcode":200,"msg":"ok","data":\#(String(decoding: data, as: UTF8.self))}"#.utf8)
        }
        let nonce = Data.random(count: 12)
        let plaintext = body ?? Data()
        let sealed = (try? cipher.seal(plaintext, key: key, nonce: nonce, authenticating: Data(lines.utf8))) ?? Data()
        return HTTPResponse(
            status: 200,
            headers: ["Content-Type": "application/x-sealed", "X-Sealed-Content-Type": "application/json"],
            body: isBase64 ? sealed.base64EncodedData() : sealed
        )
    }
}

extension SealingServer {
    /// A transport whose requests this server serves.
    func transport(_ before: @escaping @Sendable (HTTPRequest) async throws -> Void = { _ in }) -> ScriptedTransport {
        ScriptedTransport { [self] request in
            try await before(request)
            var body = Data()
            for case .data(let data) in request.body.pieces { body += data }
            let query = request.url.query(percentEncoded: true).map { "?\($0)" } ?? ""
            let target = request.url.path(percentEncoded: true) + query
            return response(request.method.rawValue, target, request.headers, body)
        }
    }
}

/// A latch that a test opens once.
actor Gate {
    private var isOpen = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    func open() {
        isOpen = true
        for waiter in waiters { waiter.resume() }
        waiters = []
    }

    func wait() async {
        guard !isOpen else { return }
        await withCheckedContinuation { waiters.append($0) }
    }
}

/// Exchanges keys with a ``SealingServer``.
final class SampleExchange: KeyExchange {
    struct Refused: Error {}

    private struct State {
        var calls = 0
        var error: (any Error)?
        var gate: Gate?
        var load: (@Sendable () async throws -> SessionKey)?
    }

    private let server: SealingServer
    private let state = Lock(State())

    init(_ server: SealingServer) { self.server = server }

    /// The number of calls.
    var calls: Int { state.withLock(\.calls) }

    func fail(with error: (any Error)?) { state.withLock { $0.error = error } }
    func wait(at gate: Gate?) { state.withLock { $0.gate = gate } }
    func load(_ load: @escaping @Sendable () async throws -> SessionKey) { state.withLock { $0.load = load } }

    func sessionKey() async throws -> SessionKey {
        let (gate, load) = state.withLock { state in
            state.calls += 1
            return (state.gate, state.load)
        }
        await gate?.wait()
        if let error = state.withLock(\.error) { throw error }
        return try await load?() ?? server.makeKey()
    }
}
