import ErrandTesting
import FixtureServer
import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

/// The proxy's queue is the only one: it admits as many requests as the transport can perform at once.
@MainActor
@Suite(
    "The queue admits as many requests as the transport performs",
    .mostlyWaits,
    .hangLimit,
    .timeLimit(.minutes(10))
)
struct QueueCapacityTests {
    let screen = Screen()

    private func load(_ proxy: APIProxy, _ count: Int, path: String = "/goods") -> [GoodsRequest] {
        (0..<count).map { _ in
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            (request.method, request.path) = (.get, path)
            if path == "/slow" { (request.customTimeout, request.ownOptions.deadline) = (.seconds(60), .seconds(60)) }
            request.loadData()
            return request
        }
    }

    // `URLSession` on Linux takes a processor while it waits.
    @Test(arguments: TransportKind.allCases.suffix(rounds(4)))
    func `Neither the timeout nor the deadline of a load runs while it queues`(_ kind: TransportKind) async throws {
        let response = Response.json(bytes: goodsJSON([]).utf8)
        let server = try FixtureServer.start { $0.path == "/slow" ? response.delayed(by: .seconds(5)) : response }
        let service = APIService.sample {
            $0.baseURL = server.baseURL
            ($0.timeout, $0.deadline) = (.seconds(4), .seconds(4))
        }
        let transport = CountingTransport(try kind.make())
        let proxy = APIProxy(service: service, transport: transport)
        let capacity = TransportCapacity().connectionsPerHost
        // These use all connections for longer than the limits of the others.
        let requests = load(proxy, capacity, path: "/slow") + load(proxy, 48)
        #expect(proxy.queuedCount == 48)
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: capacity + 48))
        #expect(transport.peak == capacity)
    }

    @Test(arguments: [(16, 128, 64, 256, 16), (16, 3, 64, 256, 3), (16, 128, 5, 256, 5), (16, 128, 64, 7, 7)])
    func `The smallest of all limits applies`(
        _ perHost: Int,
        _ connections: Int,
        _ queuePerHost: Int,
        _ total: Int,
        _ expected: Int
    ) async {
        let gate = Latch()
        let transport = CapacityTransport(perHost, connections) { try await gate.wait() }
        let limits = QueueLimits(perHost: queuePerHost, total: total)
        let proxy = APIProxy(service: .sample(), transport: transport, queueLimits: limits)
        let requests = load(proxy, 40)
        #expect(proxy.queuedCount == 40 - expected)
        gate.open()
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: 40))
        #expect(proxy.queuedCount == 0)
    }

    @Test func `The limit of a host that multiplexes is its streams, and afterwards its connections`() {
        var capacity = TransportCapacity()
        (capacity.connectionsPerHost, capacity.connections, capacity.streamsPerConnection) = (2, 3, 10)
        var queue = RequestQueueState(limits: QueueLimits(perHost: 8, total: 12), capacity: capacity)
        let (old, new) = (QueueLane(host: "old", priority: .normal), QueueLane(host: "new", priority: .normal))
        let admitted = queue.admit(new, times: 5)
        #expect(admitted.count == 2)
        let waiting = (0..<10).map { _ in QueuePlace.next(new) }
        for place in waiting { queue.insert(.start({ _ in }, since: .zero), at: place) }
        let (isMultiplexed, isMultiplexedAgain) = (
            queue.record(isMultiplexed: true, of: "new"), queue.record(isMultiplexed: true, of: "new")
        )
        #expect(isMultiplexed && !isMultiplexedAgain, "the second time it is no news")
        #expect(queue.admitWaiters().count == 6, "as many as the queue's limit")
        let others = queue.admit(old, times: 4)
        #expect(others.count == 2)
        // Six more than would be admitted now; the total of connections includes them.
        let admitsMore = queue.record(isMultiplexed: false, of: "new")
        #expect(!admitsMore)
        for place in waiting.prefix(6) {
            queue.leave(place.number)
            #expect(queue.admitWaiters().count == 0)
        }
        queue.leave(admitted[0].number)
        queue.leave(others[0].number)
        #expect(queue.admitWaiters().count == 1)
        #expect(queue.waitingCount == 3)
    }

    @Test func `A connection that becomes free admits all that it can carry, and nothing newer overtakes them`() {
        var capacity = TransportCapacity()
        (capacity.connectionsPerHost, capacity.connections, capacity.streamsPerConnection) = (16, 1, 100)
        let queue = RequestQueue(limits: QueueLimits(), capacity: capacity)
        let (old, new) = (QueueLane(host: "old", priority: .normal), QueueLane(host: "new", priority: .normal))
        let (first, other) = (QueuePlace.next(new), QueuePlace.next(old))
        #expect(queue.admitAtOnce(first))
        queue.didReceive(at: first, isMultiplexed: true, keepsPlace: false)
        #expect(queue.admitAtOnce(other))
        let started = Lock(0)
        for _ in 0..<20 { _ = queue.enter(.next(new)) { _ in started.withLock { $0 += 1 } } }
        #expect(queue.waitingCount == 20)
        #expect(!queue.admitAtOnce(.next(QueueLane(host: "new", priority: .userInitiated))))
        queue.leave(other)
        #expect(started.withLock(\.self) == 20)
        #expect(queue.waitingCount == 0)
    }

    @Test func `Hosts that multiplex have one connection each, and limits are at least 1`() {
        var capacity = TransportCapacity()
        (capacity.connectionsPerHost, capacity.connections, capacity.streamsPerConnection) = (0, 2, 10)
        var limits = QueueLimits()
        limits.perHost = 0
        var queue = RequestQueueState(limits: limits, capacity: capacity)
        let lanes = ["a", "b", "c"].map { QueueLane(host: $0, priority: .normal) }
        let first = queue.admit(lanes[0], times: 2)
        #expect(first.count == 1)
        _ = queue.record(isMultiplexed: true, of: "a")
        let admitted = [(1, 2), (2, 1)].map { queue.admit(lanes[$0], times: $1).count }
        #expect(admitted == [1, 0], "the third connection")
        queue.leave(first[0].number)
        let others = [2, 0].map { queue.admit(lanes[$0], times: 1).count }
        #expect(others == [1, 0], "a host that multiplexes needs a connection as well")
    }

    @Test func `A host that multiplexes no more is remembered as one that does not`() {
        var capacity = TransportCapacity()
        (capacity.connectionsPerHost, capacity.connections, capacity.streamsPerConnection) = (2, 9, 10)
        var queue = RequestQueueState(limits: QueueLimits(), capacity: capacity)
        let lane = QueueLane(host: "a", priority: .normal)
        let first = queue.admit(lane, times: 1)
        for isMultiplexed in [true, false] { _ = queue.record(isMultiplexed: isMultiplexed, of: "a") }
        queue.leave(first[0].number)
        let admitted = queue.admit(lane, times: 5)
        #expect(admitted.count == 2)
    }

    #if os(Linux)
    @Test(.enabled(if: TestAuthority.isAvailable && TLSServer.isAvailable, "openssl is not installed"))
    func `Over HTTP 2 one connection performs all requests`() async throws {
        let authority = try TestAuthority.shared.get()
        var configuration = TransportConfiguration()
        configuration.tls.additionalAuthorities = .file(authority.certificate)
        let server = try HTTP2Server(authority) { _ in .response(goodsJSON([])) }
        let service = APIService.sample { $0.baseURL = server.url("") }
        let proxy = APIProxy(service: service, transport: try CurlTransport(configuration))
        #expect(await screen.endings(of: load(proxy, 1)) == [.success])
        let requests = load(proxy, 64)
        #expect(proxy.queuedCount == 0)
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: 64))
        #expect(server.totalConnections == 1)
    }
    #endif
}

/// Counts the requests that another transport performs at a time.
private final class CountingTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let counts = Lock((now: 0, peak: 0))

    init(_ transport: any HTTPTransport) {
        self.transport = transport
    }

    var capacity: TransportCapacity { transport.capacity }
    /// The maximum number of simultaneous requests.
    var peak: Int { counts.withLock(\.peak) }

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        counts.withLock { $0 = ($0.now + 1, max($0.peak, $0.now + 1)) }
        defer { counts.withLock { $0.now -= 1 } }
        return try await transport.send(request, progress: progress)
    }
}

/// A transport of limited capacity that responds with an empty list.
private struct CapacityTransport: HTTPTransport {
    let capacity: TransportCapacity
    private let wait: @Sendable () async throws -> Void

    init(_ perHost: Int, _ connections: Int, wait: @escaping @Sendable () async throws -> Void) {
        var capacity = TransportCapacity()
        (capacity.connectionsPerHost, capacity.connections) = (perHost, connections)
        self.capacity = capacity
        self.wait = wait
    }

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        do { try await wait() } catch { throw TransportError(.cancelled, "cancelled at the gate") }
        return .json(goodsJSON([]))
    }
}

extension RequestQueueState {
    /// Returns those of `count` requests that are admitted.
    fileprivate mutating func admit(_ lane: QueueLane, times count: Int) -> [QueuePlace] {
        let places = (0..<count).map { _ in QueuePlace.next(lane) }
        return places.filter { admit($0) }
    }
}
