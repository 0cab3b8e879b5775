import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

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
