import ErrandTesting
import Foundation
import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@MainActor
@Suite("Requests queue above the limits: by priority, first in first out", .hangLimit, .timeLimit(.minutes(10)))
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
        request.ownOptions.priority = priority
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
