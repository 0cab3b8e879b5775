import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("Requests queue above the limits: by priority, first in first out", .hangLimit, .timeLimit(.minutes(10)))
struct RequestQueueTests {
    /// What an app might use for the user of a request.
    private enum Caller {
        @TaskLocal static var name = "none"
    }

    let screen = Screen()
    let gate = Latch()

    private func proxy(_ transport: ScriptedTransport, perHost: Int, total: Int = 256) -> APIProxy {
        let limits = QueueLimits(perHost: perHost, total: total)
        return APIProxy(service: .sample(), transport: transport, queueLimits: limits)
    }

    private func gated() -> ScriptedTransport {
        ScriptedTransport { [gate] _ in
            try await gate.wait()
            return .json(goodsJSON([]))
        }
    }

    private func load(_ path: String, _ proxy: APIProxy, _ priority: RequestPriority = .normal) -> GoodsRequest {
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.path = path
        request.ownOptions.priority = priority
        request.loadData()
        return request
    }

    @Test func `No load and no callback has the task-local values of another one's caller`() async throws {
        let transport = gated()
        let proxy = proxy(transport, perHost: 1)
        proxy.defaultService?.commonHeaders = { ["X-Caller": Caller.name] }
        let callbacks = Lock<[String]>([])
        var requests: [APIRequest<JSONValue>] = []
        for name in ["alice", "bob", "carol"] {
            let request = APIRequest<JSONValue>("/\(name)", proxy: proxy)
            Caller.$name.withValue(name) {
                _ = request.loadData { _ in callbacks.withLock { $0.append(Caller.name) } }
            }
            requests.append(request)
        }
        let call = Task {
            try await Caller.$name.withValue("dave") {
                try await proxy.send(HTTPRequest(.get, URL("/dave")), to: try #require(proxy.defaultService))
            }
        }
        await suspend(while: proxy.queuedCount < 3)
        gate.open()
        _ = try await call.value
        await suspend(while: callbacks.withLock { $0.count } < 3)
        #expect(transport.requests.map { $0.headers["X-Caller"] } == ["none", "none", "none", "none"])
        #expect(callbacks.withLock(\.self) == ["none", "none", "none"])
    }

    @Test(.fault(68)) func `No more requests are under way than the limits allow, and all are sent in order`() async {
        let gates = (0..<20).map { _ in Latch() }
        let transport = ScriptedTransport { request in
            if let number = Int(request.url.lastPathComponent) { try await gates[number].wait() }
            return .json(goodsJSON([]))
        }
        let proxy = proxy(transport, perHost: 3)
        let requests = (0..<20).map { load("/\($0)", proxy) }
        #expect(proxy.queuedCount == 17)
        await transport.waitForRequests(3)
        for (number, gate) in gates.enumerated() {
            gate.open()
            // One at a time, because requests that are admitted together are sent in any order.
            await transport.waitForRequests(min(number + 4, 20))
            #expect(transport.requests.count == min(number + 4, 20))
        }
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: 20))
        let order = transport.requests.compactMap { Int($0.url.lastPathComponent) }
        #expect(order.prefix(3).sorted() == [0, 1, 2])
        #expect(Array(order.dropFirst(3)) == Array(3..<20))
        #expect(proxy.queuedCount == 0)
        #expect(requests.allSatisfy { !$0.isLoading })
    }

    @Test func `A higher priority is sent first, and the older request within a priority`() async {
        let transport = gated()
        let proxy = proxy(transport, perHost: 1)
        var requests = [load("/first", proxy)]
        await transport.waitForRequests(1)
        let line: [(String, RequestPriority)] = [
            ("/b1", .background), ("/n1", .normal), ("/u1", .userInitiated), ("/n2", .normal), ("/u2", .userInitiated),
        ]
        for (path, priority) in line {
            requests.append(load(path, proxy, priority))
            await suspend(while: proxy.queuedCount < requests.count - 1)
        }
        gate.open()
        _ = await screen.endings(of: requests)
        #expect(transport.requests.map(\.url.lastPathComponent) == ["first", "u1", "u2", "n1", "n2", "b1"])
    }

    @Test func `The priority of a waiting load can be changed, and of no other`() async {
        let transport = gated()
        let proxy = proxy(transport, perHost: 1)
        let requests = ["/first", "/a", "/b", "/c", "/d"].map { load($0, proxy) }
        await transport.waitForRequests(1)
        let ids = requests.compactMap(\.loads.last)
        #expect(proxy.activeRequests.map(\.isQueued) == [false, true, true, true, true])
        #expect(!proxy.setPriority(.userInitiated, of: ids[0]))
        #expect(!proxy.setPriority(.userInitiated, of: .next()))
        #expect(proxy.setPriority(.userInitiated, of: ids[3]))
        #expect(proxy.setPriority(.background, of: ids[1]))
        #expect(proxy.setPriority(.userInitiated, of: ids[2]))
        #expect(proxy.setPriority(.userInitiated, of: ids[4]))
        #expect(
            proxy.activeRequests.map(\.priority) == [
                .normal, .background, .userInitiated, .userInitiated, .userInitiated,
            ]
        )
        // It is found where it waits now.
        proxy.cancelRequest(ids[4])
        #expect(proxy.queuedCount == 3)
        gate.open()
        #expect(await screen.endings(5).count == 5)
        #expect(transport.requests.map(\.url.lastPathComponent) == ["first", "b", "c", "a"])
        #expect(!proxy.setPriority(.background, of: ids[3]))
        #expect(requests.allSatisfy { !$0.isLoading })
    }

    @Test func `Threads that change the priority of a load while it is admitted or cancelled lose no load`() async {
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let proxy = proxy(transport, perHost: 1)
        let requests = (0..<300).map { load("/\($0)", proxy) }
        let ids = requests.compactMap(\.loads.last)
        await withTaskGroup { group in
            for seed in UInt64(1)...3 {
                group.addTask { @concurrent in
                    var random = SplitMix(seed: seed)
                    for _ in 0..<3_000 {
                        let id = ids[Int.random(in: 0..<ids.count, using: &random)]
                        let priority = RequestPriority.allCases[Int.random(in: 0..<3, using: &random)]
                        proxy.setPriority(priority, of: id)
                        if Int.random(in: 0..<50, using: &random) == 0 { proxy.cancelRequest(id) }
                    }
                }
            }
        }
        #expect(await screen.endings(300).count == 300)
        #expect(requests.allSatisfy { !$0.isLoading })
        #expect(proxy.queuedCount == 0)
        #expect(proxy.activeRequests.isEmpty)
    }

    @Test func `A host at its limit does not delay another, but the total does`() async {
        let transport = gated()
        let proxy = proxy(transport, perHost: 1, total: 2)
        let other = APIService.sample { $0.baseURL = URL("http://other.test:8080/api") }
        let third = APIService.sample { $0.baseURL = URL("http://third.test/api") }
        let first = load("/a", proxy)
        await transport.waitForRequests(1)
        let second = load("/b", proxy)
        await suspend(while: proxy.queuedCount < 1)
        let elsewhere = GoodsRequest(delegate: screen, proxy: proxy)
        elsewhere.customService = other
        elsewhere.loadData()
        await transport.waitForRequests(2)
        #expect(transport.requests.last?.url.host() == "other.test")
        let last = GoodsRequest(delegate: screen, proxy: proxy)
        last.customService = third
        last.loadData()
        await suspend(while: proxy.queuedCount < 2)
        gate.open()
        #expect(await screen.endings(4) == Array(repeating: .success, count: 4))
        #expect([first, second, elsewhere, last].allSatisfy { !$0.isLoading })
    }

    @Test func `At the total limit, loads of all hosts are sent in one order`() async {
        let transport = gated()
        let proxy = proxy(transport, perHost: 1, total: 1)
        let requests = (0..<12).map { number in
            let request = GoodsRequest(delegate: screen, proxy: proxy)
            request.customService = .sample { $0.baseURL = URL("http://host\(number * 5 % 7).test") }
            request.path = "/\(number)"
            request.ownOptions.priority = number == 7 ? .userInitiated : .normal
            request.loadData()
            return request
        }
        #expect(proxy.queuedCount == 11)
        gate.open()
        #expect(await screen.endings(of: requests) == Array(repeating: .success, count: 12))
        let order = transport.requests.compactMap { Int($0.url.lastPathComponent) }
        #expect(order == [0, 7, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11])
    }

    /// Every way to cancel a load that waits.
    enum Manner: CaseIterable, Sendable {
        case byID, byIDs, ofRequest, ofProxy, byRelease, ofTask, byLogout
    }

    @Test(.fault(15), arguments: Manner.allCases, [false, true])
    func `A load leaves the queue inside of the call that cancels it`(_ manner: Manner, _ isShared: Bool) async {
        let transport = gated()
        let proxy = proxy(transport, perHost: 1)
        // No part of the session.
        let first = Task { try await proxy.send(HTTPRequest(.get, URL("http://shop.test/first"))) }
        await transport.waitForRequests(1)
        var request: GoodsRequest? = GoodsRequest(proxy: proxy)
        request?.method = .get
        request?.ownOptions.coalescesIdentical = isShared
        let id = manner == .ofTask ? nil : request?.loadData()
        let task = Task { [weak request] in if manner == .ofTask { _ = try? await request?.value() } }
        await suspend(while: proxy.queuedCount < 1)
        switch manner {
        case .byID: #expect(id.map { proxy.cancelRequest($0) } == true)
        case .byIDs: proxy.cancelRequests([id].compactMap(\.self))
        case .ofRequest: request?.cancelAllRequests()
        case .ofProxy: proxy.cancelAllRequests()
        case .byRelease: request = nil
        case .ofTask: task.cancel()
        case .byLogout: proxy.logout()
        }
        #expect(proxy.queuedCount == 0)
        gate.open()
        _ = try? await first.value
        await task.value
        #expect(transport.requests.count == 1)
        withExtendedLifetime(request) {}
    }

    @Test(.fault(15)) func `When all loads of a request are cancelled, none is sent in the place of another`() async {
        let transport = gated()
        let proxy = proxy(transport, perHost: 1)
        let request = GoodsRequest(delegate: screen, proxy: proxy)
        request.customRestartPolicy = .concurrent
        let ids = (0..<300).map { _ in request.loadData() }
        await transport.waitForRequests(1)
        await suspend(while: proxy.queuedCount < 299)
        proxy.setPriority(.userInitiated, of: ids[299])
        request.cancelAllRequests()
        #expect(proxy.queuedCount == 0 && request.loads.isEmpty)
        #expect(await screen.endings(300).allSatisfy { $0 == .cancelled })
        gate.open()
        let last = load("/last", proxy)
        #expect(await screen.ending() == .success)
        #expect(transport.requests.count == 2 && !last.isLoading)
    }

    @Test(.fault(15)) func `A queued load that is cancelled ends at once, is never sent, and frees its place`() async {
        let transport = gated()
        let proxy = proxy(transport, perHost: 1)
        let first = load("/first", proxy)
        await transport.waitForRequests(1)
        let queued = load("/queued", proxy)
        await suspend(while: proxy.queuedCount < 1)
        let last = load("/last", proxy)
        await suspend(while: proxy.queuedCount < 2)
        queued.cancelAllRequests()
        #expect(await screen.ending() == .cancelled)
        gate.open()
        #expect(await screen.endings(2) == [.success, .success])
        #expect(transport.requests.map(\.url.lastPathComponent) == ["first", "last"])
        #expect(!first.isLoading && !last.isLoading)
    }

    @Test(arguments: ["headers", "adapter", "plain call"], [false, true])
    func `Code of the app that ignores the end of its load delays no other`(_ place: String, _ ofDeadline: Bool) async {
        let (began, clock) = (Latch(), ManualClock())
        let isFirst = Lock(true)
        let wait: @Sendable () async -> Void = { [gate] in
            guard isFirst.withLock({ exchange(&$0, with: false) }) else { return }
            began.open()
            await gate.waitIgnoringCancellation()
        }
        let service = APIService.sample { service in
            service.deadline = .seconds(5)
            if place == "adapter" { service.adapters.request = [Adapter { _, _ in await wait() }] }
            if place != "adapter" {
                service.commonHeaders = {
                    await wait()
                    return [:]
                }
            }
        }
        let transport = ScriptedTransport { _ in .json(goodsJSON([])) }
        let limits = QueueLimits(perHost: 1)
        let proxy = APIProxy(service: service, transport: transport, queueLimits: limits, clock: clock)
        let call = Task {
            guard place == "plain call" else { return }
            _ = try? await proxy.send(HTTPRequest(.get, URL("/plain")), to: service)
        }
        let stuck = place == "plain call" ? nil : load("/stuck", proxy)
        try? await began.wait()
        let next = load("/next", proxy)
        #expect(proxy.queuedCount == 1)
        if ofDeadline {
            await clock.waitForSleepers()
            clock.advance(by: .seconds(6))
        } else {
            proxy.activeRequests.first.map { _ = proxy.cancelRequest($0.id) }
        }
        #expect(await screen.endings(stuck == nil ? 1 : 2).contains(.success))
        #expect(transport.requests.map(\.url.lastPathComponent) == ["next"])
        gate.open()
        await call.value
        await sentinel(proxy)
        #expect(transport.requests.count == 1 && !next.isLoading)
    }

    @Test func `A load in its back-off delays no other`() async {
        let clock = ManualClock()
        let transport = ScriptedTransport { $0.url.path.hasSuffix("bad") ? .status(503) : .json(goodsJSON([])) }
        let service = APIService.sample { $0.retryPolicy = RetryPolicy() }
        let limits = QueueLimits(perHost: 1, total: 1)
        let proxy = APIProxy(service: service, transport: transport, queueLimits: limits, clock: clock)
        let bad = GoodsRequest(proxy: proxy)
        bad.path = "/bad"
        bad.method = .get
        bad.loadData()
        await clock.waitForSleepers()
        let good = load("/good", proxy)
        #expect(await screen.ending() == .success)
        #expect(bad.isLoading && !good.isLoading)
    }

    @Test func `A load runs at the priority of the task that began it, whatever admitted it`() async {
        let priorities = Lock<[TaskPriority]>([])
        let transport = ScriptedTransport { [gate] _ in
            priorities.withLock { $0.append(Task.currentPriority) }
            try await gate.wait()
            return .json(goodsJSON([]))
        }
        let proxy = proxy(transport, perHost: 1)
        let first = Task(priority: .background) { load("/first", proxy) }
        await transport.waitForRequests(1)
        let second = Task(priority: .high) { load("/second", proxy) }
        await suspend(while: proxy.queuedCount < 1)
        gate.open()
        #expect(await screen.endings(2) == [.success, .success])
        #expect(priorities.withLock { $0 } == [.background, .high])
        #expect(await [first.value, second.value].allSatisfy { !$0.isLoading })
    }

    @Test func `Plain calls queue as well`() async throws {
        let transport = gated()
        let proxy = proxy(transport, perHost: 1)
        let first = load("/first", proxy)
        await transport.waitForRequests(1)
        let call = Task { try await proxy.send(HTTPRequest(.get, URL("http://shop.test/plain"))) }
        await suspend(while: proxy.queuedCount < 1)
        call.cancel()
        await #expect(throws: APIError.self) { try await call.value }
        #expect(transport.requests.count == 1)
        first.cancelAllRequests()
    }

    @Test func `Any sequence of arrivals, cancels and admissions keeps the count and the order`() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SplitMix(seed: seed)
            var model = WaiterListModel()
            for _ in 0..<300 { model.step(&random) }
            #expect(model.isSound, "seed \(seed)")
        }
    }

    @Test(arguments: [
        ("http://a.test/x", "http://a.test"), ("https://a.test:8443?q", "https://a.test:8443"),
        ("http://[::1]:80/", "http://[::1]"), ("https://a.test:443", "https://a.test"),
        ("http://a.test", "http://a.test"),
        ("http://u:p@A.Test/x#f", "http://a.test"), ("https://a.test:80/", "https://a.test:80"),
    ])
    func `A limit applies to an origin`(_ url: String, _ expected: String) {
        #expect(URL(string: url)?.queueHost == expected)
    }
}

/// A waiter list and its expected contents.
private struct WaiterListModel {
    private var list = WaiterList<UInt64>()
    private var expected: [UInt64] = []
    // Drawn and not yet inserted, because tasks draw their numbers and insert them under two locks.
    private var drawn: [UInt64] = []
    private var last: UInt64 = 0
    private(set) var isSound = true

    mutating func step(_ random: inout SplitMix) {
        switch Int.random(in: 0..<7, using: &random) {
        case 0...1:
            last += 1
            drawn.append(last)
        case 2: insert(&random)
        case 5: reinsert(&random)
        case 3:
            isSound = isSound && list.first == expected.first
            if let first = list.first { isSound = isSound && list.remove(first) == first }
            if !expected.isEmpty { expected.removeFirst() }
        case 4:
            guard let sequence = expected.randomElement(using: &random) else { return }
            isSound = isSound && list.remove(sequence) == sequence && list.remove(sequence) == nil
            expected.removeAll { $0 == sequence }
        default:
            isSound = isSound && list.remove(last + 1) == nil && list.first == expected.first
        }
        isSound = isSound && list.count == expected.count
    }

    /// Inserts one that is there in its place, or one that was removed.
    private mutating func reinsert(_ random: inout SplitMix) {
        guard let sequence = (1...max(last, 1)).randomElement(using: &random), !drawn.contains(sequence) else { return }
        list.insert(sequence, sequence: sequence)
        if !expected.contains(sequence) { expected.append(sequence) }
        expected.sort()
        last = max(last, sequence)
    }

    private mutating func insert(_ random: inout SplitMix) {
        guard let index = drawn.indices.randomElement(using: &random) else { return }
        let sequence = drawn.remove(at: index)
        list.insert(sequence, sequence: sequence)
        expected.append(sequence)
        expected.sort()
    }
}

@Suite("A queue admits requests by priority, and first in, first out", .hangLimit, .timeLimit(.minutes(10)))
struct RequestQueueAdmissionTests {
    let queue = RequestQueue(limits: QueueLimits(perHost: 1, total: 2), capacity: .unlimited)

    private func place(
        _ priority: RequestPriority = .normal,
        host: String = "a",
        service: ObjectIdentifier? = nil
    ) -> QueuePlace {
        .next(QueueLane(host: host, service: service, priority: priority))
    }

    @Test func `Each request that leaves admits the first one of the highest priority`() {
        let started = Lock<[String]>([])
        let first = place()
        #expect(queue.enter(first) { _ in }, "there is room")
        let line: [(String, RequestPriority)] = [
            ("b1", .background), ("n1", .normal), ("u1", .userInitiated), ("n2", .normal), ("u2", .userInitiated),
        ]
        let places = line.map { place($0.1) }
        for (place, (name, _)) in zip(places, line) {
            #expect(!queue.enter(place) { _ in started.withLock { $0.append(name) } })
        }
        #expect(queue.waitingCount == 5)
        for (index, place) in ([first] + [2, 4, 1, 3].map { places[$0] }).enumerated() {
            queue.leave(place)
            #expect(started.withLock(\.count) == index + 1)
        }
        #expect(started.withLock(\.self) == ["u1", "u2", "n1", "n2", "b1"])
        #expect(queue.waitingCount == 0)
    }

    @Test func `While it is stopped, it admits none, and then the first one`() {
        let started = Lock<[String]>([])
        let (first, waiting, new) = (place(), place(.userInitiated), place())
        #expect(queue.admitAtOnce(first))
        #expect(!queue.enter(waiting) { _ in started.withLock { $0.append("waiting") } })
        queue.stop()
        queue.stop()
        queue.leave(first)
        #expect(!queue.enter(new) { _ in started.withLock { $0.append("new") } })
        queue.endStop()
        #expect(started.withLock(\.self) == [])
        queue.endStop()
        #expect(started.withLock(\.self) == ["waiting"])
        queue.leave(waiting)
        #expect(started.withLock(\.self) == ["waiting", "new"])
    }

    @Test func `A priority that is changed before a request waits is that of its wait`() async {
        let (first, other, last) = (place(), place(), place())
        #expect(queue.admitAtOnce(first))
        let started = Lock<[String]>([])
        #expect(!queue.enter(other) { _ in started.withLock { $0.append("other") } })
        let raised = QueueLane(host: "a", priority: .userInitiated)
        let wishes = Counter()
        let wait = Task {
            await queue.admission(
                to: last,
                wish: {
                    _ = wishes.next()
                    return (raised, false)
                }
            )
        }
        // The second time, it has been moved.
        await suspend(while: wishes.count < 2)
        queue.leave(first)
        #expect(await wait.value == raised)
        #expect(started.withLock(\.count) == 0)
        queue.leave(last)
        #expect(started.withLock(\.self) == ["other"])
    }

    @Test func `A removed request is not started, and removing one that was started does nothing`() throws {
        let started = Lock<[Int]>([])
        let (first, places) = (place(), (0..<3).map { _ in place() })
        #expect(queue.admitAtOnce(first))
        for (number, place) in places.enumerated() {
            #expect(!queue.enter(place) { _ in started.withLock { $0.append(number) } })
        }
        queue.leave(places[0])
        queue.leave(places[0])
        #expect(queue.waitingCount == 2)
        queue.leave(first)
        #expect(started.withLock(\.self) == [1])
        #expect(queue.waitingCount == 1)
        queue.leave(first)
        #expect(started.withLock(\.self) == [1], "its admission has ended already")
        queue.leave(places[1])
        #expect(started.withLock(\.self) == [1, 2])
    }

    @Test func `A reserved place is kept until its load arrives, and frees the queue if that never does`() async {
        let (first, reserved, abandoned, last) = (place(), place(), place(), place())
        #expect(queue.admitAtOnce(first))
        let started = Lock(false)
        #expect(!queue.enter(last) { _ in started.withLock { $0 = true } })
        queue.reserve(abandoned)
        queue.reserve(reserved)
        queue.leave(first)
        #expect(await queue.admission(to: reserved) != nil, "it was admitted before the load asked for it")
        queue.leave(reserved)
        #expect(!started.withLock { $0 }, "the place that nobody has taken is before it")
        queue.leave(abandoned)
        #expect(started.withLock { $0 })
        #expect(queue.waitingCount == 0)
    }

    @Test func `A place that is reserved before its load leaves it is kept`() {
        let (first, next) = (place(), place())
        #expect(queue.admitAtOnce(first))
        #expect(!queue.enter(next) { _ in })
        queue.reserve(first)
        queue.leaveUnlessReserved(first)
        #expect(queue.waitingCount == 1, "it has its admission")
        queue.leaveUnlessReserved(first)
        #expect(queue.waitingCount == 0)
    }

    @Test func `A reservation ends when the load takes its place`() async {
        let (first, next) = (place(), place())
        queue.reserve(first)
        // Once more, as the relogin does before it ends.
        queue.reserve(first)
        #expect(await queue.admission(to: first) != nil)
        #expect(!queue.enter(next) { _ in })
        queue.leaveUnlessReserved(first)
        #expect(queue.waitingCount == 0, "the next relogin of the load keeps no place")
    }

    @Test func `A reservation in a lane that another load still holds is no second admission`() async {
        let (first, next) = (place(), place())
        #expect(queue.admitAtOnce(first))
        queue.hold(first.lane)
        queue.hold(first.lane)
        queue.leaveUnlessReserved(first)
        queue.reserve(first)
        queue.resume(first.lane)
        #expect(await queue.admission(to: first) != nil)
        queue.resume(first.lane)
        queue.leave(first)
        #expect(queue.admitAtOnce(next))
    }

    @Test func `What waits in a lane that is held is admitted after its last hold, in order`() {
        let (first, other) = (place(), place(host: "b"))
        #expect(queue.admitAtOnce(first))
        queue.hold(first.lane)
        queue.hold(first.lane)
        let started = Lock<[String]>([])
        #expect(!queue.enter(place()) { _ in started.withLock { $0.append("normal") } })
        let urgent = place(.userInitiated)
        #expect(!queue.enter(urgent) { _ in started.withLock { $0.append("urgent") } })
        queue.leaveUnlessReserved(first)
        queue.reserve(first)
        #expect(queue.admitAtOnce(other))
        queue.leave(first)
        queue.resume(first.lane)
        #expect(started.withLock { $0.isEmpty })
        queue.resume(first.lane)
        #expect(started.withLock(\.self) == ["urgent"])
        queue.leave(urgent)
        #expect(started.withLock(\.self) == ["urgent", "normal"])
    }

    @Test func `What has ended leaves the queue with its admission, except while the transport has it`() {
        let (held, waiting, next, last) = (place(), place(), place(), place())
        let started = Lock<[String]>([])
        #expect(queue.admitAtOnce(held))
        #expect(!queue.enter(waiting) { _ in started.withLock { $0.append("waiting") } })
        #expect(!queue.enter(next) { _ in started.withLock { $0.append("next") } })
        #expect(!queue.enter(last) { _ in started.withLock { $0.append("last") } })
        queue.withdraw([(held.number, nil), (waiting.number, waiting.lane)])
        #expect(started.withLock(\.self) == ["next"], "none of them is started in the place of another")
        #expect(!queue.setSent(at: held))
        #expect(queue.setSent(at: next))
        queue.withdraw([(next.number, nil)])
        #expect(started.withLock(\.self) == ["next"])
        // The transport has returned the response.
        queue.didReceive(at: next, isMultiplexed: nil, keepsPlace: true)
        queue.withdraw([(next.number, nil)])
        #expect(started.withLock(\.self) == ["next", "last"])
    }

    @Test func `A load that waits in its task when it ends is resumed without an admission`() async {
        let (held, waiting) = (place(), place())
        #expect(queue.admitAtOnce(held))
        async let isAdmitted = queue.admission(to: waiting)
        await suspend(while: queue.waitingCount < 1)
        queue.withdraw([(waiting.number, waiting.lane)])
        #expect(await isAdmitted == nil)
        #expect(queue.waitingCount == 0)
    }

    @Test func `A pause holds up one service at one host, and the longest one counts`() async {
        let clock = ManualClock()
        let (service, other) = (Counter(), Counter())
        let paused = place(service: ObjectIdentifier(service))
        queue.pause(paused.lane, for: .seconds(5), by: clock, of: service)
        queue.pause(paused.lane, for: .seconds(9), by: clock, of: service)
        queue.pause(paused.lane, for: .seconds(2), by: clock, of: service)
        let started = Lock(false)
        #expect(!queue.enter(paused) { _ in started.withLock { $0 = true } })
        let elsewhere = [place(service: ObjectIdentifier(other)), place(host: "b", service: ObjectIdentifier(service))]
        for place in elsewhere { #expect(queue.admitAtOnce(place)) }
        for place in elsewhere { queue.leave(place) }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(8))
        await clock.waitForSleepers()
        #expect(!started.withLock { $0 })
        clock.advance(by: .seconds(1))
        await suspend(while: !started.withLock(\.self))
        #expect(queue.waitingCount == 0)
    }

    @Test func `A request that needs no room waits for a pause alone, also with another priority`() async {
        let (clock, login) = (ManualClock(), Counter())
        let paused = QueueLane(host: "a", service: ObjectIdentifier(login), priority: .normal)
        let (first, waiting, last) = (place(), QueuePlace.next(paused), place())
        let started = Lock<[String]>([])
        #expect(queue.admitAtOnce(first), "there is room for one")
        queue.pause(paused, for: .seconds(3), by: clock, of: login)
        #expect(!queue.enter(waiting) { _ in started.withLock { $0.append("waiting") } })
        #expect(!queue.enter(last) { _ in started.withLock { $0.append("last") } })
        queue.admitAnyway(waiting.number)
        var raised = paused
        raised.priority = .userInitiated
        #expect(queue.move(QueuePlace(number: waiting.number, lane: raised)))
        #expect(started.withLock(\.self) == [])
        await suspend(while: clock.sleepers < 1)
        clock.advance(by: .seconds(3))
        await suspend(while: started.withLock(\.count) < 1)
        #expect(started.withLock(\.self) == ["waiting"])
        queue.admitAnyway(last.number)
        #expect(started.withLock(\.self) == ["waiting", "last"])
        // It does not wait any more.
        queue.admitAnyway(last.number)
        for place in [first, waiting, last] { queue.leave(place) }
        #expect(queue.admitAtOnce(place()))
    }

    @Test func `A pause retains what it is of, whose identity no other one gets before its end`() async {
        let clock = ManualClock()
        var service: Counter? = Counter()
        weak let paused = service
        if let service { queue.pause(place().lane, for: .seconds(5), by: clock, of: service) }
        service = nil
        await clock.waitForSleepers()
        #expect(paused != nil)
        clock.advance(by: .seconds(5))
        await suspend(while: paused != nil)
    }

    @Test func `A host at its limit delays no other host, but the total does`() {
        let first = place(host: "a")
        #expect(queue.admitAtOnce(first))
        #expect(!queue.admitAtOnce(place(host: "a")))
        #expect(queue.admitAtOnce(place(host: "b")))
        #expect(!queue.admitAtOnce(place(host: "c")))
        queue.leave(first)
        #expect(queue.admitAtOnce(place(host: "c")))
    }

    @Test func `Requests to many hosts are admitted in one order, each when its host and the whole have room`() {
        for seed in 0..<UInt64(rounds(60, slow: 200)) {
            var random = SplitMix(seed: seed)
            var model = QueueModel(&random)
            for _ in 0..<40 { model.enter(&random) }
            for _ in 0..<200 { if Bool.random(using: &random) { model.leave(&random) } else { model.enter(&random) } }
            while model.isBusy { model.leave(&random) }
            #expect(model.mistakes.isEmpty, "seed \(seed)")
        }
    }

    @Test func `Admissions that are cancelled at random lose no place and take none`() async {
        let admitted = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<2_000 {
                let place = place()
                let task = Task {
                    guard await queue.admission(to: place) != nil else { return false }
                    await Task.yield()
                    queue.leave(place)
                    return true
                }
                if number.isMultiple(of: 3) { task.cancel() }
                group.addTask { await task.value }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(admitted >= 1_333)
        #expect(queue.waitingCount == 0)
        #expect(queue.admitAtOnce(place()))
        #expect(!queue.admitAtOnce(place()), "there is one place")
    }
}

private final class StartedNumbers: Sendable {
    private let numbers = Lock<[Int]>([])

    func add(_ number: Int) { numbers.withLock { $0.append(number) } }

    func removeAll() -> [Int] { numbers.withLock { exchange(&$0, with: []) } }
}

/// A queue and its expected contents.
private struct QueueModel {
    private struct Entry {
        let number: Int
        let place: QueuePlace

        var lane: QueueLane { place.lane }
    }

    private let limits: QueueLimits
    private let queue: RequestQueue
    private var waiting: [Entry] = []
    private var running: [Entry] = []
    private var last = 0
    /// The numbers of those that have been started since the last step.
    private let started = StartedNumbers()
    private(set) var mistakes: [String] = []

    init(_ random: inout SplitMix) {
        limits = QueueLimits(perHost: .random(in: 1...3, using: &random), total: .random(in: 1...4, using: &random))
        queue = RequestQueue(limits: limits, capacity: .unlimited)
    }

    var isBusy: Bool { !running.isEmpty }

    mutating func enter(_ random: inout SplitMix) {
        last += 1
        let host = "\(Int.random(in: 0..<6, using: &random))"
        let lane = QueueLane(host: host, priority: .allCases.randomElement(using: &random) ?? .normal)
        let entry = Entry(number: last, place: .next(lane))
        let isAdmitted = queue.enter(entry.place) { [started, last] _ in started.add(last) }
        if isAdmitted != hasRoom(for: entry, besides: running) {
            mistakes.append("\(last) was admitted: \(isAdmitted)")
        }
        if isAdmitted { running.append(entry) } else { waiting.append(entry) }
        check()
    }

    mutating func leave(_ random: inout SplitMix) {
        guard let index = running.indices.randomElement(using: &random) else { return }
        queue.leave(running.remove(at: index).place)
        check()
    }

    /// Compares what has been started with those for which there is room, in their order.
    private mutating func check() {
        let order = waiting.sorted { ($1.lane.priority, $0.number) < ($0.lane.priority, $1.number) }
        var expected: [Entry] = []
        for entry in order where hasRoom(for: entry, besides: running + expected) { expected.append(entry) }
        let started = started.removeAll()
        if started != expected.map(\.number) { mistakes.append("\(started) instead of \(expected.map(\.number))") }
        waiting.removeAll { started.contains($0.number) }
        running += expected
        if queue.waitingCount != waiting.count { mistakes.append("\(queue.waitingCount) wait") }
    }

    private func hasRoom(for entry: Entry, besides admitted: [Entry]) -> Bool {
        admitted.count < limits.total && admitted.count { $0.lane.host == entry.lane.host } < limits.perHost
    }
}
