import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

/// The changes that request adapters make before a request is sent.
@MainActor @Suite("Request adapters change requests before they are sent", .hangLimit, .timeLimit(.minutes(10)))
struct RequestAdapterTests {
    private struct Unsigned: Error {}

    private let screen = Screen()

    private func service(_ adapt: @escaping @Sendable (inout HTTPRequest) async throws -> Void) -> APIService {
        .sample { $0.adapters.request = [Adapter { request, _ in try await adapt(&request) }] }
    }

    @Test func `It receives the whole request, and its changes are sent`() async {
        let service = service { request in
            await Task.yield()
            guard case .data(let body) = request.body.pieces.first else { throw Unsigned() }
            let text = String(decoding: body, as: UTF8.self)
            request.headers["X-Signature"] = "\(request.method) \(request.url.path) \(text)"
        }
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport, service: service))
        request.reform = { _ in ["a": 1] }
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.map { $0.headers["X-Signature"] } == [#"POST /api/goods {"a":1}"#])
    }

    @Test func `Every send is adapted again, from the request before its changes`() async {
        let calls = Counter()
        var service = service { $0.headers.append("X-Nonce", "\(calls.next())") }
        service.retryPolicy = RetryPolicy()
        service.retryPolicy.baseDelay = .zero
        let transport = ScriptedTransport { request in
            request.headers["X-Nonce"] == "3" ? .json(goodsJSON([])) : .json("", status: 503)
        }
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport, service: service))
        request.method = .get
        request.loadData()
        #expect(await screen.ending() == .success)
        #expect(transport.requests.map { $0.headers.values("X-Nonce") } == [["1"], ["2"], ["3"]])
    }

    /// A load that joins identical ones, with its default service or a given one.
    private func joining(_ proxy: APIProxy, _ service: APIService? = nil) -> GoodsRequest {
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        (request.method, request.ownOptions.coalescesIdentical, request.customService) = (.get, true, service)
        return request
    }

    private func held(_ gate: Latch) -> ScriptedTransport {
        ScriptedTransport { _ in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
    }

    @Test func `Loads that are identical after its changes share an exchange`() async {
        let gate = Latch()
        let transport = held(gate)
        let proxy = APIProxy(fake: transport, service: service { $0.headers["X-Key"] = "same" })
        let requests = (0..<3).map { _ in joining(proxy) }
        for (number, request) in requests.enumerated() {
            request.customHeaders = ["X-Key": "\(number)"]
            request.loadData()
        }
        await suspend(while: proxy.sharedLoadCount < 3)
        gate.open()
        #expect(await screen.endings(of: requests) == [.success, .success, .success])
        #expect(transport.requests.map { $0.headers["X-Key"] } == ["same"])
    }

    @Test(arguments: ["state", "copies", "nonce"])
    func `Loads that differ after its changes have separate exchanges`(_ how: String) async {
        let (gate, calls, language) = (Latch(), Counter(), Counter())
        let transport = held(gate)
        let adapting = service { $0.headers["X-Key"] = how == "nonce" ? "\(calls.next())" : "\(language.count)" }
        let proxy = APIProxy(fake: transport, service: adapting)
        let first = joining(proxy)
        first.loadData()
        await suspend(while: proxy.sharedLoadCount < 1)
        var copy = adapting
        if how == "state" { _ = language.next() }
        if how == "copies" {
            copy.adapters.request = [Adapter { request, _ in request.headers["X-Key"] = "of the copy" }]
        }
        let second = joining(proxy, copy)
        second.loadData()
        await suspend(while: proxy.sharedLoadCount < 2)
        await transport.waitForRequests(2)
        gate.open()
        #expect(await screen.endings(of: [first, second]) == [.success, .success])
        #expect(Set(transport.requests.map { $0.headers["X-Key"] }).count == 2)
    }

    @Test func `A load that it changes to another method than GET, or to a file, shares no exchange`() async throws {
        let (gate, folder) = (Latch(), try TemporaryFolder())
        for change in ["method", "destination"] {
            let transport = held(gate)
            let service = service { request in
                if change == "method" { request.method = .post } else { request.destination = .file(folder.file) }
            }
            let proxy = APIProxy(fake: transport, service: service)
            let requests = (0..<2).map { _ in joining(proxy) }
            for request in requests { request.loadData() }
            await transport.waitForRequests(2)
            #expect(proxy.sharedLoadCount == 0)
            proxy.cancelAllRequests()
            #expect(await screen.endings(of: requests) == [.cancelled, .cancelled])
        }
        #expect(try folder.names.isEmpty)
    }

    @Test func `Its error is the failure of the load, and nothing is sent`() async {
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let unsigned = GoodsRequest(proxy: APIProxy(fake: transport, service: service { _ in throw Unsigned() }))
        let error = await #expect(throws: APIError.self) { try await unsigned.value() }
        #expect(error?.type == .invalidRequest)
        #expect(error?.underlying is Unsigned)
        let locked = GoodsRequest(
            proxy: APIProxy(fake: transport, service: service { _ in throw APIError(.security, reason: "no key") })
        )
        #expect(await #expect(throws: APIError.self) { try await locked.value() }?.reason == "no key")
        #expect(transport.requests.isEmpty)
    }

    @Test func `A load that is cancelled meanwhile is not sent`() async throws {
        let (begun, gate) = (Latch(), Latch())
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let service = service { _ in
            begun.open()
            try await gate.wait()
        }
        let request = GoodsRequest(delegate: screen, proxy: APIProxy(fake: transport, service: service))
        request.loadData()
        try await begun.wait()
        request.cancelAllRequests()
        gate.open()
        #expect(await screen.ending() == .cancelled)
        await sentinel(request.proxy)
        #expect(transport.requests.isEmpty)
    }
}
