import Testing
import TestSupport

@testable import Errand
@testable import ErrandTestSupport

@Suite("The clock of the machine", .hangLimit, .timeLimit(.minutes(10)))
struct SystemClockTests {
    private let queue = SleepQueue()

    @Test func `Each sleep ends, and not before its end`() async {
        let start = ContinuousClock.now
        let order = (0..<200).map { $0 * 7_919 % 200 }
        let ended = await withTaskGroup(of: (Int, Bool).self) { group in
            for number in order {
                group.addTask { [queue] in
                    let end = start + .microseconds(100 * number)
                    return (number, await queue.sleep(until: end) && ContinuousClock.now >= end)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(ended.count { $0.1 } == order.count)
        #expect(Set(ended.map { $0.0 }) == Set(order))
        #expect(queue.counts.tasks == 0)
    }

    @Test func `A sleep that is cancelled leaves nothing`() async {
        let tasks = (0..<10_000).map { number in
            Task { [queue] in await queue.sleep(until: .now + .seconds(3_600 + number * 7_919 % 10_000)) }
        }
        await suspend(while: queue.counts.tasks < tasks.count)
        for task in tasks { task.cancel() }
        for task in tasks { #expect(await !task.value) }
        #expect(queue.counts.tasks == 0 && queue.counts.sleeps <= 64)
        // Before it sleeps.
        let late = Task { [queue] in
            withUnsafeCurrentTask { $0?.cancel() }
            return await queue.sleep(until: .now + .seconds(3_600))
        }
        #expect(await !late.value)
    }

    @Test func `An earlier sleep ends before one that is waited for`() async {
        let long = Task { [queue] in await queue.sleep(until: .now + .seconds(3_600)) }
        await suspend(while: queue.counts.tasks < 1)
        #expect(await queue.sleep(until: .now + .milliseconds(1)))
        #expect(await queue.sleep(until: .now - .seconds(1)))
        #expect(queue.counts.timers == 1)
        long.cancel()
        #expect(await !long.value)
    }

    @Test func `Short sleeps beside a long one leave no timers`() async {
        let long = Task { [queue] in await queue.sleep(until: .now + .seconds(3_600)) }
        await suspend(while: queue.counts.tasks < 1)
        for number in 0..<500 { #expect(await queue.sleep(until: .now + .microseconds(number))) }
        #expect(queue.counts.timers == 1)
        long.cancel()
        #expect(await !long.value)
    }
}
