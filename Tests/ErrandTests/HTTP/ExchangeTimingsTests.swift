import ErrandTesting
import Foundation
import Testing

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
