import ErrandTesting
import FixtureServer
import Foundation
import Observation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// A screen that records batches of elements besides the endings.
@MainActor private final class StreamScreen: APIManagerCallbackDelegate {
    let screen = Screen()
    var batches: [Int] = []
    var onElements: (@MainActor (BaseAPIRequest) -> Void)?

    func managerCallAPIDidReceiveElements(_ request: BaseAPIRequest) {
        #expect(request.isLoading, "elements after the ending")
        batches.append((request as? LineStream)?.newElements.count ?? 1)
        onElements?(request)
    }

    func managerCallAPIDidSucceed(_ request: BaseAPIRequest) { screen.managerCallAPIDidSucceed(request) }
    func managerCallAPIDidFail(_ request: BaseAPIRequest, with error: APIError) {
        screen.managerCallAPIDidFail(request, with: error)
    }
    func managerCallAPIDidCancel(_ request: BaseAPIRequest) { screen.managerCallAPIDidCancel(request) }
}

extension HTTPResponse {
    /// A response whose body a test writes; it ends with the continuation.
    fileprivate static func open(
        _ headers: HTTPHeaders = ["Content-Type": "text/event-stream"]
    ) -> (HTTPResponse, AsyncThrowingStream<Data, any Error>.Continuation) {
        let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
        return (.stream(headers: headers) { stream }, continuation)
    }
}

@MainActor
@Suite("A request that streams", .limitedConcurrency, .hangLimit, .timeLimit(.minutes(10)))
struct StreamRequestTests {
    private let clock = ManualClock()
    private let transport: ScriptedTransport
    private let proxy: APIProxy
    private let screen = StreamScreen()

    init() {
        transport = ScriptedTransport()
        proxy = APIProxy(service: .sample(), transport: transport, clock: clock)
    }

    /// Responds to each request with the next of these.
    private func respond(_ responses: [HTTPResponse]) {
        let rest = Latched(responses)
        transport.on(.get, "/events") { _ in try rest.next() }
        transport.on(.post, "/events") { _ in try rest.next() }
    }

    /// Hands out elements one by one.
    private final class Latched: Sendable {
        private let rest: Lock<[HTTPResponse]>
        init(_ responses: [HTTPResponse]) { rest = Lock(responses) }
        func next() throws -> HTTPResponse {
            try rest.withLock { rest in
                guard !rest.isEmpty else { throw TransportError(.cannotConnect, "no more responses") }
                return rest.removeFirst()
            }
        }
    }

    private static func events(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headers: ["Content-Type": "text/event-stream; charset=utf-8"],
            body: Data(text.utf8)
        )
    }

    private func make<Stream: SampleStream<Value>, Value>(_ type: Stream.Type) -> Stream {
        Stream(delegate: screen, proxy: proxy)
    }

    /// Reads one element; returns why there is none.
    private func readOne(of request: LineStream) async -> APIErrorType? {
        var elements = request.elements().makeAsyncIterator()
        do throws(APIError) {
            _ = try await elements.next(isolation: #isolation)
            return nil
        } catch {
            return error.type
        }
    }

    // MARK: Elements

    @Test func `A screen receives elements while they arrive, and then one ending`() async {
        let (response, body) = HTTPResponse.open([:])
        respond([response])
        let request = make(LineStream.self)
        request.loadData()
        body.yield(Data("one\ntw".utf8))
        await suspend(while: request.elements.isEmpty)
        #expect(request.elements == ["one"])
        #expect(request.isLoading)
        body.yield(Data("o\nthree\nlast".utf8))
        await suspend(while: request.elements.count < 3)
        #expect(request.newElements == ["two", "three"])
        body.finish()
        #expect(await screen.screen.ending() == .success)
        #expect(request.elements == ["one", "two", "three", "last"])
        #expect(screen.batches == [1, 2, 1])
        #expect(request.rawResponse?.status == 200)
    }

    @Test func `A script reads a response of several windows to its end, without the delegate`() async throws {
        let (response, body) = HTTPResponse.open([:])
        respond([response])
        let request = make(DataStream.self)
        let part = Data(count: ResponseStream.window)
        for _ in 0..<8 { body.yield(part) }
        body.finish()
        var count = 0
        for try await element in request.elements() { count += element.count }
        #expect(count == 8 * part.count)
        #expect(screen.screen.events.isEmpty)
        #expect(proxy.activeRequests.isEmpty)
    }

    @Test func `A script that leaves its loop cancels the load`() async throws {
        let (response, body) = HTTPResponse.open([:])
        respond([response])
        body.yield(Data("one\ntwo\n".utf8))
        let request = make(LineStream.self)
        for try await line in request.elements() {
            #expect(line == "one")
            break
        }
        await suspend(while: request.isLoading)
        #expect(proxy.activeRequests.isEmpty)
    }

    @Test func `A cancelled task ends the iteration with cancelled`() async throws {
        let (response, _) = HTTPResponse.open([:])
        respond([response])
        let request = make(LineStream.self)
        let reading = Task { await readOne(of: request) }
        await transport.waitForRequests()
        reading.cancel()
        #expect(await reading.value == .cancelled)
        #expect(proxy.activeRequests.isEmpty)
    }

    @Test func `Lines of JSON are values, and one that is none fails after those before it`() async {
        respond([
            HTTPResponse(status: 200, body: Data("{\"id\":1,\"name\":\"a\"}\n\n{\"id\":2,\"name\":\"s3cret\"\n".utf8))
        ])
        let request = make(GoodsStream.self)
        request.loadData()
        #expect(await screen.screen.ending() == .failure(.decoding))
        #expect(request.elements == [Goods(id: 1, name: "a")])
        #expect(request.error?.reason == "line 3 is no Goods")
        #expect(transport.requests.count == 1)
    }

    @Test func `A line that cannot be read fails the load at once, also when nothing follows`() async {
        let (response, body) = HTTPResponse.open([:])
        respond([response])
        let request = make(GoodsStream.self)
        request.loadData()
        body.yield(Data("{\"id\":1,\"name\":\"a\"}\nnone\n".utf8))
        #expect(await screen.screen.ending() == .failure(.decoding))
        #expect(request.elements.count == 1)
        #expect(request.error?.reason == "line 2 is no Goods")
    }

    @Test func `Events are chosen by their type`() async {
        let text = "event: price\ndata: {\"id\":1,\"name\":\"a\"}\n\nevent: ping\ndata: x\n\n"
        respond([Self.events(text), Self.events("", status: 204)])
        let request = make(GoodsStream.self)
        request.customStrategy = .jsonEvents(named: ["price"])
        request.customStrategy?.reconnects = false
        request.loadData()
        #expect(await screen.screen.ending() == .success)
        #expect(request.elements == [Goods(id: 1, name: "a")])
    }

    @Test func `Without names, the JSON of each event is an element, whatever its type`() async {
        respond([Self.events("event: price\ndata: {\"id\":1,\"name\":\"a\"}\n\ndata: {\"id\":2,\"name\":\"b\"}\n\n")])
        let request = make(GoodsStream.self)
        request.customStrategy = .jsonEvents()
        request.customStrategy?.reconnects = false
        request.loadData()
        #expect(await screen.screen.ending() == .success)
        #expect(request.elements == [Goods(id: 1, name: "a"), Goods(id: 2, name: "b")])
    }

    @Test func `A closure makes elements of events or ignores them, and its error is one of decoding`() async {
        struct Closed: Error {}
        respond([Self.events("data: a\n\ndata: ignored\n\ndata: b\n\ndata: closed\n\ndata: c\n\n")])
        let request = make(LineStream.self)
        request.customStrategy = .events { event, _ in
            guard event.data != "closed" else { throw Closed() }
            return event.data == "ignored" ? nil : event.data
        }
        request.loadData()
        #expect(await screen.screen.ending() == .failure(.decoding))
        #expect(request.elements == ["a", "b"])
        #expect(request.error?.underlying is Closed)
        #expect(transport.requests.count == 1)
    }

    private nonisolated enum Notice: Equatable, Sendable {
        struct Order: Decodable, Equatable { let orderNumber: Int }

        case order(Order)
        case other(String)
    }

    private final class NoticeStream: StreamAPIRequest<Notice>, APIManager {
        let (path, method) = ("/events", HTTPMethod.get)
        override var strategy: StreamStrategy<Notice>? {
            .events { event, decoder in
                guard event.event == "order" else { return .other(event.event) }
                return .order(try decoder.decode(Notice.Order.self, from: Data(event.data.utf8)))
            }
        }
    }

    @Test func `A closure decodes events of different types with the decoder of the service`() async {
        respond([Self.events("event: order\ndata: {\"order_number\": 7}\n\ndata: x\n\n"), .status(204)])
        let service = APIService.sample { $0.decoder.keyDecodingStrategy = .convertFromSnakeCase }
        let proxy = APIProxy(service: service, transport: transport, clock: clock)
        let request = NoticeStream(delegate: screen, proxy: proxy)
        request.loadData()
        await clock.waitForSleepers()
        clock.advance(by: .seconds(3))
        #expect(await screen.screen.ending() == .success)
        #expect(request.elements == [.order(.init(orderNumber: 7)), .other("message")])
    }

    @Test func `The first line has no byte order mark`() async {
        let mark = "\u{FEFF}"
        respond([HTTPResponse(status: 200, body: Data("\(mark)one\n\(mark)two\n".utf8))])
        let request = make(LineStream.self)
        request.customStrategy = .lines
        request.loadData()
        #expect(await screen.screen.ending() == .success)
        #expect(request.elements == ["one", "\(mark)two"])
    }

    @Test func `A line that is larger than the strategy allows fails the load after those before it`() async {
        respond([HTTPResponse(status: 200, body: Data("one\nthree\ntwo\n".utf8))])
        let request = make(LineStream.self)
        request.customStrategy = .lines
        request.customStrategy?.elementBytes = 4
        request.loadData()
        #expect(await screen.screen.ending() == .failure(.responseTooLarge))
        #expect(request.elements == ["one"])
        #expect(request.error?.reason == "line 2 is larger than 4 bytes")
    }

    @Test func `The newest elements are kept, and a reset removes them`() async {
        respond([
            HTTPResponse(status: 200, body: Data("1\n2\n3\n".utf8)), HTTPResponse(status: 200, body: Data("4\n".utf8)),
        ])
        let request = make(LineStream.self)
        request.limit = 2
        request.loadData()
        #expect(await screen.screen.ending() == .success)
        #expect(request.elements == ["2", "3"])
        #expect(request.newElements == ["1", "2", "3"])
        request.loadAgain()
        #expect(await screen.screen.ending() == .success)
        #expect(request.elements == ["4"])
        request.reset()
        #expect(request.elements.isEmpty)
    }

    @Test func `An observer that cancels the load keeps its elements from the delegate`() async {
        let (response, body) = HTTPResponse.open([:])
        respond([response])
        let request = make(LineStream.self)
        request.loadData()
        withObservationTracking {
            _ = request.elements
        } onChange: {
            MainActor.assumeIsolated { request.cancelAllRequests() }
        }
        body.yield(Data("one\n".utf8))
        #expect(await screen.screen.ending() == .cancelled)
        #expect(screen.batches.isEmpty)
    }

    @Test func `Elements without a strategy fail before anything is sent`() async {
        let request = make(OpaqueStream.self)
        request.loadData()
        #expect(await screen.screen.ending() == .failure(.invalidRequest))
        #expect(transport.requests.isEmpty)
    }

    @Test func `A stream with a destination fails before anything is sent`() async {
        let request = make(StoredStream.self)
        request.loadData()
        #expect(await screen.screen.ending() == .failure(.invalidRequest))
        #expect(request.error?.reason == "the elements of a stream are not stored in a file")
        #expect(transport.requests.isEmpty)
    }

    // MARK: Endings

    @Test func `After a cancel no element is delivered, wherever the load is`() async {
        for cancelsInside in [true, false] {
            let (response, body) = HTTPResponse.open([:])
            respond([response])
            let request = make(LineStream.self)
            let screen = StreamScreen()
            request.delegate = screen
            if cancelsInside { screen.onElements = { $0.cancelAllRequests() } }
            request.loadData()
            body.yield(Data("one\n".utf8))
            await suspend(while: screen.batches.isEmpty)
            body.yield(Data("two\n".utf8))
            if !cancelsInside { request.cancelAllRequests() }
            body.yield(Data("three\n".utf8))
            #expect(await screen.screen.ending() == .cancelled)
            await sentinel(proxy)
            #expect(screen.batches == [1])
        }
    }

    @Test func `A stream that is lost fails after its elements, and is not sent again`() async {
        let service = APIService.sample { $0.retryPolicy = RetryPolicy() }
        #expect(await endingOfLostStream(from: service) == .failure(.transport))
    }

    /// Loses a stream after its first line.
    private func endingOfLostStream(from service: APIService) async -> RequestRecorder.Event? {
        let proxy = APIProxy(service: service, transport: transport, clock: clock)
        let (response, body) = HTTPResponse.open([:])
        respond([response])
        let request = LineStream(delegate: screen, proxy: proxy)
        request.loadData()
        body.yield(Data("one\ntw".utf8))
        body.finish(throwing: TransportError(.connectionLost, "cut"))
        let ending = await screen.screen.ending()
        #expect(request.elements == ["one"])
        #expect(transport.requests.count == 1)
        return ending
    }

    @Test(arguments: [false, true])
    func `An adapter of failures sees the error of a lost stream, which is not sent again`(_ asksAgain: Bool) async {
        let failures = Lock<[APIErrorType]>([])
        let service = APIService.sample { service in
            service.adapters.failure = [
                Adapter { error, _ in
                    failures.withLock { $0.append(error.type) }
                    if asksAgain { throw AdapterRetry.again() }
                    error = APIError(.noNetwork, reason: "the lift")
                }
            ]
        }
        #expect(await endingOfLostStream(from: service) == .failure(asksAgain ? .transport : .noNetwork))
        #expect(failures.withLock(\.self) == [.transport])
    }

    @Test func `A refusal before the stream is retried, and its body is read as usual`() async {
        let service = APIService.sample { service in
            service.retryPolicy = RetryPolicy()
            service.retryPolicy.baseDelay = .zero
        }
        let proxy = APIProxy(service: service, transport: transport, clock: clock)
        let body = Data("one".utf8)
        respond([
            .status(503), HTTPResponse(status: 200, body: body), .json(#"{"errcode":77,"msg":"no"}"#, status: 400),
        ])
        let request = LineStream(delegate: screen, proxy: proxy)
        request.loadData()
        #expect(await screen.screen.ending() == .success)
        #expect(request.elements == ["one"])
        request.loadData()
        #expect(await screen.screen.ending() == .failure(.http))
        #expect(request.error?.code == 77)
    }

    @Test(.fault(124)) func `A silent stream ends with timeout, and its deadline ends it as well`() async {
        let transport = ScriptedTransport(clock: clock)
        let proxy = APIProxy(service: .sample(), transport: transport, clock: clock)
        for isDeadline in [false, true] {
            let (response, body) = HTTPResponse.open([:])
            transport.on(.get, "/events") { _ in response }
            let request = LineStream(delegate: screen, proxy: proxy)
            if isDeadline { request.ownOptions.deadline = .seconds(20) } else { request.ownTimeout = .seconds(20) }
            request.loadData()
            body.yield(Data("one\n".utf8))
            await suspend(while: request.elements.isEmpty)
            // Besides the deadline there is the timeout of the service.
            await clock.waitForSleepers(isDeadline ? 2 : 1)
            clock.advance(by: .seconds(20))
            #expect(await screen.screen.ending() == .failure(.timeout))
            request.reset()
        }
    }

    @Test func `After a cancel an iteration returns none of the elements that have arrived`() async throws {
        let (response, body) = HTTPResponse.open([:])
        respond([response])
        body.yield(Data("one\ntwo\nthree\n".utf8))
        let request = make(LineStream.self)
        var elements = request.elements().makeAsyncIterator()
        #expect(try await elements.next() == "one")
        request.cancelAllRequests()
        await suspend(while: request.isLoading)
        let error = await #expect(throws: APIError.self) { _ = try await elements.next(isolation: #isolation) }
        #expect(error?.type == .cancelled)
    }

    @Test func `An iteration that has joined the load of a screen leaves it to the screen`() async throws {
        let (response, body) = HTTPResponse.open([:])
        respond([response])
        let request = make(LineStream.self)
        request.customRestartPolicy = .ignoreNew
        request.loadData()
        let reading = Task { await readOne(of: request) }
        await suspend(while: request.waiters.isEmpty)
        reading.cancel()
        #expect(await reading.value == .cancelled)
        #expect(request.isLoading)
        body.yield(Data("one\n".utf8))
        body.finish()
        #expect(await screen.screen.ending() == .success)
        #expect(request.elements == ["one"])
        #expect(transport.requests.count == 1)
    }

    @Test(arguments: [RestartPolicy.cancelPrevious, .concurrent])
    func `A load that a hook of an iteration begins is one of the delegate`(_ policy: RestartPolicy) async throws {
        respond(["one\ntwo\n", "three\nfour\n"].map { HTTPResponse(status: 200, body: Data($0.utf8)) })
        let request = make(LineStream.self)
        request.customRestartPolicy = policy
        request.onReform = { [unowned request] in request.loadData() }
        var (read, failure) = ([String](), APIErrorType?.none)
        do throws(APIError) {
            for try await line in request.elements() { read.append(line) }
        } catch {
            failure = error.type
        }
        #expect(await screen.screen.ending() == .success)
        #expect(failure == (policy == .concurrent ? nil : .cancelled))
        #expect(Set(read + request.elements).count == (policy == .concurrent ? 4 : 2))
        #expect(request.elements.count == 2)
        #expect(proxy.activeRequests.isEmpty)
    }

    @Test func `An iteration returns what has arrived before its deadline, and then the error`() async throws {
        let (response, body) = HTTPResponse.open([:])
        respond([response])
        body.yield(Data("one\ntwo\nthree\n".utf8))
        let request = make(LineStream.self)
        request.ownOptions.deadline = .seconds(5)
        var elements = request.elements().makeAsyncIterator()
        #expect(try await elements.next() == "one")
        await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        await suspend(while: request.isLoading)
        #expect(try await elements.next() == "two")
        #expect(try await elements.next() == "three")
        let error = await #expect(throws: APIError.self) { _ = try await elements.next(isolation: #isolation) }
        #expect(error?.type == .timeout)
    }

    // MARK: Event streams

    @Test func `The ID of the newest event replaces that of the app, also when it is reset`() async {
        respond([Self.events("id: a\tb\ndata: a\n\n"), Self.events("id:\ndata: b\n\n"), .status(204)])
        let request = make(EventStream.self)
        request.ownHeaders = ["Last-Event-ID": "41", "Accept": "text/event-stream, text/plain"]
        request.loadData()
        for count in 1...2 {
            await suspend(while: request.elements.count < count)
            await clock.waitForSleepers()
            clock.advance(by: .seconds(5))
        }
        #expect(await screen.screen.ending() == .success)
        #expect(transport.requests.map { $0.headers["Last-Event-ID"] } == ["41", "a\tb", nil])
        #expect(transport.requests.allSatisfy { $0.headers.values("Accept") == ["text/event-stream, text/plain"] })
    }

    @Test func `An adapter that fails between two connections may have the load sent again`() async {
        let count = Lock(0)
        let service = APIService.sample { service in
            service.adapters.request = [
                Adapter { _, _ in
                    let number = count.withLock { count in
                        count += 1
                        return count
                    }
                    if number == 2 { throw AdapterRetry.again() }
                }
            ]
        }
        let proxy = APIProxy(service: service, transport: transport, clock: clock)
        respond([Self.events("data: a\n\n"), Self.events("data: b\n\n", status: 204)])
        let request = EventStream(delegate: screen, proxy: proxy)
        request.loadData()
        await suspend(while: request.elements.isEmpty)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        #expect(await screen.screen.ending() == .success)
        #expect(count.withLock(\.self) == 3)
    }

    @Test(.fault(122)) func `An event stream connects again with the last ID and the delay of the server`() async {
        respond([
            Self.events("retry: 5000\nid: 7\ndata: a\n\ndata: lost"), Self.events("data: b\n\n"), .status(204),
        ])
        let request = make(EventStream.self)
        request.loadData()
        for count in 1...2 {
            await suspend(while: request.elements.count < count)
            await clock.waitForSleepers()
            clock.advance(by: .seconds(5))
        }
        #expect(await screen.screen.ending() == .success)
        #expect(request.elements == [ServerSentEvent(data: "a", id: "7"), ServerSentEvent(data: "b", id: "7")])
        let sent = transport.requests
        #expect(sent.map { $0.headers["Last-Event-ID"] } == [nil, "7", "7"])
        #expect(sent.allSatisfy { $0.headers["Accept"] == "text/event-stream" })
        #expect(sent.allSatisfy { $0.headers["Cache-Control"] == "no-cache" })
    }

    @Test func `Attempts without an event wait longer, up to the longest delay`() async throws {
        respond([Self.events("data: a\n\n")])
        let request = make(EventStream.self)
        request.ownOptions.reportsActivity = true
        request.loadData()
        await suspend(while: request.elements.isEmpty)
        var delays: [Duration] = []
        for attempt in 2...25 {
            delays.append(try #require(await delay(of: request)))
            // The longest delay by default.
            clock.advance(by: .seconds(30))
            await transport.waitForRequests(attempt)
        }
        request.cancelAllRequests()
        #expect(await screen.screen.ending() == .cancelled)
        #expect(proxy.queuedCount == 0)
        #expect(delays[0] == .seconds(3))
        for (attempt, delay) in delays.enumerated() {
            #expect(delay <= min(.seconds(3) * (1 << min(attempt, 10)), .seconds(30)))
        }
        // The probability that none of 20 is longer is 0.1 to the power of 20.
        #expect(delays.contains { $0 > .seconds(3) })
    }

    @Test func `A server that wants no delay, and ends each connection, is waited for a little`() async throws {
        let request = make(EventStream.self)
        request.ownOptions.reportsActivity = true
        respond((0..<3).map { _ in Self.events("retry: 0\ndata: a\n\n") })
        await expectDelays(of: .milliseconds(100), request, attempts: 3)
    }

    /// Waits until it waits, and returns for how long.
    private func delay(of request: BaseAPIRequest) async -> Duration? {
        await clock.waitForSleepers()
        await sentinel(proxy)
        guard case .waiting(.retry, let delay) = request.activity else { return nil }
        return delay
    }

    /// Loads until this many attempts have been sent, each after the same delay, and cancels.
    private func expectDelays(
        of delay: Duration,
        _ request: BaseAPIRequest,
        attempts: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        request.loadAgain()
        for attempt in 2...attempts {
            #expect(await self.delay(of: request) == delay, sourceLocation: sourceLocation)
            clock.advance(by: delay)
            await transport.waitForRequests(attempt)
        }
        request.cancelAllRequests()
        #expect(await screen.screen.ending() == .cancelled, sourceLocation: sourceLocation)
    }

    @Test func `Events that a strategy ignores are events to the delay of a reconnection`() async {
        let request = make(GoodsStream.self)
        request.customStrategy = .jsonEvents(named: ["price"])
        request.ownOptions.reportsActivity = true
        respond((0..<5).map { _ in Self.events("event: ping\ndata: x\n\n") })
        await expectDelays(of: .seconds(3), request, attempts: 6)
        #expect(request.elements.isEmpty)
    }

    @Test func `A connection that was open for long is one that works, also without an event`() async throws {
        // Short of, or as long as, the longest delay before each, which is 3 s for the first ones.
        let connections: [(seconds: Double, isLong: Bool)] = [
            (0, true), (2, false), (90, true), (90, true), (2.9, false), (5, false), (11, false), (30, true),
        ]
        let opened = connections.map { _ in Latch() }
        let bodies = connections.map { _ in AsyncThrowingStream<Data, any Error>.makeStream() }
        respond(
            zip(opened, bodies).map { isOpen, body in
                .stream(headers: ["Content-Type": "text/event-stream"]) {
                    isOpen.open()
                    return body.stream
                }
            }
        )
        let request = make(EventStream.self)
        request.customStrategy = .events
        request.customStrategy?.maxReconnectionDelay = .seconds(100)
        request.ownOptions.reportsActivity = true
        request.loadData()
        var longest = Duration.zero
        for (number, connection) in connections.enumerated() {
            try await opened[number].wait()
            bodies[number].continuation.yield(Data(": heartbeat\n\n".utf8))
            clock.advance(by: .seconds(connection.seconds))
            bodies[number].continuation.finish()
            let delay = try #require(await delay(of: request))
            longest = connection.isLong ? .seconds(3) : longest * 2
            // A random one, except after a connection that works.
            #expect(delay <= longest && (delay == .seconds(3)) == connection.isLong, "after connection \(number)")
            clock.advance(by: .seconds(100))
        }
        request.cancelAllRequests()
        #expect(await screen.screen.ending() == .cancelled)
    }

    @Test(arguments: [Duration.zero, .seconds(-1)])
    func `An event stream does not connect again at once, whatever the longest delay is`(_ longest: Duration)
        async throws
    {
        respond((0..<3).map { _ in Self.events("retry: 0\ndata: a\n\n") })
        let request = make(EventStream.self)
        request.customStrategy = .events
        request.customStrategy?.maxReconnectionDelay = longest
        request.ownOptions.reportsActivity = true
        request.loadData()
        for _ in 0..<2 {
            #expect(await delay(of: request) == .milliseconds(100))
            clock.advance(by: .milliseconds(100))
        }
        request.cancelAllRequests()
        #expect(await screen.screen.ending() == .cancelled)
    }

    @Test(arguments: ["status", "type", "post", "never", "first"])
    func `Some endings of an event stream are final`(_ reason: String) async {
        let request = make(EventStream.self)
        var expected = RequestRecorder.Event.failure(.http)
        switch reason {
        case "status": respond([Self.events("data: a\n\n"), .status(403)])
        case "type":
            respond([Self.events("data: a\n\n"), HTTPResponse(status: 200, headers: ["Content-Type": "text/x-bogus"])])
            expected = .failure(.transport)
        case "post":
            request.method = .post
            respond([Self.events("data: a\n\n")])
            expected = .success
        case "never":
            request.customStrategy = .events
            request.customStrategy?.reconnects = false
            respond([Self.events("data: a\n\n")])
            expected = .success
        default:
            respond([])
            expected = .failure(.transport)
        }
        request.loadData()
        if ["status", "type"].contains(reason) {
            await clock.waitForSleepers()
            clock.advance(by: .seconds(3))
        }
        #expect(await screen.screen.ending() == expected)
        #expect(request.elements.count == (reason == "first" ? 0 : 1))
    }

    @Test func `The content type of an event stream may have parameters, and no other`() async {
        for (type, isAccepted) in [
            ("text/event-stream;", true), ("Text/Event-Stream ; charset=windows-1252", true), ("x bogus", false),
            ("", false),
        ] {
            respond([HTTPResponse(status: 200, headers: ["Content-Type": type], body: Data("data: a\n\n".utf8))])
            let request = make(EventStream.self)
            request.customStrategy = .events
            request.customStrategy?.reconnects = false
            request.loadData()
            #expect(await screen.screen.ending() == (isAccepted ? .success : .failure(.transport)))
            request.reset()
        }
    }

    @Test(.enabled(if: SharedData.eventSource.exists, "the web platform tests are not here"))
    func `The header lines are those that the web platform tests expect`() async throws {
        let lines = [("request-accept.any.js", "Accept"), ("request-cache-control.any.js", "Cache-Control")]
        for (file, name) in lines {
            let script = String(decoding: try SharedData.eventSource.bytes(file), as: UTF8.self)
            let expected = try #require(script.firstMatch(of: /assert_equals\(e\.data, "([^"]+)"/)).1
            let request = make(EventStream.self)
            // Twice, as they do.
            for _ in 0..<2 {
                respond([.status(204)])
                request.loadData()
                #expect(await screen.screen.ending() == .success)
                #expect(transport.requests.last?.headers[name] == String(expected))
            }
        }
    }

    @Test(.enabled(if: SharedData.eventSource.exists, "the web platform tests are not here"))
    func `Each status of the web platform tests ends an event stream, and delivers nothing`() async throws {
        let script = String(decoding: try SharedData.eventSource.bytes("request-status-error.window.js"), as: UTF8.self)
        let statuses = script.matches(of: /statusTest\("(\d+)"\)/).compactMap { Int($0.1) }
        #expect(statuses == [204, 205, 210, 299, 404, 410, 503])
        for status in statuses {
            let request = make(EventStream.self)
            respond([Self.events([204, 205].contains(status) ? "" : "data: data\n\n", status: status)])
            request.loadData()
            let ending: RequestRecorder.Event =
                switch status {
                case 204: .success
                case ..<300: .failure(.transport)
                default: .failure(.http)
                }
            #expect(await screen.screen.ending() == ending, "\(status)")
            #expect(request.elements.isEmpty)
            if status == 205 {
                #expect(request.error?.reason == "the response is no event stream: its status is 205, not 200")
            }
        }
        #expect(transport.requests.count == statuses.count)
    }

    @Test(.fault(122)) func `A failure in an envelope is read in the place of an event stream`() async {
        let account = Account()
        let responses = Lock([
            LoginExpiryFormat.code.response, .json(#"{"errcode":"E7","msg":"closed"}"#), .json(#"{"errcode":200}"#),
        ])
        transport.on(.get, "/events") { _ in responses.withLock { $0.removeFirst() } }
        let service = APIService.sample { $0.reloginHandler = account }
        let request = EventStream(
            delegate: screen,
            proxy: APIProxy(service: service, transport: transport, clock: clock)
        )
        request.loadData()
        #expect(await screen.screen.ending() == .failure(.server))
        #expect(account.logins == 1)
        #expect(request.error?.code == "E7" && request.error?.message == "closed")
        request.loadData()
        #expect(await screen.screen.ending() == .failure(.decoding))
        #expect(request.error?.reason == "the response is no event stream: it is JSON")
        #expect(request.elements.isEmpty && responses.withLock(\.isEmpty))
    }

    private func isWaiting(_ request: BaseAPIRequest) -> Bool {
        guard case .waiting(.retry, _)? = request.activity else { return false }
        return true
    }

    @Test(.fault(122), arguments: [APIErrorType.noNetwork, .http])
    func `A stream whose login server cannot be reached, or has a fault, connects again`(_ type: APIErrorType) async {
        let account = Account()
        let fault = APIResponse(HTTPResponse(status: 503), to: nil, url: URL("http://shop.test/login"))
        account.login = { throw APIError(type, response: type == .http ? fault : nil) }
        let (open, body) = HTTPResponse.open()
        let responses = Lock([open, .status(401), Self.events("data: a\n\n")])
        transport.on(.get, "/events") { _ in responses.withLock { $0.removeLast() } }
        let service = APIService.sample {
            ($0.reloginHandler, $0.retryPolicy) = (account, .never)
        }
        let waits = Lock(0)
        let recorder = EventRecorder { event in
            if case .waiting(.retry, _) = event.kind { waits.withLock { $0 += 1 } }
        }
        let proxy = APIProxy(service: service, transport: transport, clock: clock, monitors: [recorder])
        let request = EventStream(delegate: screen, proxy: proxy)
        request.loadData()
        for count in 1...2 {
            await suspend(while: waits.withLock { $0 } < count)
            await clock.waitForSleepers()
            clock.advance(by: .seconds(30))
        }
        body.yield(Data("data: b\n\n".utf8))
        await suspend(while: request.elements.count < 2)
        #expect(request.isLoading && account.logins == 1)
        request.cancelAllRequests()
        #expect(await screen.screen.ending() == .cancelled)
    }

    @Test func `A stream ends with the failure of a reconnection, whatever an adapter puts around it`() async {
        let responses = Lock([.status(503), Self.events("data: a\n\n")])
        transport.on(.get, "/events") { _ in responses.withLock { $0.removeLast() } }
        let service = APIService.sample {
            $0.retryPolicy = .never
            $0.adapters.failure = [
                Adapter { error, _ in error = APIError(error.type, response: error.response, underlying: error) }
            ]
        }
        let proxy = APIProxy(service: service, transport: transport, clock: clock)
        let request = EventStream(delegate: screen, proxy: proxy)
        request.ownOptions.reportsActivity = true
        request.loadData()
        await suspend(while: !isWaiting(request))
        await clock.waitForSleepers()
        clock.advance(by: .seconds(30))
        #expect(await screen.screen.ending() == .failure(.http))
    }

    @Test(.fault(122)) func `An expired login is renewed before the stream, and is proven when it begins`() async throws
    {
        let account = Account()
        let (response, body) = HTTPResponse.open()
        let isFirst = Lock(true)
        transport.on(.get, "/events") { _ in
            isFirst.withLock { exchange(&$0, with: false) } ? .status(401) : response
        }
        let service = APIService.sample { $0.reloginHandler = account }
        let proxy = APIProxy(service: service, transport: transport, clock: clock)
        let request = EventStream(delegate: screen, proxy: proxy)
        request.loadData()
        body.yield(Data("data: a\n\n".utf8))
        await suspend(while: request.elements.isEmpty)
        #expect(account.logins == 1)
        #expect(service.login.current.isProven)
        proxy.logout(from: service)
        #expect(await screen.screen.ending() == .cancelled)
    }
}
