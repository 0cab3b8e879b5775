import Errand
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import ErrandTestSupport

@Suite("The timings of an exchange", .limitedConcurrency, .timeLimit(.minutes(10)))
struct TransportTimingTests {
    /// An exchange of which one phase is long, or whose bytes are framed or coded.
    enum Course: CaseIterable {
        case fast, slowHead, slowBody, earlyHints, redirect, empty, head, gzip, chunked, data, largeData, streamed

        var request: (HTTPMethod, HTTPBody) {
            switch self {
            case .head: (.head, .empty)
            case .data: (.post, .data(Data(repeating: 1, count: 60_000)))
            case .largeData: (.post, .data(Data(repeating: 1, count: 1_000_000)))
            case .streamed: (.put, .stream { AsyncStream([Data(repeating: 1, count: 70_000), Data("end".utf8)]) })
            default: (.get, .empty)
            }
        }

        /// The response, with the bytes of its head and its body.
        var response: Response {
            switch self {
            case .slowHead: .text("slow").delayed(by: TransportTimingTests.pause)
            case .slowBody:
                .script(
                    .write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsl"),
                    .wait(TransportTimingTests.pause),
                    .write("ow")
                )
            case .earlyHints:
                .script(
                    .write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
                    .write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")
                )
            case .redirect: .redirect(to: "/other")
            case .empty: .status(204)
            case .gzip: .gzip(Array("compressed".utf8))
            case .chunked: .chunked([Array("one".utf8), Array("two".utf8)])
            default: .text("text")
            }
        }

        /// The bytes of the final head, of the body as received, and of the decoded body.
        var received: (head: Int64, body: Int64, decoded: Int64) {
            switch self {
            case .slowBody: (38, 4, 4)
            case .earlyHints: (38, 1, 1)
            case .redirect: (59, 0, 0)
            case .empty: (27, 0, 0)
            case .head: (79, 0, 0)
            case .gzip: (63, 33, 10)
            case .chunked: (47, 6, 6)
            default: (79, 4, 4)
            }
        }
    }

    /// Long beside the time for which a thread waits for a core.
    private static let pause = Duration.seconds(1)

    private func send(
        _ course: Course,
        _ transport: any HTTPTransport
    ) async throws -> (ExchangeTimings, RecordedRequest) {
        let server = try FixtureServer.start { _ in course.response }
        let (method, body) = course.request
        let response = try await transport.send(HTTPRequest(method, to: server, "/a?b", body: body), progress: nil)
        return (try #require(response.timings), try await server.takeRequest())
    }

    @Test(arguments: TransportKind.allCases, Course.allCases)
    func `Each phase is at least 0, and their sum at most the total`(
        _ kind: TransportKind,
        _ course: Course
    ) async throws {
        let before = Date()
        let (timings, _) = try await send(course, kind.make())
        timings.expectPlausible()
        #expect(timings.startedAt >= before && timings.startedAt <= Date())
        #expect(timings.attempt == 1 && timings.queue == nil)
        #expect(timings.decodedBodyBytes == course.received.decoded)
        if [.slowHead, .slowBody].contains(course) { #expect(timings.total >= Self.pause) }
        if course == .slowBody { #expect(try #require(timings.body) >= Self.pause / 2) }
    }

    @Test(arguments: TransportKind.allCases)
    func `An error has the timings of the exchange until then`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .hang }
        var request = HTTPRequest(to: server)
        request.timeout = .milliseconds(300)
        let timings = try #require(try await kind.failure(of: request).timings)
        timings.expectPlausible()
        #expect(timings.total >= .milliseconds(300))
        #expect(timings.body == nil && timings.decodedBodyBytes == nil)
    }

    @Test(arguments: TransportKind.allCases)
    func `A cancelled exchange has timings`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .hang }
        let transport = try kind.make()
        let task = Task { try await transport.send(HTTPRequest(to: server), progress: nil) }
        _ = try await server.takeRequest()
        task.cancel()
        let error = await #expect(throws: TransportError.self) { try await task.value }
        #expect(error?.kind == .cancelled)
        try #require(error?.timings).expectPlausible()
    }

    @Test(arguments: TransportKind.allCases)
    func `A refused connection has neither a request nor a response in its timings`(_ kind: TransportKind) async throws
    {
        let server = try FixtureServer.start { _ in .hang }
        server.stop()
        let timings = try #require(try await kind.failure(of: HTTPRequest(to: server)).timings)
        timings.expectPlausible()
        #expect(timings.request == nil && timings.firstByte == nil && timings.body == nil)
        #expect(timings.sentHeaderBytes == nil && timings.receivedHeaderBytes == nil && timings.isReused == nil)
        withExtendedLifetime(server) {}
    }

    @Test(arguments: TransportKind.allCases)
    func `The time in which a stream is stored before it is sent is a part of the total`(
        _ kind: TransportKind
    ) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let body = HTTPBody.stream {
            AsyncStream<Data> { continuation in
                Task {
                    try? await Task.sleep(for: Self.pause)
                    continuation.yield(Data("late".utf8))
                    continuation.finish()
                }
            }
        }
        let response = try await kind.send(HTTPRequest(.put, to: server, body: body))
        let timings = try #require(response.timings)
        timings.expectPlausible()
        #expect(timings.total >= Self.pause)
    }

    #if os(Linux)
    @Test(arguments: Course.allCases)
    func `The bytes are those that the server has received and sent`(_ course: Course) async throws {
        let (timings, request) = try await send(course, CurlTransport())
        #expect(timings.sentHeaderBytes == Int64(request.head.bytes.count))
        #expect(timings.sentBodyBytes == request.bodyCount)
        #expect(timings.receivedHeaderBytes == course.received.head)
        #expect(timings.receivedBodyBytes == course.received.body)
    }

    @Test func `The phases are those in which the time was spent`() async throws {
        let slowHead = try await send(.slowHead, CurlTransport()).0
        #expect(try #require(slowHead.firstByte) >= Self.pause / 2)
        #expect(try #require(slowHead.body) < Self.pause)
        let slowBody = try await send(.slowBody, CurlTransport()).0
        #expect(try #require(slowBody.firstByte) < Self.pause)
    }

    @Test func `An upload that the server receives slowly is the phase of the request`() async throws {
        let gate = Gate()
        var options = ServerOptions()
        options.bodyHandling = { _ in .pause(after: 1_000, until: gate) }
        let server = try FixtureServer.start(options) { _ in .status(200) }
        let body = HTTPBody.data(Data(repeating: 1, count: 20_000_000))
        let request = HTTPRequest(.post, to: server, body: body)
        let sending = Task { try await CurlTransport().send(request).timings }
        #expect(await server.waitForTotalConnections(1))
        try await Task.sleep(for: Self.pause)
        gate.open()
        let timings = try #require(try await sending.value)
        timings.expectPlausible()
        #expect(try #require(timings.request) >= Self.pause / 2)
        #expect(timings.sentBodyBytes == 20_000_000)
    }
    #endif
}

extension ExchangeTimings {
    /// Expects that no phase or count is negative, and that the phases do not exceed the whole.
    func expectPlausible(sourceLocation: SourceLocation = #_sourceLocation) {
        let durations = phases.map(\.duration)
        #expect(durations.allSatisfy { $0 >= .zero }, "\(self)", sourceLocation: sourceLocation)
        #expect(durations.reduce(.zero, +) <= total, "\(self)", sourceLocation: sourceLocation)
        #expect(total > .zero && total < .seconds(300), "\(self)", sourceLocation: sourceLocation)
        let counts = [sentHeaderBytes, sentBodyBytes, receivedHeaderBytes, receivedBodyBytes, decodedBodyBytes]
        let areSmall = counts.compactMap(\.self).allSatisfy { (0...(1 << 30)).contains($0) }
        #expect(areSmall, "\(counts)", sourceLocation: sourceLocation)
        if let remotePort { #expect((1...65_535).contains(remotePort), sourceLocation: sourceLocation) }
    }
}

extension AsyncStream where Element: Sendable {
    /// Creates a stream of these elements.
    init(_ elements: [Element]) {
        self.init { continuation in
            for element in elements { continuation.yield(element) }
            continuation.finish()
        }
    }
}
