import ErrandTesting
import Foundation
import Synchronization
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor @Suite("Requests queue above the limits: by priority, first in first out", .timeLimit(.minutes(10)))
struct RequestQueueTests {
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
        request.customPriority = priority
        request.loadData()
        return request
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
        let isFirst = Mutex(true)
        let wait: @Sendable () async -> Void = { [gate] in
            guard isFirst.withLock({ exchange(&$0, with: false) }) else { return }
            began.open()
            await gate.waitIgnoringCancellation()
        }
        let service = APIService.sample { service in
            service.deadline = .seconds(5)
            if place == "adapter" { service.requestAdapters = [.adapting { _, _ in await wait() }] }
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
        let priorities = Mutex<[TaskPriority]>([])
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
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var model = WaiterListModel()
            for _ in 0..<300 { model.step(&random) }
            #expect(model.isSound)
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

@Suite("A queue admits requests by priority, and first in, first out", .timeLimit(.minutes(10)))
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
        let started = Mutex<[String]>([])
        let first = place()
        #expect(queue.enter(first) {}, "there is room")
        let line: [(String, RequestPriority)] = [
            ("b1", .background), ("n1", .normal), ("u1", .userInitiated), ("n2", .normal), ("u2", .userInitiated),
        ]
        let places = line.map { place($0.1) }
        for (place, (name, _)) in zip(places, line) {
            #expect(!queue.enter(place) { started.withLock { $0.append(name) } })
        }
        #expect(queue.waitingCount == 5)
        for (index, place) in ([first] + [2, 4, 1, 3].map { places[$0] }).enumerated() {
            queue.leave(place)
            #expect(started.withLock(\.count) == index + 1)
        }
        #expect(started.withLock(\.self) == ["u1", "u2", "n1", "n2", "b1"])
        #expect(queue.waitingCount == 0)
    }

    @Test func `A removed request is not started, and removing one that was started does nothing`() throws {
        let started = Mutex<[Int]>([])
        let (first, places) = (place(), (0..<3).map { _ in place() })
        #expect(queue.admitAtOnce(first))
        for (number, place) in places.enumerated() {
            #expect(!queue.enter(place) { started.withLock { $0.append(number) } })
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
        let started = Mutex(false)
        #expect(!queue.enter(last) { started.withLock { $0 = true } })
        queue.reserve(abandoned)
        queue.reserve(reserved)
        queue.leave(first)
        #expect(await queue.admission(to: reserved), "it was admitted before the load asked for it")
        queue.leave(reserved)
        #expect(!started.withLock { $0 }, "the place that nobody has taken is before it")
        queue.leave(abandoned)
        #expect(started.withLock { $0 })
        #expect(queue.waitingCount == 0)
    }

    @Test func `A place that is reserved before its load leaves it is kept`() {
        let (first, next) = (place(), place())
        #expect(queue.admitAtOnce(first))
        #expect(!queue.enter(next) {})
        queue.reserve(first)
        queue.leaveUnlessReserved(first)
        #expect(queue.waitingCount == 1, "it has its admission")
        queue.leaveUnlessReserved(first)
        #expect(queue.waitingCount == 0)
    }

    @Test func `A lane that is held admits nothing until its last hold ends, and then all in their order`() {
        let (other, lane) = (place(host: "b"), place().lane)
        queue.hold(lane)
        queue.hold(lane)
        let started = Mutex<[String]>([])
        #expect(!queue.enter(place()) { started.withLock { $0.append("normal") } })
        let urgent = place(.userInitiated)
        #expect(!queue.enter(urgent) { started.withLock { $0.append("urgent") } })
        #expect(queue.admitAtOnce(other))
        queue.resume(lane)
        #expect(started.withLock { $0.isEmpty })
        queue.resume(lane)
        #expect(started.withLock(\.self) == ["urgent"])
        queue.leave(urgent)
        #expect(started.withLock(\.self) == ["urgent", "normal"])
    }

    @Test func `What has ended leaves the queue with its admission, except while the transport has it`() {
        let (held, waiting, next, last) = (place(), place(), place(), place())
        let started = Mutex<[String]>([])
        #expect(queue.admitAtOnce(held))
        #expect(!queue.enter(waiting) { started.withLock { $0.append("waiting") } })
        #expect(!queue.enter(next) { started.withLock { $0.append("next") } })
        #expect(!queue.enter(last) { started.withLock { $0.append("last") } })
        queue.withdraw([(held.number, nil), (waiting.number, waiting.lane)])
        #expect(started.withLock(\.self) == ["next"], "none of them is started in the place of another")
        #expect(!queue.setSent(true, at: held))
        #expect(queue.setSent(true, at: next))
        queue.withdraw([(next.number, nil)])
        #expect(started.withLock(\.self) == ["next"])
        #expect(queue.setSent(false, at: next), "the transport has returned the response")
        queue.withdraw([(next.number, nil)])
        #expect(started.withLock(\.self) == ["next", "last"])
    }

    @Test func `A load that waits in its task when it ends is resumed without an admission`() async {
        let (held, waiting) = (place(), place())
        #expect(queue.admitAtOnce(held))
        async let isAdmitted = queue.admission(to: waiting)
        await suspend(while: queue.waitingCount < 1)
        queue.withdraw([(waiting.number, waiting.lane)])
        #expect(await !isAdmitted)
        #expect(queue.waitingCount == 0)
    }

    @Test func `A pause holds up one service at one host, and the longest one counts`() async {
        let clock = ManualClock()
        let (service, other) = (Counter(), Counter())
        let paused = place(service: ObjectIdentifier(service))
        queue.pause(paused.lane, for: .seconds(5), by: clock)
        queue.pause(paused.lane, for: .seconds(9), by: clock)
        queue.pause(paused.lane, for: .seconds(2), by: clock)
        let started = Mutex(false)
        #expect(!queue.enter(paused) { started.withLock { $0 = true } })
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

    @Test func `A host at its limit delays no other host, but the total does`() {
        let first = place(host: "a")
        #expect(queue.admitAtOnce(first))
        #expect(!queue.admitAtOnce(place(host: "a")))
        #expect(queue.admitAtOnce(place(host: "b")))
        #expect(!queue.admitAtOnce(place(host: "c")))
        queue.leave(first)
        #expect(queue.admitAtOnce(place(host: "c")))
    }

    @Test func `Admissions that are cancelled at random lose no place and take none`() async {
        let admitted = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<2_000 {
                let place = place()
                let task = Task {
                    guard await queue.admission(to: place) else { return false }
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

/// A waiter list and its expected contents.
private struct WaiterListModel {
    private var list = WaiterList<UInt64>()
    private var expected: [UInt64] = []
    // Drawn and not yet inserted, because tasks draw their numbers and insert them under two locks.
    private var drawn: [UInt64] = []
    private var last: UInt64 = 0
    private(set) var isSound = true

    mutating func step(_ random: inout SystemRandomNumberGenerator) {
        switch Int.random(in: 0..<7, using: &random) {
        case 0...1:
            last += 1
            drawn.append(last)
        case 2: insert(&random)
        case 5: reinsert(&random)
        case 3:
            isSound = isSound && list.first == expected.first && list.removeFirst() == expected.first
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
    private mutating func reinsert(_ random: inout SystemRandomNumberGenerator) {
        guard let sequence = (1...max(last, 1)).randomElement(using: &random), !drawn.contains(sequence) else { return }
        list.insert(sequence, sequence: sequence)
        if !expected.contains(sequence) { expected.append(sequence) }
        expected.sort()
        last = max(last, sequence)
    }

    private mutating func insert(_ random: inout SystemRandomNumberGenerator) {
        guard let index = drawn.indices.randomElement(using: &random) else { return }
        let sequence = drawn.remove(at: index)
        list.insert(sequence, sequence: sequence)
        expected.append(sequence)
        expected.sort()
    }
}
