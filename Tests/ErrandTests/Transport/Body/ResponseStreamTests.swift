import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// Keeps up to `capacity` bytes before it has no room, until the test takes them.
private final class SlowReceiver: HTTPBodyReceiver {
    private struct State {
        var heads: [Int] = []
        var kept: [UInt8] = []
        var most = 0
        var total: Int64 = 0
        var isCounting = true
        var isFinished = false
        var ready: (@Sendable () -> Void)?
    }

    let capacity: Int
    private let takes: Bool
    private let failure: TransportError?
    private let state = Lock(State())

    init(capacity: Int = .max, takes: Bool = true, failure: TransportError? = nil) {
        (self.capacity, self.takes, self.failure) = (capacity, takes, failure)
    }

    var heads: [Int] { state.withLock(\.heads) }
    var most: Int { state.withLock(\.most) }
    var total: Int64 { state.withLock(\.total) }
    var isFinished: Bool { state.withLock(\.isFinished) }
    var isFull: Bool { state.withLock { $0.ready != nil } }

    /// Whether all bytes are those of `ByteSource.counting`.
    var isCounting: Bool { state.withLock(\.isCounting) }

    /// Compared as memory: a loop over the bytes takes minutes under the thread sanitizer.
    private static let numbers = (0..<65_536 + 256).map(UInt8.init(truncatingIfNeeded:))

    func begin(status: Int, headers: HTTPHeaders) throws(TransportError) -> Bool {
        state.withLock { $0.heads.append(status) }
        if let failure { throw failure }
        return takes && status < 300
    }

    func receive(_ bytes: UnsafeRawBufferPointer) {
        state.withLock { state in
            for offset in stride(from: 0, to: bytes.count, by: 65_536) {
                let part = UnsafeRawBufferPointer(rebasing: bytes[offset..<min(offset + 65_536, bytes.count)])
                let start = Int((state.total + Int64(offset)) % 256)
                if Data(part) != Data(Self.numbers[start..<start + part.count]) { state.isCounting = false }
            }
            state.total += Int64(bytes.count)
            state.kept += bytes
            state.most = max(state.most, state.kept.count)
        }
    }

    func hasRoom(orCall ready: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.kept.count >= capacity else { return true }
            state.ready = ready
            return false
        }
    }

    func finish() { state.withLock { $0.isFinished = true } }

    /// Makes room.
    @discardableResult func take() -> [UInt8] {
        let (bytes, ready) = state.withLock { state in
            defer { (state.kept, state.ready) = ([], nil) }
            return (state.kept, state.ready)
        }
        ready?()
        return bytes
    }

    /// Makes room whenever there is none, until this many bytes have arrived; returns all that were kept.
    @discardableResult func take(until length: Int64) async -> [UInt8] {
        var bytes: [UInt8] = []
        while total < length {
            await suspend(while: !isFull && total < length)
            bytes += take()
        }
        return bytes + take()
    }
}

extension HTTPRequest {
    fileprivate init(to server: FixtureServer, into receiver: SlowReceiver) {
        self.init(to: server)
        destination = .stream(HTTPBodySink(receiver))
    }
}

@Suite("A response that streams", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct ResponseStreamTests {
    private static let window = 256 << 10
    /// What libcurl passes at a time at most.
    private static let part = 16 << 10

    @Test(arguments: TransportKind.allCases)
    func `The head arrives before the body, and the parts are the body`(_ kind: TransportKind) async throws {
        let gate = Gate()
        let server = try FixtureServer.start { _ in
            .script(
                .write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"),
                .pass(gate),
                .write("abc"),
                .write("def")
            )
        }
        let receiver = SlowReceiver()
        async let response = kind.send(HTTPRequest(to: server, into: receiver))
        // Foundation reports a head together with the first bytes.
        if kind == .curl { await suspend(while: receiver.heads.isEmpty) }
        gate.open()
        #expect(try await response.status == 200)
        #expect(try await response.body.isEmpty)
        #expect(receiver.heads == [200])
        #expect(receiver.take() == Array("abcdef".utf8))
        #expect(receiver.isFinished)
    }

    @Test(arguments: TransportKind.allCases)
    func `A body that the receiver refuses is kept in memory`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .text("refused", status: 403) }
        let receiver = SlowReceiver()
        let response = try await kind.send(HTTPRequest(to: server, into: receiver))
        #expect(response.body == Data("refused".utf8))
        #expect(receiver.heads == [403])
        #expect(receiver.total == 0)
        #expect(!receiver.isFinished)
    }

    @Test(arguments: TransportKind.allCases)
    func `An error of the receiver is that of the exchange`(_ kind: TransportKind) async throws {
        let server = try FixtureServer.start { _ in .text("text") }
        let receiver = SlowReceiver(failure: TransportError(.storage, "of the receiver"))
        let error = try await kind.failure(of: HTTPRequest(to: server, into: receiver))
        #expect(error.kind == .storage)
        #expect(error.reason == "of the receiver")
    }

    #if os(Linux)
    @Test func `A body waits for its receiver, and arrives complete`() async throws {
        let length: Int64 = 8 << 20
        let server = try FixtureServer.start { _ in .stream(.counting(length)) }
        let receiver = SlowReceiver(capacity: Self.window)
        async let response = TransportKind.curl.send(HTTPRequest(to: server, into: receiver))
        await receiver.take(until: length)
        #expect(try await response.status == 200)
        #expect(receiver.isCounting)
        #expect(receiver.total == length)
        #expect(receiver.most < Self.window + Self.part)
    }

    @Test func `A coded body waits for its receiver wherever it is decoded`() async throws {
        let length: Int64 = 16 << 20
        let bomb = DecompressionBomb.gzip(length)
        let server = try FixtureServer.start { _ in .bytes(bomb, headers: ["Content-Encoding": "gzip"]) }
        let receiver = SlowReceiver(capacity: Self.window)
        async let response = TransportKind.curl.send(HTTPRequest(to: server, into: receiver))
        await receiver.take(until: length)
        #expect(try await response.status == 200)
        #expect(receiver.total == length)
        // The decoder's buffer.
        #expect(receiver.most < Self.window + 65_536)
    }

    @Test func `While the receiver has no room the timeout does not run, and afterwards it does`() async throws {
        let server = try FixtureServer.start { request in
            guard request.target != "/silent" else { return .hang }
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n"
            return .script(.write(head), .write([UInt8](repeating: 7, count: 300_000)), .hang)
        }
        let transport = try TransportKind.curl.make()
        let receiver = SlowReceiver(capacity: 1)
        var (request, silent) = (HTTPRequest(to: server, into: receiver), HTTPRequest(to: server, "/silent"))
        (request.timeout, silent.timeout) = (.milliseconds(100), .milliseconds(300))
        let sending = Task { [request] in await transport.ending(of: request) }
        await suspend(while: !receiver.isFull)
        // Longer than the timeout of the one that waits.
        #expect(await transport.ending(of: silent) == .timeout)
        #expect(receiver.isFull)
        await receiver.take(until: 300_000)
        #expect(await sending.value == .timeout)
    }

    @Test(.enabled(if: TestAuthority.isAvailable && TLSServer.isAvailable, "openssl is not installed"))
    func `Over HTTP 2 an exchange that waits for room does not hold up the others, and continues`() async throws {
        let authority = try TestAuthority.shared.get()
        let text = String(decoding: (0..<48_000).map { UInt8($0 % 64 + 32) }, as: UTF8.self)
        let server = try HTTP2Server(authority) { _ in .response(text) }
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        let transport = try CurlTransport(configuration)
        let receivers = (0..<3).map { _ in SlowReceiver(capacity: 1) }
        let streams = receivers.map { receiver in
            var request = HTTPRequest(.get, server.url("/"))
            request.destination = .stream(HTTPBodySink(receiver))
            return Task { [request] in try await transport.send(request) }
        }
        await suspend(while: !receivers.allSatisfy(\.isFull))
        for _ in 0..<5 {
            let response = try await transport.send(HTTPRequest(.get, server.url("/")))
            #expect(response.isMultiplexed)
            #expect(response.body == Data(text.utf8))
        }
        for (receiver, stream) in zip(receivers, streams) {
            #expect(await receiver.take(until: Int64(text.utf8.count)) == Array(text.utf8))
            #expect(try await stream.value.status == 200)
        }
    }

    @Test func `A cancel ends an exchange that waits for room, and closes its connection`() async throws {
        let server = try FixtureServer.start { _ in .stream(.counting(64 << 20)) }
        let transport = try TransportKind.curl.make()
        let receiver = SlowReceiver(capacity: 1)
        let sending = Task { [request = HTTPRequest(to: server, into: receiver)] in
            await transport.ending(of: request)
        }
        await suspend(while: !receiver.isFull)
        sending.cancel()
        #expect(await sending.value == .cancelled)
        let received = receiver.total
        receiver.take()
        await suspend(while: server.openConnections > 0)
        #expect(receiver.total == received)
    }
    #endif

    /// On Apple's platforms, a callback may be under way when the task is suspended.
    @Test func `An exchange of URLSession that waits for room resumes its task once`() throws {
        let server = try FixtureServer.start { _ in .hang }
        let receiver = SlowReceiver(capacity: 1)
        let request = HTTPRequest(to: server, into: receiver)
        let exchange = try URLSessionExchange(
            request,
            progress: nil,
            queues: URLSessionQueues(),
            clock: ExchangeClock()
        )
        exchange.receive(status: 200, headers: [:])
        let suspensions = Lock(0)
        for _ in 0..<3 {
            suspensions.withLock { $0 += 1 }
            exchange.receive(Data("one".utf8))
            let resume = { @Sendable in suspensions.withLock { $0 -= 1 } }
            if exchange.hasRoom(orCall: resume) { resume() }
        }
        #expect(suspensions.withLock(\.self) == 1)
        receiver.take()
        #expect(suspensions.withLock(\.self) == 0)
        #expect(exchange.hasRoom {})
        exchange.fail(TransportError(.cancelled, "at the end"))
    }

    /// The timeout runs again after the receiver has counted the bytes, perhaps only after the first advance.
    private func advance(_ clock: ManualClock, by step: Duration, until isOver: () -> Bool) async {
        while !isOver() {
            await suspend(while: clock.sleepers == 0 && !isOver())
            clock.advance(by: step)
        }
    }

    @Test func `A script streams on the manual clock, and silence is a timeout`() async throws {
        let clock = ManualClock()
        let transport = ScriptedTransport(clock: clock)
        transport.on(.get, "/events") { _ in
            .stream {
                AsyncThrowingStream<Data, any Error> { continuation in
                    let task = Task {
                        for text in ["one", "two"] {
                            try await clock.sleep(for: .seconds(40))
                            continuation.yield(Data(text.utf8))
                        }
                    }
                    continuation.onTermination = { _ in task.cancel() }
                }
            }
        }
        let receiver = SlowReceiver()
        var request = HTTPRequest(.get, URL("http://shop.test/events"))
        (request.destination, request.timeout) = (.stream(HTTPBodySink(receiver)), .seconds(60))
        let isOver = Lock(false)
        let sending = Task { [request] in
            defer { isOver.withLock { $0 = true } }
            return await transport.ending(of: request)
        }
        for received in [3, 6] {
            await clock.waitForSleepers(2)
            clock.advance(by: .seconds(40))
            await suspend(while: receiver.total < Int64(received))
        }
        await advance(clock, by: .seconds(60), until: { isOver.withLock(\.self) })
        #expect(await sending.value == .timeout)
        #expect(receiver.take() == Array("onetwo".utf8))
    }

    @Test func `The timeout of a script does not run while the receiver has no room, and runs again afterwards`() async
    {
        let clock = ManualClock()
        let transport = ScriptedTransport(clock: clock)
        let (parts, server) = AsyncStream<Data>.makeStream()
        transport.on(.get, "/events") { _ in .stream { parts } }
        let receiver = SlowReceiver(capacity: 1)
        var request = HTTPRequest(.get, URL("http://shop.test/events"))
        (request.destination, request.timeout) = (.stream(HTTPBodySink(receiver)), .seconds(20))
        let isOver = Lock(false)
        let sending = Task { [request] in
            defer { isOver.withLock { $0 = true } }
            return await transport.ending(of: request)
        }
        // The second one waits for room.
        for text in ["one", "two"] { server.yield(Data(text.utf8)) }
        await suspend(while: !receiver.isFull)
        for _ in 0..<2 {
            await clock.waitForSleepers()
            clock.advance(by: .seconds(20))
        }
        #expect(receiver.isFull)
        await receiver.take(until: 6)
        await advance(clock, by: .seconds(20), until: { isOver.withLock(\.self) })
        #expect(await sending.value == .timeout)
        #expect(receiver.total == 6)
    }

    @Test func `A script's body is passed on as there is room`() async throws {
        let transport = ScriptedTransport()
        let length: Int64 = 1 << 20
        transport.on(.get, "/bytes") { _ in
            .stream {
                AsyncStream<Data> { continuation in
                    continuation.yield(.counting(Int(length)))
                    continuation.finish()
                }
            }
        }
        let receiver = SlowReceiver(capacity: Self.window)
        var request = HTTPRequest(.get, URL("http://shop.test/bytes"))
        request.destination = .stream(HTTPBodySink(receiver))
        async let response = transport.send(request, progress: nil)
        await receiver.take(until: length)
        #expect(try await response.body.isEmpty)
        #expect(receiver.isCounting)
        #expect(receiver.most < Self.window + 65_536)
    }
}
