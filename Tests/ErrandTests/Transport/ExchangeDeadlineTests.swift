import Foundation
import Testing

@testable import Errand

@Suite("The deadlines of an exchange", .takesTurns, .timeLimit(.minutes(10)))
struct ExchangeDeadlineTests {
    @Test("the whole passes, whatever moves", arguments: [Duration.milliseconds(100), .zero, .seconds(-1)])
    func total(total: Duration) async {
        let start = ContinuousClock.now
        let deadline = ExchangeDeadline(total: total, idle: .seconds(60))
        let reason = await Self.expiry(of: deadline)
        #expect(reason.contains("whole"))
        #expect(ContinuousClock.now - start >= total)
    }

    @Test("silence passes, counted from the last move")
    func silence() async {
        let deadline = ExchangeDeadline(total: .seconds(60), idle: .seconds(1))
        var lastMove = ContinuousClock.now
        let reason = await withCheckedContinuation { continuation in
            deadline.start { continuation.resume(returning: $0) }
            for _ in 0..<10_000 { deadline.touch() }
            lastMove = ContinuousClock.now
            deadline.touch()
        }
        #expect(reason.contains("silent"))
        #expect(ContinuousClock.now - lastMove >= .seconds(1))
    }

    @Test("durations beyond the clock are for ever, and do not trap")
    func endless() async {
        let deadline = ExchangeDeadline(total: .seconds(Int64.max), idle: .seconds(Int64.max))
        deadline.start { _ in Issue.record("passed") }
        deadline.touch()
        deadline.stop()
    }

    @Test("what is stopped, or has no deadline, never passes")
    func stopped() async {
        let stopped = ExchangeDeadline(total: .milliseconds(1), idle: nil)
        stopped.stop()
        stopped.start { _ in Issue.record("passed") }
        let none = ExchangeDeadline(total: nil, idle: nil)
        none.start { _ in Issue.record("passed") }
        _ = await Self.expiry(of: ExchangeDeadline(total: .milliseconds(50), idle: nil))
    }

    private static func expiry(of deadline: ExchangeDeadline) async -> String {
        let reason = await withCheckedContinuation { continuation in
            deadline.start { continuation.resume(returning: $0) }
        }
        deadline.stop()
        return reason
    }
}
