import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@Suite("Timings")
struct ExchangeTimingsTests {
    private var timings: ExchangeTimings {
        var timings = ExchangeTimings(startedAt: Date(timeIntervalSince1970: 0), total: .microseconds(12_345))
        (timings.connect, timings.request) = (.microseconds(1_200), .microseconds(100))
        (timings.firstByte, timings.body) = (.milliseconds(10), .milliseconds(1))
        (timings.protocolName, timings.remoteAddress, timings.remotePort) = ("http/1.1", "127.0.0.1", 8080)
        timings.isReused = true
        return timings
    }

    @Test func `The description is one line with phases and connection`() {
        #expect(
            "\(timings)"
                == "12.3 ms: connect 1.2, request 0.1, first byte 10.0, body 1.0; http/1.1 127.0.0.1:8080, reused"
        )
        var other = timings
        (other.nameLookup, other.tls, other.remoteAddress, other.isReused) = (.zero, .seconds(2), "::1", false)
        #expect("\(other)".contains("name lookup 0.0, connect 1.2, TLS 2000.0, "))
        #expect("\(other)".hasSuffix("; http/1.1 [::1]:8080"))
        #expect("\(ExchangeTimings(startedAt: .now, total: .milliseconds(7)))" == "7.0 ms")
    }

    @Test func `The phases are in the order in which they occur`() {
        #expect(timings.phases.map(\.name) == ["connect", "request", "firstByte", "body"])
    }

    @Test func `A copy does not change when another one does`() {
        let first = timings
        var second = first
        second.attempt = 2
        #expect(first.attempt == 1 && second.attempt == 2)
    }

    @MainActor @Test func `Timings of a script arrive with the response and the error of a load`() async throws {
        let timings = timings
        let transport = ScriptedTransport { request in
            if request.url.path == "/lost" {
                var error = TransportError(.connectionLost, "lost")
                error.timings = timings
                throw error
            }
            var response = HTTPResponse.json(
                #"{"errcode":200,"data":{}}"#,
                status: request.url.path == "/ok" ? 200 : 500
            )
            response.timings = timings
            return response
        }
        let proxy = APIProxy(service: .sample(), transport: transport)
        let response = try await proxy.send(HTTPRequest(.get, URL("http://a.test/ok")))
        #expect(response.timings?.firstByte == timings.firstByte)
        let options = APIRequestOptions(retryPolicy: .never)
        for path in ["/lost", "/refused"] {
            let error = await #expect(throws: APIError.self) {
                try await APIRequest<Goods>(path, options: options, proxy: proxy).value()
            }
            #expect(error?.timings?.connect == timings.connect, "\(path)")
        }
    }

    @Test func `Timings of a script arrive with a response in a file`() async throws {
        let timings = timings
        let folder = try TemporaryFolder()
        let transport = ScriptedTransport { _ in
            var response = HTTPResponse(status: 200, body: Data("text".utf8))
            response.timings = timings
            return response
        }
        var request = HTTPRequest(.get, URL("http://a.test/"))
        request.destination = .file(folder.url.appendingPathComponent("file"))
        let proxy = APIProxy(service: .sample(), transport: transport)
        let response = try await proxy.send(request)
        #expect(response.file != nil && response.timings?.body == timings.body)
    }
}

@Suite("The time in the queue is part of the timings, with monitors and without", .hangLimit, .timeLimit(.minutes(10)))
@MainActor struct QueueTimeTests {
    private final class Listener: APIMonitor {
        func observe(_ event: APIEvent) {}
    }

    private let gate = Latch()

    private func proxy(isMonitored: Bool) -> (proxy: APIProxy, transport: ScriptedTransport) {
        let transport = ScriptedTransport { [gate] request in
            try await gate.wait()
            var response = HTTPResponse(status: 200, body: Data("text".utf8))
            response.timings = ExchangeTimings(startedAt: .now, total: .milliseconds(1))
            return response
        }
        let proxy = APIProxy(
            service: .sample(),
            transport: transport,
            queueLimits: QueueLimits(perHost: 1),
            monitors: isMonitored ? [Listener()] : []
        )
        return (proxy, transport)
    }

    @Test(arguments: [false, true], [false, true])
    func `A load that queues has its time there, and the one before it none`(
        isMonitored: Bool,
        isCoalescing: Bool
    ) async throws {
        let (proxy, transport) = proxy(isMonitored: isMonitored)
        let requests = (0..<2).map { number in
            let request = TextRequest(proxy: proxy)
            (request.method, request.path) = (.get, "/\(number)")
            request.ownOptions.coalescesIdentical = isCoalescing
            return request
        }
        requests[0].loadData()
        await transport.waitForRequests(1)
        requests[1].loadData()
        await suspend(while: proxy.queuedCount == 0)
        gate.open()
        for request in requests { await request.waitUntilIdle() }
        let timings = try requests.map { try #require($0.rawResponse?.timings) }
        #expect(timings[0].queue == .zero)
        #expect(try #require(timings[1].queue) > .zero)
        #expect(timings.map(\.attempt) == [1, 1])
    }

    @Test(arguments: [false, true]) func `A plain call that queues has its time there`(isMonitored: Bool) async throws {
        let (proxy, transport) = proxy(isMonitored: isMonitored)
        let request = HTTPRequest(.get, URL("http://shop.test/api/0"))
        async let first = proxy.send(request)
        await transport.waitForRequests(1)
        async let second = proxy.send(request)
        await suspend(while: proxy.queuedCount == 0)
        gate.open()
        #expect(try await first.timings?.queue == .zero)
        #expect(try #require(await second.timings?.queue) > .zero)
    }
}
