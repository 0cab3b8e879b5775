import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Streams without an end", .limitedConcurrency, .timeLimit(.minutes(10)))
struct EndlessStreamTests {
    /// Ends a stream when it is released.
    private final class ReleaseSignal: Sendable {
        private let signal: AsyncStream<Void>.Continuation

        init(_ signal: AsyncStream<Void>.Continuation) { self.signal = signal }

        deinit { signal.finish() }
    }

    /// Equal elements without an end, also after a cancel.
    private struct Endless: AsyncSequence, AsyncIteratorProtocol {
        let chunk: Data
        var release: ReleaseSignal?

        func makeAsyncIterator() -> Endless { self }

        mutating func next() async -> Data? {
            // Two sequences that never suspend would occupy all threads of a small machine.
            await Task.yield()
            return chunk
        }
    }

    @Test(
        "a cancel stops a sequence that ignores it",
        arguments: TransportKind.allCases,
        [Data(), Data(count: 10)]
    )
    func ignoredCancel(kind: TransportKind, chunk: Data) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let (stopped, stop) = AsyncStream<Void>.makeStream()
        let body = HTTPBody.stream {
            ask.finish()
            return Endless(chunk: chunk, release: ReleaseSignal(stop))
        }
        let transport = try kind.make()
        let sending = Task { await transport.ending(of: HTTPRequest(.put, to: server, body: body)) }
        for await _ in asked {}
        sending.cancel()
        #expect(await sending.value == .cancelled)
        for await _ in stopped {}
    }

    @Test(
        "a sequence that pauses too long, or has only empty elements, exceeds the timeout",
        arguments: TransportKind.allCases
    )
    func timeout(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let bodies = [
            HTTPBody.stream { AsyncStream<Data> { $0.yield(Data(count: 10)) } },
            HTTPBody.stream { Endless(chunk: Data()) },
        ]
        for body in bodies {
            var request = HTTPRequest(.put, to: server, body: body)
            request.timeout = .milliseconds(100)
            #expect(try await kind.failure(of: request).kind == .timeout)
        }
    }

    @Test("a sequence without an end exceeds the deadline", arguments: TransportKind.allCases)
    func deadline(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        var request = HTTPRequest(.put, to: server, body: .stream { Endless(chunk: Data(count: 10)) })
        request.deadline = .milliseconds(100)
        #expect(try await kind.failure(of: request).kind == .timeout)
    }

    #if os(Linux)
    @Test("a cancellation handler of the app that blocks does not delay other transfers", .blocksThread)
    func blockingHandler() async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let transport = try TransportKind.curl.make()
        let isSent = DispatchSemaphore(value: 0)
        let (results, result) = AsyncStream<DispatchTimeoutResult>.makeStream()
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let body = HTTPBody.stream {
            AsyncStream<Data> { continuation in
                continuation.onTermination = { _ in
                    result.yield(isSent.wait(timeout: .now() + 30))
                    result.finish()
                }
                continuation.yield(Data(count: 10))
                ask.finish()
            }
        }
        let request = HTTPRequest(.put, to: server, body: body)
        let sending = Task { await transport.ending(of: request) }
        for await _ in asked {}
        sending.cancel()
        #expect(await sending.value == .cancelled)
        let other = await transport.ending(of: HTTPRequest(.get, to: server))
        isSent.signal()
        for await result in results { #expect(result == .success) }
        #expect(other == nil)
    }
    #endif
}
