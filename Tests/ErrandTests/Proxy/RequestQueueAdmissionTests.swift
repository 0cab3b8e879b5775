import ErrandTesting
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

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
        queue.pause(paused.lane, for: .seconds(5), by: clock)
        queue.pause(paused.lane, for: .seconds(9), by: clock)
        queue.pause(paused.lane, for: .seconds(2), by: clock)
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
        for seed in 0..<UInt64(CookieProbe.runsSlowTests ? 200 : 60) {
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
