import Foundation
import TestSupport
import Testing

@testable import FixtureServer

@Suite("Recording", .limitedConcurrency, .timeLimit(.minutes(10)))
struct RecordingTests {
    @Test func `Requests are taken in the order of their arrival, after a wait if necessary`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        async let first = server.takeRequest()
        let client = try RawClient(port: server.port)
        for path in ["/1", "/2", "/3"] { client.request("GET", path) }
        #expect(try await first.path == "/1")
        #expect(try await server.takeRequest().path == "/2")
        #expect(try await server.takeRequest().path == "/3")
        #expect(server.requests.map(\.path) == ["/1", "/2", "/3"])
    }

    @Test func `A wait ends at its timeout, when the task is cancelled and when the server stops`() async throws {
        let server = try FixtureServer.start { _ in .text("ok") }
        await #expect(throws: NoRequest.self) { try await server.takeRequest(timeout: .milliseconds(1)) }
        let cancelled = Task { try await server.takeRequest(timeout: .seconds(60)) }
        cancelled.cancel()
        await #expect(throws: NoRequest.self) { try await cancelled.value }
        let stopped = Task { try await server.takeRequest(timeout: .seconds(60)) }
        server.stop()
        await #expect(throws: NoRequest.self) { try await stopped.value }
        await #expect(throws: NoRequest.self) { try await server.takeRequest(timeout: .seconds(60)) }
    }

    @Test func `Only the last requests are kept, and all are counted`() async throws {
        var options = ServerOptions()
        options.recordedRequests = 5
        let server = try FixtureServer.start(options) { .text($0.path) }
        var client = try RawClient(port: server.port)
        for index in 1...100 {
            client.request("GET", "/\(index)")
            #expect(client.reply().text == "/\(index)")
        }
        #expect(server.totalRequests == 100)
        #expect((5..<10).contains(server.requests.count))
        #expect(server.requests.last?.path == "/100")
        server.removeRecordedRequests()
        #expect(server.requests.isEmpty && server.totalRequests == 100)
    }

    @Test func `Bodies are kept, hashed or discarded`() async throws {
        let body = (0..<300_000).map { UInt8($0 & 255) }
        var options = ServerOptions()
        options.bodyHandling = { head in
            switch head.path {
            case "/digest": .digest
            case "/discard": .discard
            default: .keep(upTo: 1000)
            }
        }
        let server = try FixtureServer.start(options) { _ in .text("ok") }
        for path in ["/keep", "/digest", "/discard"] {
            var client = try RawClient(port: server.port)
            client.request("POST", path, body: body)
            #expect(client.reply().status == 200)
        }
        let requests = server.requests
        #expect(requests.map(\.bodyCount) == [300_000, 300_000, 300_000])
        #expect(requests.map(\.body.count) == [1000, 0, 0])
        #expect(requests.map(\.bodySHA256) == [nil, SHA256.hexadecimal(of: body), nil])
    }

    @Test func `A body waits in the socket until the test opens the gate`() async throws {
        let gate = Gate()
        var options = ServerOptions()
        options.bodyHandling = { _ in .pause(after: 1, until: gate) }
        let server = try FixtureServer.start(options) { _ in .text("ok") }
        var client = try RawClient(port: server.port)
        client.request("POST", "/", body: [UInt8](repeating: 1, count: 300_000))
        #expect(await !server.waitForTotalRequests(1, timeout: .milliseconds(20)))
        gate.open()
        #expect(client.reply().text == "ok")
        #expect(try await server.takeRequest().bodyCount == 300_000)
    }
}
