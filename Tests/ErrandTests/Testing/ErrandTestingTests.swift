import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("The test support for apps", .timeLimit(.minutes(10)))
struct ErrandTestingTests {
    let clock = ManualClock()

    // MARK: The scripted transport

    @Test func `The newest script that matches the method and the end of the path responds`() async throws {
        let network = ScriptedTransport()
        network.on(.get, "/orders/*") { _ in .json("older") }
        network.on(.get, "/orders/{id}") { _ in .json("newer") }
        network.on(.post, "/orders/7") { _ in .json("post") }
        let get = HTTPRequest(.get, URL("http://shop.test/v1/orders/7?x=1"))
        #expect(try await network.send(get).body == Data("newer".utf8))
        #expect(try await network.send(HTTPRequest(.post, URL("http://shop.test/orders/7"))).body == Data("post".utf8))
        #expect(network.requests.map(\.method) == [.get, .post])
    }

    @Test func `The file of a scripted response is its body, and a missing one an error`() async throws {
        let folder = try TemporaryFolder()
        let (fixture, target) = (folder.url.appending(path: "fixture"), folder.url.appending(path: "target"))
        try Data("picture".utf8).write(to: fixture)
        let network = ScriptedTransport { HTTPResponse(status: 200, file: $0.url.path == "/a" ? fixture : target) }
        var request = HTTPRequest(.get, URL("http://shop.test/a"))
        #expect(try await network.send(request).body == Data("picture".utf8))
        let missing = await #expect(throws: TransportError.self) {
            try await network.send(HTTPRequest(.get, URL("http://shop.test/b")))
        }
        #expect(missing?.kind == .storage)
        request.destination = .file(target)
        #expect(try await network.send(request).file == target)
        #expect(try Data(contentsOf: target) == Data("picture".utf8))
        #expect(FileManager.default.fileExists(atPath: fixture.path))
    }

    @Test func `A slash within a segment separates nothing`() async throws {
        let network = ScriptedTransport(keepsRequests: false)
        network.on(.get, "/files/a%2Fb c") { _ in .json("one") }
        network.on(.get, "/files/*") { _ in .json("any") }
        network.on(.get, "/files/ü/{name}") { _ in .json("two") }
        for (path, body) in [("a%2Fb%20c", "any"), ("%C3%BC/x%2Fy", "two")] {
            let request = HTTPRequest(.get, URL("http://shop.test/files/\(path)"))
            #expect(try await network.send(request).body == Data(body.utf8))
        }
        network.on(.get, "/files/a%2Fb c") { _ in .json("newest") }
        let encoded = HTTPRequest(.get, URL("http://shop.test/files/a%2Fb%20c"))
        #expect(try await network.send(encoded).body == Data("newest".utf8))
        network.on(.get, "/") { _ in .json("root") }
        #expect(try await network.send(HTTPRequest(.get, URL("http://shop.test/"))).body == Data("root".utf8))
        let other = HTTPRequest(.get, URL("http://shop.test/x%2Fy"))
        let error = await #expect(throws: TransportError.self) { try await network.send(other) }
        #expect(error?.reason == "no script responds to GET /x%2Fy")
    }

    @Test func `A request without a script fails and the error names the request`() async {
        let network = ScriptedTransport(clock: clock)
        network.on(.get, "/orders") { _ in .status(200) }
        for url in [URL("http://shop.test/orders/7"), URL("http://shop.test/my-orders"), URL("http://shop.test/")] {
            let error = await #expect(throws: TransportError.self) { try await network.send(HTTPRequest(.get, url)) }
            #expect(error?.kind == .invalidRequest)
            #expect(error?.reason == "no script responds to GET \(url.path)")
        }
    }

    @Test func `The error that a script throws is the ending of the exchange`() async {
        struct Oops: Error {}
        let errors: [(any Error, TransportError.Kind)] = [
            (TransportError(.timeout, "slow"), .timeout), (CancellationError(), .cancelled), (Oops(), .connectionLost),
        ]
        for (error, kind) in errors {
            let network = ScriptedTransport { _ in throw error }
            #expect(await network.ending(of: HTTPRequest(.get, URL("http://shop.test/"))) == kind)
        }
    }

    @Test func `A request's timeout passes on the manual clock, even when the script ignores its cancel`() async {
        let never = Latch()
        let network = ScriptedTransport(clock: clock) { _ in
            await never.waitIgnoringCancellation()
            return .status(200)
        }
        var request = HTTPRequest(.get, URL("http://shop.test/"))
        request.timeout = .seconds(30)
        let ending = Task { [request] in await network.ending(of: request) }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(30))
        #expect(await ending.value == .timeout)
        let cancelled = Task { [request] in await network.ending(of: request) }
        await clock.waitForSleepers()
        cancelled.cancel()
        #expect(await cancelled.value == .cancelled)
        never.open()
    }

    @Test func `Without a clock too, a cancel ends an exchange whose script ignores it`() async throws {
        let (never, network) = (Latch(), ScriptedTransport())
        network.on(.get, "/slow") { _ in
            await never.waitIgnoringCancellation()
            return .status(200)
        }
        network.on(.get, "/next") { _ in .status(204) }
        let proxy = APIProxy(service: .sample(), transport: network, queueLimits: QueueLimits(perHost: 1))
        let slow = Task { try await proxy.send(HTTPRequest(.get, URL("http://shop.test/slow"))) }
        await network.waitForRequests()
        slow.cancel()
        await #expect(throws: APIError.self) { try await slow.value }
        // The place is free.
        #expect(try await proxy.send(HTTPRequest(.get, URL("http://shop.test/next"))).status == 204)
        never.open()
    }

    @Test func `The deadline of a request ends a script before its timeout does`() async {
        let never = Latch()
        let network = ScriptedTransport(clock: clock) { _ in
            try await never.wait()
            return .status(200)
        }
        var request = HTTPRequest(.get, URL("http://shop.test/"))
        (request.timeout, request.deadline) = (.seconds(30), .seconds(10))
        let error = Task { [request] in await network.error(of: request) }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(10))
        #expect(await error.value?.reason.contains("deadline") == true)
    }

    @Test func `Each part of a stream restarts the timeout, but not the deadline`() async {
        let (requested, gates) = (Counter(), (0..<4).map { _ in Latch() })
        let network = ScriptedTransport(clock: clock) { _ in .status(204) }
        var request = HTTPRequest(.post, URL("http://shop.test/"))
        request.body = .stream {
            AsyncStream {
                try? await gates[min(requested.next(), gates.count) - 1].wait()
                return Data("part".utf8)
            }
        }
        (request.timeout, request.deadline) = (.seconds(60), .seconds(95))
        let error = Task { [request] in await network.error(of: request) }
        await clock.waitForSleepers()
        for number in 1...3 {
            await suspend(while: requested.count < number)
            gates[number - 1].open()
            // The next part is requested when this one has been read.
            await suspend(while: requested.count < number + 1)
            clock.advance(by: .seconds(25))
            await clock.waitForSleepers()
        }
        clock.advance(by: .seconds(20))
        #expect(await error.value?.reason.contains("deadline") == true)
    }

    @Test func `A clock whose sleep does not advance it ends a script at once`() async {
        struct ImmediateClock: APIClock {
            var uptime: Duration { .zero }
            var date: Date { Date(timeIntervalSince1970: 0) }
            func sleep(for duration: Duration) async throws(CancellationError) {}
        }
        let never = Latch()
        let network = ScriptedTransport(clock: ImmediateClock()) { _ in
            try await never.wait()
            return .status(200)
        }
        #expect(await network.ending(of: HTTPRequest(.get, URL("http://shop.test/"))) == .timeout)
    }

    @Test func `A response within the timeout leaves no sleeping task`() async {
        let network = ScriptedTransport(clock: clock) { _ in .status(204) }
        #expect(await network.ending(of: HTTPRequest(.get, URL("http://shop.test/"))) == nil)
        await suspend(while: clock.sleepers > 0)
    }

    @Test func `A body is written to the request's file, or is limited in memory`() async throws {
        let folder = try TemporaryFolder()
        let network = ScriptedTransport { request in
            HTTPResponse(status: request.url.path == "/" ? 200 : 404, body: Data("body".utf8))
        }
        var request = HTTPRequest(.get, URL("http://shop.test/"))
        request.destination = .file(folder.file)
        let response = try await network.send(request)
        #expect(response.file == folder.file)
        #expect(response.body.isEmpty)
        #expect(try String(contentsOf: folder.file, encoding: .utf8) == "body")
        request.url = URL("http://shop.test/missing")
        #expect(try await network.send(request).body == Data("body".utf8), "an error goes to memory")
        request.destination = .memory
        request.limits.bodyBytes = 3
        #expect(await network.ending(of: request) == .responseTooLarge)
        request.url = URL("http://shop.test/")
        request.destination = .file(folder.url.appending(path: "missing/file"))
        #expect(await network.ending(of: request) == .storage)
    }

    @Test func `Progress is reported when a body has been transferred`() async throws {
        let network = ScriptedTransport { _ in HTTPResponse(status: 200, body: Data("body".utf8)) }
        let reports = Lock<[TransferProgress]>([])
        let request = HTTPRequest(.post, URL("http://shop.test/"), body: .data(Data("up".utf8)))
        _ = try await network.send(request) { report in reports.withLock { $0.append(report) } }
        #expect(
            reports.withLock { $0 } == [
                TransferProgress(.upload, completedBytes: 2, totalBytes: 2),
                TransferProgress(.download, completedBytes: 4, totalBytes: 4),
            ]
        )
    }

    @Test func `A file or stream is read before the script responds, and a fault of it is the ending`() async throws {
        let folder = try TemporaryFolder()
        let network = ScriptedTransport { _ in .status(200) }
        let reports = Lock<[TransferProgress]>([])
        let chunks: @Sendable () -> AsyncStream<Data> = {
            AsyncStream {
                $0.yield(Data("stream".utf8))
                $0.finish()
            }
        }
        var request = HTTPRequest(.post, URL("http://shop.test/"), body: .file(folder.file))
        #expect(await network.ending(of: request) == .invalidRequest, "the file is missing")
        try Data("file".utf8).write(to: folder.file)
        for (body, expected) in [
            (HTTPBody.file(folder.file), nil), (.stream(length: 6, chunks), nil), (.stream(chunks), nil),
            (.stream(length: 5, chunks), .storage), (.stream(length: 7, chunks), .storage),
        ] as [(HTTPBody, TransportError.Kind?)] {
            request.body = body
            let ending = await network.ending(of: request) { report in reports.withLock { $0.append(report) } }
            #expect(ending == expected, "\(body)")
        }
        #expect(
            reports.withLock { $0 } == [
                TransferProgress(.upload, completedBytes: 4, totalBytes: 4),
                TransferProgress(.upload, completedBytes: 6, totalBytes: 6),
                TransferProgress(.upload, completedBytes: 6, totalBytes: nil),
            ]
        )
    }

    @Test func `A stream that pauses for longer than the timeout ends its exchange, and so does a cancel`() async {
        let network = ScriptedTransport(clock: clock) { _ in .status(200) }
        let silence = HTTPBody.stream { AsyncStream<Data> { _ in } }
        let request = HTTPRequest(.post, URL("http://shop.test/"), body: silence)
        let ending = Task { await network.ending(of: request) }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(60))
        #expect(await ending.value == .timeout)
        let withoutClock = ScriptedTransport { _ in .status(200) }
        let cancelled = Task { await withoutClock.ending(of: request) }
        await withoutClock.waitForRequests()
        cancelled.cancel()
        #expect(await cancelled.value == .cancelled)
    }

    @Test func `A response has no body where HTTP has none, and its header lines are limited`() async throws {
        let network = ScriptedTransport { request in
            .json("body", status: Int(request.url.lastPathComponent) ?? 0, headers: ["X-Long": "0123456789"])
        }
        for (method, status) in [(HTTPMethod.head, 200), (.get, 204), (.get, 304)] {
            let response = try await network.send(HTTPRequest(method, URL("http://shop.test/\(status)")))
            #expect(response.status == status)
            #expect(response.body.isEmpty, "\(method) \(status)")
        }
        var request = HTTPRequest(.get, URL("http://shop.test/200"))
        request.limits.headerBytes = 50
        #expect(await network.ending(of: request) == .responseTooLarge)
        request.limits.headerBytes = 60
        #expect(await network.ending(of: request) == nil)
    }

    @Test func `A script receives what a transport would send, and an invalid request is refused`() async throws {
        let network = ScriptedTransport { _ in .status(200) }
        let headers: HTTPHeaders = [
            "Host": "a.test", "Content-Length": "7", "Transfer-Encoding": "chunked", "X-A": "1",
        ]
        _ = try await network.send(HTTPRequest(.get, URL("http://shop.test/"), headers: headers))
        #expect(network.requests.first?.headers.map(\.name) == ["X-A"])
        #expect(await network.ending(of: HTTPRequest(.get, URL("ftp://shop.test/"))) == .invalidRequest)
        #expect(network.requests.count == 1)
    }

    @Test func `A cancelled exchange has no response, although its script returns one`() async {
        let gate = Latch()
        let network = ScriptedTransport { _ in
            await gate.waitIgnoringCancellation()
            return .status(200)
        }
        let ending = Task { await network.ending(of: HTTPRequest(.get, URL("http://shop.test/"))) }
        await network.waitForRequests()
        ending.cancel()
        gate.open()
        #expect(await ending.value == .cancelled)
    }

    @Test func `A proxy sends as many requests at a time as the capacity allows`() async {
        let gate = Latch()
        var capacity = TransportCapacity()
        capacity.connectionsPerHost = 2
        let network = ScriptedTransport(capacity: capacity) { _ in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        let proxy = APIProxy(fake: network)
        let (screen, requests) = (RequestRecorder(), (0..<3).map { _ in GoodsRequest(proxy: proxy) })
        for request in requests {
            request.delegate = screen
            request.loadData()
        }
        await network.waitForRequests(2)
        await suspend(while: proxy.queuedCount != 1)
        #expect(network.requests.count == 2)
        gate.open()
        #expect(await screen.endings(of: requests) == [.success, .success, .success])
    }

    @Test func `A request decodes an enveloped value`() async throws {
        struct Visit: Codable, Equatable { let at: Date }
        let visit = Visit(at: Date(timeIntervalSince1970: 1_700_000_000))
        let raw = try HTTPResponse.envelope(visit, message: "a \"quoted\" text")
        let response = APIResponse(raw, url: URL("http://shop.test/"), redirects: [], duration: .zero)
        #expect(try ResponseSerializer<Visit>.json.value(of: response, from: .sample()) == visit)
        let refusal = try HTTPResponse.envelope(0, code: 5, message: "no")
        let refused = APIResponse(refusal, url: URL("http://shop.test/"), redirects: [], duration: .zero)
        #expect(throws: APIError.self) { try ResponseSerializer<Int>.json.value(of: refused, from: .sample()) }
    }

    @Test func `A response without an envelope is made of a value, a status and headers`() async throws {
        struct Visit: Codable, Equatable { let at: Date }
        let visit = Visit(at: Date(timeIntervalSince1970: 1_700_000_000))
        let response = try HTTPResponse.json([visit], status: 201, headers: ["X-Total": "1"])
        #expect(response.status == 201)
        #expect(response.headers.map(\.name).sorted() == ["Content-Type", "X-Total"])
        #expect(response.headers["Content-Type"] == "application/json")
        #expect(String(decoding: response.body, as: UTF8.self) == #"[{"at":"2023-11-14T22:13:20Z"}]"#)
        let service = APIService.sample { $0.envelope = nil }
        let proxy = APIProxy(fake: ScriptedTransport { _ in response }, service: service)
        let request = APIRequest<[Visit]>("/visits", proxy: proxy)
        #expect(try await request.value() == [visit])
    }

    @Test func `A text is the JSON itself, and an encoder and a type may be chosen`() throws {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let problem = try HTTPResponse.json(
            ["errorText": JSONValue.null],
            status: 422,
            headers: ["Content-Type": "application/problem+json"],
            encoder: encoder
        )
        #expect(problem.headers.map(\.value) == ["application/problem+json"])
        struct Member: Encodable { let errorText: String }
        let responses: [(HTTPResponse, String)] = [
            (.json("[1]"), "[1]"), (try .json(JSONValue.string("[1]")), #""[1]""#), (try .json(7), "7"),
            (try .json(["id": 7, "name": nil] as JSONValue, encoder: sorted), #"{"id":7,"name":null}"#),
            (try .json(Member(errorText: "no"), encoder: encoder), #"{"error_text":"no"}"#),
        ]
        for (response, body) in responses { #expect(String(decoding: response.body, as: UTF8.self) == body) }
        #expect(throws: EncodingError.self) { try HTTPResponse.json(Double.nan) }
    }

    private var sorted: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return encoder
    }

    @Test(arguments: [(5001, "5001"), ("E1001", #""E1001""#), (false, "false")] as [(ServerCode, String)])
    func `The code of an envelope is a number, a string or a Boolean`(_ code: ServerCode, _ json: String) async throws {
        let response = try HTTPResponse.envelope(7, code: code, message: "no")
        #expect(String(decoding: response.body, as: UTF8.self) == #"{"errcode":\#(json),"msg":"no","data":7}"#)
        let failure = try HTTPResponse.envelope(code: code, message: "no")
        #expect(String(decoding: failure.body, as: UTF8.self) == #"{"errcode":\#(json),"msg":"no","data":null}"#)
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport { _ in response }))
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .server && error?.code == code)
    }

    @Test func `An envelope has the status and the headers that a test gives it`() async throws {
        let response = try HTTPResponse.envelope(code: 42, message: "no", status: 422, headers: ["Retry-After": "3"])
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport { _ in response }))
        let error = await #expect(throws: APIError.self) { try await request.value() }
        #expect(error?.type == .http && error?.status == 422)
        #expect(error?.code == 42)
        #expect(request.rawResponse?.headers["Retry-After"] == "3")
        let flat = try HTTPResponse.envelope(["id": 7] as JSONValue, in: .wholeBody, status: 201)
        #expect(flat.status == 201)
    }

    @Test func `A value is in the envelope of the service, with its least code of success`() async throws {
        func body(_ response: HTTPResponse) -> String { String(decoding: response.body, as: UTF8.self) }
        var envelope = Envelope()
        (envelope.codeKey, envelope.messageKey, envelope.dataKey) = ("code", "message", "result")
        envelope.successCodes = [200, 0]
        #expect(body(try .envelope(7, in: envelope)) == #"{"code":0,"message":"ok","result":7}"#)
        #expect(body(try .envelope(code: 5, in: envelope)) == #"{"code":5,"message":"ok","result":null}"#)
        (envelope.codeKey, envelope.messageKey, envelope.dataKey) = ("meta.code", "meta.text", "data.page")
        let nested = #"{"meta":{"code":0,"text":"ok"},"data":{"page":7}}"#
        #expect(body(try .envelope(7, in: envelope)) == nested)
        (envelope.codeKey, envelope.successKey, envelope.messageKey, envelope.dataKey) = ("code", "success", nil, nil)
        let flat = try HTTPResponse.envelope(["id": 7] as JSONValue, in: envelope)
        #expect(body(flat) == #"{"code":0,"success":true,"id":7}"#)
        #expect(body(try .envelope([1, 2], in: .wholeBody)) == "[1,2]")
        #expect(body(try .envelope(code: "E1", in: envelope)) == #"{"code":"E1","success":false}"#)
        let service = APIService.sample { [envelope] in $0.envelope = envelope }
        let proxy = APIProxy(service: service, transport: ScriptedTransport { _ in flat })
        #expect(try await APIRequest<JSONValue>("/goods", proxy: proxy).value()["id"]?.int == 7)
    }

    @Test func `A proxy whose network a test decides fails at once, or sends`() async throws {
        for status in [ReachabilityStatus.unreachable, .unknown] {
            let transport = ScriptedTransport { _ in try .envelope("text") }
            let proxy = APIProxy(service: .sample(), transport: transport, reachability: .scripted(status))
            let request = APIRequest<String>("/text", options: .init(failsWhenUnreachable: true), proxy: proxy)
            var failure: APIError?
            do throws(APIError) { _ = try await request.value() } catch { failure = error }
            #expect(failure?.type == (status == .unreachable ? .noNetwork : nil))
            #expect(transport.requests.count == (status == .unreachable ? 0 : 1))
        }
    }

    @Test func `A load that waits for a network is sent when a test changes that`() async throws {
        let network = Reachability.scripted(.unreachable)
        let transport = ScriptedTransport { _ in
            guard network.status != .unreachable else { throw TransportError(.noNetwork, "no way") }
            return try .envelope("text")
        }
        let service = APIService.sample { $0.retryPolicy.waitsForConnectivity = true }
        let proxy = APIProxy(service: service, transport: transport, reachability: network, clock: clock)
        let text = Task { try await APIRequest<String>("/text", proxy: proxy).value() }
        await clock.waitForSleepers()
        network.change(to: .reachable(.wireless))
        #expect(try await text.value == "text")
        #expect(transport.requests.count == 2)
    }

    // MARK: The clock

    @Test func `Sleepers wake at their deadline and not before`() async {
        let tasks = [30, 10, 20].map { seconds in
            Task { [clock] in
                try await clock.sleep(for: .seconds(seconds))
            }
        }
        await clock.waitForSleepers(3)
        for (step, left) in [(9, 3), (1, 2), (10, 1), (10, 0)] {
            clock.advance(by: .seconds(step))
            #expect(clock.sleepers == left)
        }
        for task in tasks { await #expect(throws: Never.self) { try await task.value } }
        #expect(clock.uptime == .seconds(30))
        #expect(clock.date == Date(timeIntervalSince1970: 1_700_000_030))
    }

    @Test func `A cancelled sleeper throws at once, and a sleep of zero returns at once`() async throws {
        try await clock.sleep(for: .zero)
        let task = Task { [clock] in try await clock.sleep(for: .seconds(1)) }
        await clock.waitForSleepers()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleepers == 0)
    }

    @Test func `Cookies expire by the proxy's clock`() async throws {
        let network = ScriptedTransport { _ in .status(200, headers: ["Set-Cookie": "sid=1; Max-Age=60"]) }
        let proxy = APIProxy(transport: network, clock: clock)
        let url = URL("http://shop.test/")
        _ = try await proxy.send(HTTPRequest(.head, url))
        clock.advance(by: .seconds(59))
        _ = try await proxy.send(HTTPRequest(.head, url))
        clock.advance(by: .seconds(61))
        _ = try await proxy.send(HTTPRequest(.head, url))
        #expect(network.requests.map { $0.headers["Cookie"] } == [nil, "sid=1", nil])
    }

    // MARK: The shared proxy

    @Test func `The shared proxy is replaced for one task and the tasks that it starts`() async {
        let proxy = APIProxy(transport: ScriptedTransport())
        await withSharedProxy(proxy) {
            #expect(APIProxy.shared === proxy)
            #expect(GoodsScreenRequest().proxy === proxy)
            #expect(await Task { APIProxy.shared === proxy }.value)
            #expect(await Task.detached { APIProxy.shared !== proxy }.value)
        }
        #expect(APIProxy.shared !== proxy)
    }

    @Test func `A screen has the shared proxy of its test in every callback, whichever thread its load ends on`()
        async throws
    {
        final class PhotoRequest: SampleRequest, APIManager {
            typealias Response = DownloadedFile
            var target = HTTPRequest.Destination.memory
            override var destination: HTTPRequest.Destination { target }
        }
        let folder = try TemporaryFolder()
        let proxy = APIProxy(service: .sample(), transport: ScriptedTransport { _ in .text("photo") })
        let screen = Screen()
        var isReplaced: [Bool] = []
        await withSharedProxy(proxy) {
            let request = PhotoRequest(delegate: screen, proxy: nil)
            request.target = .file(folder.file)
            // The file is discarded on another thread.
            let validator = ValidatorSpy()
            validator.acceptsContent = { _ in false }
            request.validator = validator
            screen.onEvent = { _, _ in isReplaced.append(APIProxy.shared === proxy) }
            request.loadData()
            #expect(await screen.ending() == .failure(.invalidResponse))
        }
        #expect(isReplaced == [true])
    }

    @Test func `Cancelling a recorder's wait ends it`() async {
        let task = Task { await RequestRecorder().ending() }
        task.cancel()
        #expect(await task.value == nil)
    }
}

private final class GoodsScreenRequest: BaseAPIRequest {}

@Suite("Clocks and their waits", .timeLimit(.minutes(10)))
struct ManualClockTests {
    @Test(arguments: [Duration.zero, .seconds(-1), .seconds(5)])
    func `A cancelled task does not wait, however short the wait is`(_ duration: Duration) async {
        let clocks: [any APIClock] = [ManualClock(), SystemClock()]
        for clock in clocks {
            let waiting = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return (try? await clock.sleep(for: duration)) == nil
            }
            #expect(await waiting.value, "\(clock)")
        }
    }

    // Exit tests need child processes.
    #if os(macOS) || os(Linux)
    @Test(.startsLate) func `The longest possible wait outlasts a short one, and can be cancelled`() async {
        await #expect(processExitsWith: .success) {
            let (longest, short) = (Duration.seconds(Int64.max), Duration.milliseconds(1))
            await withTaskGroup { group in
                for duration in [longest, short] {
                    group.addTask {
                        try? await SystemClock().sleep(for: duration)
                        return duration
                    }
                }
                #expect(await group.next() == short)
                group.cancelAll()
                #expect(await group.next() == longest)
            }
        }
    }
    #endif
}

@MainActor @Suite("What a recorded request contains, decoded", .timeLimit(.minutes(10)))
struct RecordedRequestTests {
    private struct Visit: Codable, Equatable, Sendable {
        let at: Date
        let shopName: String
    }

    private nonisolated static let texts = [
        "", " ", "+", "%", "%2", "%41", "a=b", "=", "&a=1&", "a&b = ü+c", "e\u{301}", "=\u{301}", "\u{0}\r\n", "🛒",
        "[]", "\"",
    ]

    /// Returns the request that a load with these parameters sends.
    private func sent(
        _ params: APIParams?,
        _ method: HTTPMethod = .post,
        as serializer: RequestSerializer = .json
    ) async throws -> HTTPRequest {
        let network = ScriptedTransport { _ in .json(goodsJSON([])) }
        let request = GoodsRequest(proxy: APIProxy(fake: network))
        (request.method, request.customSerializer) = (method, serializer)
        _ = try await request.value(params: .given(params))
        return try #require(network.requests.last)
    }

    private func reason(_ read: () throws -> Any) -> String? {
        do {
            _ = try read()
        } catch DecodingError.dataCorrupted(let context) {
            return context.debugDescription
        } catch {
            return "\(type(of: error))"
        }
        return nil
    }

    @Test(arguments: texts)
    func `JSON, forms and queries have the names and values that the load was given`(_ text: String) async throws {
        let params: APIParams = [text: text, "tags": [text, "b"], "on": true, "none": nil]
        let json: JSONValue = [text: .string(text), "tags": [.string(text), "b"], "on": true, "none": nil]
        #expect(try await sent(params).json == json)
        let pairs = [text: [text], "tags[]": [text, "b"], "on": ["true"]]
        #expect(try await sent(params, as: .form).form == pairs)
        #expect(try await sent(params, .get).query == pairs)
    }

    @Test func `JSON is decoded as a type, with ISO 8601 dates or by another decoder`() async throws {
        let visit = Visit(at: Date(timeIntervalSince1970: 1_700_000_000), shopName: "a")
        #expect(try await sent(APIParams(encoding: visit)).json(as: Visit.self) == visit)
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let params: APIParams = ["at": "2023-11-14T22:13:20Z", "shop_name": "a"]
        #expect(try await sent(params).json(as: Visit.self, decoder: decoder) == visit)
        let other = try await sent(["at": 7])
        #expect(throws: DecodingError.self) { try other.json(as: Visit.self) }
    }

    @Test func `The path and the query keep their parts apart`() async throws {
        let split = try await sent(["page": 2, "text": "tea"], as: .json.placing(.split(query: ["page"])))
        #expect(split.query == ["page": ["2"]])
        #expect(try split.json == ["text": "tea"])
        let query = HTTPRequest(.get, URL("http://shop.test/?a=1&b&a=2&=3&&")).query
        #expect(query == ["a": ["1", "2"], "b": [""], "": ["3"]])
        #expect(HTTPRequest(.get, URL("http://shop.test/")).query.isEmpty)
    }

    @Test func `What cannot be read is an error that names the reason`() async throws {
        let (form, json) = (try await sent(["a": 1], as: .form), try await sent(["a": 1]))
        #expect(
            reason { try form.json } == "the body is not JSON; its Content-Type is application/x-www-form-urlencoded"
        )
        #expect(reason { try json.form } == "the body is not a form; its Content-Type is application/json")
        let nothing = try await sent(nil, .get)
        #expect(reason { try nothing.json } == "the request has no body; parameters of a GET are in its query")
        #expect(reason { try nothing.form } == reason { try nothing.json })
        #expect(reason { try nothing.json(as: Visit.self) } == reason { try nothing.json })
        var file = json
        file.body = .file(URL(filePath: "/s3cret"))
        #expect(reason { try file.json } == "a file of the body cannot be read")
        file.body = .stream { AsyncStream<Data> { nil } }
        #expect(reason { try file.json } == "the body is a stream, or has one as a part")
        var secret = json
        secret.headers["Content-Type"] = "text/plain; token=s3cret"
        #expect(reason { try secret.form }?.contains("s3cret") == false)
        secret.headers.remove("Content-Type")
        #expect(reason { try secret.form } == "the body is not a form; it has no Content-Type")
        secret.body = .data(Data(#"{"s3cret":s3cret}"#.utf8))
        #expect(reason { try secret.json }?.contains("s3cret") == false)
    }
}

@MainActor @Suite("A recorder returns every ending once", .timeLimit(.minutes(10)))
struct RequestRecorderTests {
    let recorder = RequestRecorder()

    @Test func `A cancelled wait leaves the ending to the next one`() async {
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport()))
        let impatient = Task { await recorder.ending() }
        await Task.yield()
        impatient.cancel()
        #expect(await impatient.value == nil)
        recorder.managerCallAPIDidSucceed(request)
        #expect(await recorder.ending() == .success)
    }

    @Test func `Endings are kept in their order until they are read`() async {
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport()))
        recorder.managerCallAPIDidCancel(request)
        recorder.managerCallAPIDidFail(request, with: APIError(.timeout))
        #expect(await recorder.endings(2) == [.cancelled, .failure(.timeout)])
    }

    @Test func `Several tasks may wait, and each receives a different ending`() async {
        let request = GoodsRequest(proxy: APIProxy(fake: ScriptedTransport()))
        async let first = recorder.ending()
        async let second = recorder.ending()
        for _ in 0..<10 { await Task.yield() }
        recorder.managerCallAPIDidSucceed(request)
        recorder.managerCallAPIDidCancel(request)
        let endings = await [first, second]
        #expect(endings.contains(.success) && endings.contains(.cancelled))
    }
}
