import Errand
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

@Suite("The events of an exchange", .limitedConcurrency, .timeLimit(.minutes(10)))
struct TransportEventTests {
    /// Records events as text.
    private final class Recorder: Sendable {
        private let texts = Lock<[String]>([])
        private let isClosed = Lock(false)
        private let lateCount = Lock(0)
        let sent = Gate()

        var events: [String] { texts.withLock(\.self) }
        /// The events that were reported after ``close()``.
        var lateEvents: Int { lateCount.withLock(\.self) }

        func close() { isClosed.withLock { $0 = true } }

        func observe(_ event: TransportEvent) {
            if isClosed.withLock(\.self) { lateCount.withLock { $0 += 1 } }
            switch event {
            case .sent:
                texts.withLock { $0.append("sent") }
                sent.open()
            // Not every transport reports them.
            case .interim: break
            case .head(let status, let headers):
                texts.withLock { $0.append("\(status) \(headers["X-A"] ?? "")") }
            }
        }
    }

    private let recorder = Recorder()

    private func observed(_ request: HTTPRequest) -> HTTPRequest {
        var request = request
        request.observer = { [recorder] in recorder.observe($0) }
        return request
    }

    private static let bodies: [HTTPBody] = [
        .empty, .data(Data()), .data(Data("small".utf8)), .data(Data(repeating: 1, count: 2_000_000)),
        .stream { AsyncStream { $0.finish() } },
        .stream { AsyncStream([Data(repeating: 1, count: 100_000)]) },
    ]

    @Test(arguments: TransportKind.allCases, bodies.indices)
    func `The end of the request is reported before the head of the response`(
        _ kind: TransportKind,
        _ body: Int
    ) async throws {
        let server = try FixtureServer.start { _ in .text("ok", headers: ["X-A": "1"]) }
        let transport = try kind.make()
        let request = observed(HTTPRequest(.put, to: server, body: Self.bodies[body]))
        _ = try await transport.send(request, progress: nil)
        #expect(recorder.events == ["sent", "200 1"])
        _ = try await transport.send(request, progress: nil)
        #expect(recorder.events == ["sent", "200 1", "sent", "200 1"])
    }

    @Test(arguments: TransportKind.allCases, [404, 302, 204])
    func `The head of every final response is reported`(_ kind: TransportKind, _ status: Int) async throws {
        let server = try FixtureServer.start { _ in .status(status, headers: ["X-A": "2"]) }
        _ = try await kind.send(observed(HTTPRequest(to: server)))
        #expect(recorder.events == ["sent", "\(status) 2"])
    }

    @Test(arguments: TransportKind.allCases)
    func `The end of a request is reported while the server does not respond`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { [recorder] _ in .text("ok").behind(recorder.sent) }
        for body in [HTTPBody.empty, .data(Data("abc".utf8)), .data(Data(repeating: 1, count: 2_000_000))] {
            // `URLSession` does not report the end of a request without a body.
            if body.isEmpty, kind == .urlSession { continue }
            _ = try await kind.send(observed(HTTPRequest(.post, to: server, body: body)))
        }
        #expect(recorder.sent.isOpen)
    }

    @Test(arguments: TransportKind.allCases)
    func `The end of an upload is not reported when the response arrives before`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _, _ in .onHead { _ in .text("no", status: 413).closing() } }
        let body = HTTPBody.data(Data(repeating: 1, count: 50_000_000))
        _ = try? await kind.send(observed(HTTPRequest(.post, to: server, body: body)))
        #expect([[], ["413 "]].contains(recorder.events))
    }

    @Test(arguments: TransportKind.allCases)
    func `The end of a request that is repeated on another connection is reported once`(
        _ kind: TransportKind
    ) async throws {
        let server = try FixtureServer.start { connection, turn in
            connection == 1 && turn == 2 ? .onRequest(.close) : .onRequest { _ in .text("ok") }
        }
        let transport = try kind.make()
        _ = try await transport.send(HTTPRequest(to: server), progress: nil)
        let response = try? await transport.send(observed(HTTPRequest(to: server)), progress: nil)
        #expect(recorder.events.count { $0 == "sent" } <= 1)
        if response != nil { #expect(recorder.events == ["sent", "200 "]) }
    }

    @Test(arguments: TransportKind.supportingInterruptedHeads)
    func `Interim responses and broken heads are not reported`(_ kind: TransportKind) async throws {
        let interim = "HTTP/1.1 103 Early Hints\r\nX-A: early\r\n\r\n"
        let final = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-A: 3\r\n\r\n"
        let server = try FixtureServer.start { _ in .raw(interim + final) }
        _ = try await kind.send(observed(HTTPRequest(to: server)))
        #expect(recorder.events == ["sent", "200 3"])
        let broken = try FixtureServer.start { _ in .script(.write("HTTP/1.1 200 OK\r\nX-A: 3\r\n"), .close) }
        _ = try? await kind.send(observed(HTTPRequest(to: broken)))
        #expect(recorder.events == ["sent", "200 3", "sent"])
    }

    @Test(arguments: TransportKind.supportingInterruptedHeads)
    func `No event is reported after the exchange has ended, whenever it is cancelled`(
        _ kind: TransportKind
    ) async throws {
        let server = try FixtureServer.start { _ in .text("ok", headers: ["X-A": "1"]) }
        let transport = try kind.make()
        await withTaskGroup(of: Void.self) { group in
            for turn in 0..<300 {
                group.addTask {
                    let recorder = Recorder()
                    var request = HTTPRequest(.post, to: server, body: .data(Data(repeating: 1, count: turn * 500)))
                    request.observer = { recorder.observe($0) }
                    let task = Task { [request] in
                        defer { recorder.close() }
                        return try await transport.send(request, progress: nil)
                    }
                    for _ in 0..<turn { await Task.yield() }
                    task.cancel()
                    let hasResponded = (try? await task.value) != nil
                    let events = recorder.events
                    #expect(["sent", "200 1"].starts(with: events))
                    if hasResponded { #expect(events.count == 2) }
                    #expect(recorder.lateEvents == 0)
                }
            }
        }
    }
}
