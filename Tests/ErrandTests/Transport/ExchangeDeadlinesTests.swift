import Foundation
import TestSupport
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("The deadlines of an exchange", .limitedConcurrency, .timeLimit(.minutes(10)))
struct ExchangeDeadlinesTests {
    @Test("the deadline passes when it is due", arguments: [Duration.milliseconds(100), .zero, .seconds(-1)])
    func deadline(deadline: Duration) async {
        let start = ContinuousClock.now
        let error = await Self.expiry(ExchangeDeadlines(deadline: deadline, timeout: .seconds(60)))
        #expect(error.kind == .timeout && error.reason.contains("whole"))
        #expect(ContinuousClock.now - start >= deadline)
    }

    @Test("the timeout is counted from the last transferred byte")
    func timeout() async {
        let timer = ExchangeTimer(ExchangeDeadlines(deadline: .seconds(60), timeout: .seconds(1)))
        var lastByte = ContinuousClock.now
        let error = await withCheckedContinuation { continuation in
            timer.start { continuation.resume(returning: $0) }
            for _ in 0..<10_000 { timer.restartTimeout() }
            lastByte = ContinuousClock.now
            timer.restartTimeout()
        }
        #expect(error.kind == .timeout && error.reason.contains("silent"))
        #expect(ContinuousClock.now - lastByte >= .seconds(1))
    }

    @Test("durations that the clock cannot count never pass, and do not trap")
    func endless() async {
        let timer = ExchangeTimer(ExchangeDeadlines(deadline: .seconds(Int64.max), timeout: .seconds(Int64.max)))
        timer.start { _ in Issue.record("passed") }
        timer.restartTimeout()
        // On the queue of all timers.
        _ = await Self.expiry(ExchangeDeadlines(deadline: .milliseconds(50), timeout: nil))
        timer.stop()
    }

    @Test("a timer that is stopped, or has no limit, never fires")
    func stopped() async {
        let stopped = ExchangeTimer(ExchangeDeadlines(deadline: .milliseconds(1), timeout: nil))
        stopped.stop()
        stopped.start { _ in Issue.record("passed") }
        let none = ExchangeTimer(ExchangeDeadlines(deadline: nil, timeout: nil))
        none.start { _ in Issue.record("passed") }
        _ = await Self.expiry(ExchangeDeadlines(deadline: .milliseconds(50), timeout: nil))
    }

    @Test("the next instant is that of the limit that is exceeded first")
    func next() {
        let now = MonotonicClock.now
        #expect(ExchangeDeadlines(deadline: nil, timeout: nil).next == .max)
        #expect(ExchangeDeadlines(deadline: nil, timeout: nil).error(at: .max - 1) == nil)
        var deadlines = ExchangeDeadlines(deadline: .seconds(3_600), timeout: .seconds(60))
        let minute = now + 60_000_000_000
        #expect(deadlines.next >= minute && deadlines.next < minute + 30_000_000_000)
        #expect(deadlines.error(at: now)?.kind == nil)
        #expect(deadlines.error(at: deadlines.next)?.reason.contains("silent") == true)
        deadlines.limitTimeout(to: 1_000)
        #expect(deadlines.next < minute)
        deadlines.limitTimeout(to: .max / 4)
        #expect(deadlines.next < minute)
    }

    private static func expiry(_ deadlines: ExchangeDeadlines) async -> TransportError {
        let timer = ExchangeTimer(deadlines)
        let error = await withCheckedContinuation { continuation in
            timer.start { continuation.resume(returning: $0) }
        }
        timer.stop()
        return error
    }
}
