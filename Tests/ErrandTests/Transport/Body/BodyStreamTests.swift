import ErrandTesting
import FixtureServer
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@Suite("Streamed bodies", .limitedConcurrency, .timeLimit(.minutes(10)))
struct BodyStreamTests {
    private struct Failure: Error {}

    /// Ends a stream when it is released.
    private final class ReleaseSignal: Sendable {
        private let signal: AsyncStream<Void>.Continuation

        init(_ signal: AsyncStream<Void>.Continuation) { self.signal = signal }

        deinit { signal.finish() }
    }

    private func sequence(_ chunks: [Data], failure: (any Error)? = nil) -> AsyncThrowingStream<Data, any Error> {
        AsyncThrowingStream { continuation in
            for chunk in chunks { continuation.yield(chunk) }
            continuation.finish(throwing: failure)
        }
    }

    private let chunks = (0..<20).map { Data(repeating: UInt8($0), count: $0 * 10_000) }

    @Test("all bytes arrive, with their length", arguments: TransportKind.allCases)
    func knownLength(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let bytes = chunks.reduce(Data(), +)
        let body = HTTPBody.stream(length: Int64(bytes.count)) { sequence(chunks) }
        let reports = Lock<[TransferProgress]>([])
        _ = try await kind.send(HTTPRequest(.post, to: server, body: body)) { report in
            reports.withLock { if report.direction == .upload { $0.append(report) } }
        }
        let request = try await server.takeRequest()
        #expect(Data(request.body) == bytes)
        #expect(request.headers.values("Content-Length") == ["\(bytes.count)"])
        #expect(request.header("Transfer-Encoding") == nil)
        let last = reports.withLock { $0.last }
        #expect(last?.completedBytes == Int64(bytes.count) && last?.totalBytes == Int64(bytes.count))
    }

    @Test("all bytes arrive without a known length", arguments: TransportKind.allCases, [[], [Data("a".utf8)], nil])
    func unknownLength(kind: TransportKind, some: [Data]?) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let chunks = some ?? chunks
        _ = try await kind.send(HTTPRequest(.put, to: server, body: .stream { sequence(chunks) }))
        let request = try await server.takeRequest()
        #expect(Data(request.body) == chunks.reduce(Data(), +))
        #expect(request.header("Transfer-Encoding") == (kind == .curl ? "chunked" : nil))
    }

    @Test("a stream is sent between other pieces, and in a part of a form", arguments: TransportKind.allCases)
    func pieces(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let file = try TemporaryFile(Data("file".utf8))
        let stream = HTTPBody.Stream(length: 6) { sequence([Data("str".utf8), Data(), Data("eam".utf8)]) }
        let body = HTTPBody([
            .data(Data("<".utf8)), .stream(stream), .file(file.url), .stream(stream), .data(Data(">".utf8)),
        ])
        _ = try await kind.send(HTTPRequest(.put, to: server, body: body))
        let request = try await server.takeRequest()
        #expect(request.text == "<streamfilestream>" && request.header("Content-Length") == "18")
        var form = MultipartForm()
        form.append(stream: stream, name: "clip", filename: "clip.mp4")
        _ = try await kind.send(HTTPRequest(.post, to: server, body: form.body(fields: [])))
        let part = try await server.takeRequest().text
        #expect(part.contains("filename=\"clip.mp4\"\r\nContent-Type: video/mp4\r\n\r\nstream\r\n"))
    }

    @Test("a sequence that fails or has another length ends the exchange", arguments: TransportKind.allCases)
    func failures(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let part = [Data(count: 100_000), Data(count: 100_000)]
        let bodies: [(HTTPBody, String)] = [
            (.stream { sequence(part, failure: Failure()) }, "failed (Failure)"),
            (.stream(length: 200_000) { sequence(part, failure: Failure()) }, "failed (Failure)"),
            (.stream(length: 200_001) { sequence(part) }, "200000 of 200001 bytes"),
            (.stream(length: 199_999) { sequence(part) }, "more than 199999 bytes"),
            (.stream(length: 100_000) { sequence(part) }, "more than 100000 bytes"),
            (.stream(length: 0) { sequence(part) }, "more than 0 bytes"),
            (.stream { () throws -> AsyncStream<Data> in throw Failure() }, "failed (Failure)"),
        ]
        for (body, reason) in bodies {
            let error = try await kind.failure(of: HTTPRequest(.post, to: server, body: body))
            #expect(error.kind == .storage && error.reason.contains(reason), "\(error)")
        }
        #expect(server.requests.isEmpty, "a part was taken for the whole")
        #expect(await server.waitForOpenConnections(0))
        let error = try await kind.failure(
            of: HTTPRequest(.put, to: server, body: .stream(length: -1) { sequence([]) })
        )
        #expect(error.kind == .invalidRequest)
        let long = HTTPBody([.data(Data("a".utf8)), .stream(HTTPBody.Stream(length: .max) { sequence([]) })])
        #expect(try await kind.failure(of: HTTPRequest(.put, to: server, body: long)).kind == .invalidRequest)
    }

    @Test("a stream of no bytes is sent", arguments: TransportKind.allCases)
    func noBytes(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        _ = try await kind.send(HTTPRequest(.put, to: server, body: .stream(length: 0) { sequence([Data()]) }))
        #expect(try await server.takeRequest().body.isEmpty)
    }

    @Test("a cancel stops the sequence", arguments: TransportKind.allCases)
    func cancel(kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let (stopped, stop) = AsyncStream<Void>.makeStream()
        let body = HTTPBody.stream {
            AsyncStream<Data> { continuation in
                continuation.onTermination = { _ in stop.finish() }
                continuation.yield(Data(count: 10))
                ask.finish()
            }
        }
        let transport = try kind.make()
        let sending = Task { await transport.ending(of: HTTPRequest(.put, to: server, body: body)) }
        for await _ in asked {}
        sending.cancel()
        #expect(await sending.value == .cancelled)
        for await _ in stopped {}
        #expect(server.requests.isEmpty)
    }

    @Test("an element is requested when the one before is sent")
    func backPressure() async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let made = Lock(0)
        let sent = Lock(0)
        let lead = Lock(0)
        let body = HTTPBody.stream {
            AsyncStream<Data> {
                let ahead = made.withLock { $0 } - sent.withLock { $0 }
                lead.withLock { $0 = max($0, ahead) }
                guard made.withLock({ $0 }) < 10_000_000 else { return nil }
                made.withLock { $0 += 100_000 }
                return Data(count: 100_000)
            }
        }
        _ = try await TransportKind.allCases.last?.send(HTTPRequest(.put, to: server, body: body)) { report in
            if report.direction == .upload { sent.withLock { $0 = Int(report.completedBytes) } }
        }
        #expect(try await server.takeRequest().bodyCount == 10_000_000)
        // The element is read before its progress is reported.
        #expect(lead.withLock { $0 } <= 100_000)
    }

    @Test("small elements that are ready are read together, and none waits for the next one")
    func smallElements() async throws {
        let gates = [1: Latch(), 4: Latch()]
        let parts = Counter()
        let body = HTTPBody.stream {
            AsyncStream<Data> {
                let part = parts.next()
                try? await gates[part]?.wait()
                return part < 5 ? Data("\(part)".utf8) : nil
            }
        }
        var reader = try HTTPBodyReader(body)
        #expect(try Self.text(from: &reader) == nil)
        gates[1]?.open()
        await suspend(while: parts.count < 4)
        #expect(try Self.text(from: &reader) == "123")
        #expect(try Self.text(from: &reader) == nil)
        gates[4]?.open()
        await suspend(while: parts.count < 5)
        #expect(try Self.text(from: &reader) == "4")
    }

    private static func text(from reader: inout HTTPBodyReader) throws -> String? {
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = try bytes.withUnsafeMutableBytes { bytes throws(TransportError) in try reader.read(into: bytes) }
        return count.map { String(decoding: bytes[..<$0], as: UTF8.self) }
    }

    #if os(Linux)
    @Test("an early response ends the sequence")
    func earlyResponse() async throws {
        let (stopped, stop) = AsyncStream<Void>.makeStream()
        let asked = Gate()
        let server = try FixtureServer.start { _, _ in
            .onHead { _ in Response.text("too large", status: 413).closing().behind(asked) }
        }
        let body = HTTPBody.stream {
            let release = ReleaseSignal(stop)
            asked.open()
            return AsyncStream<Data> { withExtendedLifetime(release) { Data(count: 10_000) } }
        }
        let response = try await TransportKind.curl.send(HTTPRequest(.put, to: server, body: body))
        #expect(response.status == 413)
        for await _ in stopped {}
    }
    #endif

    @Test("a file of a stream is removed")
    func removedFile() async throws {
        let body = HTTPBody.stream { sequence([Data("a".utf8)]) }
        let pieces = try await StoredBody.make(of: HTTPRequest(.put, URL("https://shop.test"), body: body)).pieces
        guard case .file(let file) = pieces.first else {
            Issue.record("the stream is not in a file")
            return
        }
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    @Test("pieces of all kinds are stored in one file")
    func storedPieces() async throws {
        let file = try TemporaryFile(Data("file".utf8))
        let stream = HTTPBody.stream { sequence([Data("str".utf8), Data("eam".utf8)]) }
        let body = HTTPBody([.data(Data("data".utf8)), .file(file.url)] + stream.pieces)
        let progress = StoringProgress(ExchangeDeadlines(deadline: .seconds(60), timeout: .seconds(60)))
        defer { progress.timer.stop() }
        var stored = StoredBody()
        try await stored.store(body, progress)
        guard case .file(let url) = stored.pieces.first else {
            Issue.record("the body is not in a file")
            return
        }
        #expect(stored.pieces.count == 1)
        #expect(try Data(contentsOf: url) == Data("datafilestream".utf8))
    }

    // MARK: Through a proxy

    @Test("each send reads a new sequence", arguments: TransportKind.allCases)
    @MainActor func replay(kind: TransportKind) async throws {
        let responses = Lock([503, 401, 307, 200])
        let server = try FixtureServer.start { request in
            switch responses.withLock({ $0.removeFirst() }) {
            case 307: .status(307, headers: ["Location": "/moved"])
            case 200: .json(bytes: #"{"errcode":200}"#.utf8)
            case let status: .status(status)
            }
        }
        let account = Account()
        var service = APIService(baseURL: server.baseURL)
        (service.reloginHandler, service.retryPolicy.baseDelay) = (account, .zero)
        let proxy = APIProxy(service: service, transport: try kind.make())
        let made = Counter()
        let body = HTTPBody.stream(length: 3) {
            _ = made.next()
            return sequence([Data("abc".utf8)])
        }
        let serializer = RequestSerializer.raw(body, contentType: "video/mp4")
        try await APIRequest<Void>("/clips/{id}", method: .put, requestSerializer: serializer, proxy: proxy)
            .value(params: ["id": 7])
        #expect(made.count == 4)
        #expect(server.requests.map(\.text) == ["abc", "abc", "abc", "abc"])
        #expect(server.requests.map(\.path) == ["/clips/7", "/clips/7", "/clips/7", "/moved"])
    }

    @Test("a stream that fails is a failure of the load, which is not repeated")
    @MainActor func failedLoad() async throws {
        let server = try FixtureServer.start { _ in .status(200) }
        let made = Counter()
        let body = HTTPBody.stream {
            _ = made.next()
            return sequence([Data("s3cret".utf8)], failure: Failure())
        }
        let proxy = APIProxy(service: APIService(baseURL: server.baseURL))
        let serializer = RequestSerializer.raw(body, contentType: "video/mp4")
        let request = APIRequest<Void>("/clips", method: .put, requestSerializer: serializer, proxy: proxy)
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .storage && made.count == 1)
        #expect((error?.underlying as? TransportError)?.underlying is Failure)
        #expect(!"\(String(describing: error))".contains("s3cret") && "\(body)" == #"["stream"]"#)
    }
}

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
