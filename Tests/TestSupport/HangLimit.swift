internal import Foundation
package import Testing

/// Fails a case of a test that hangs, about 30 s after it has begun, and cancels it.
///
/// The time is that of a ``Heartbeat``, so it is longer while other tests or programs occupy the machine. The time limits of
/// Swift Testing are minutes, and a test that does not end by its cancellation hangs in spite of them. Such a test ends the
/// process here, after its issue is recorded.
package struct HangLimit: SuiteTrait, TestTrait, TestScoping {
    /// Half a minute on an idle machine.
    fileprivate static let standard = HangLimit(beats: 300 * factor)

    /// Tests do more, or run more slowly.
    private static var factor: Int {
        #if THREAD_SANITIZER
        10
        #else
        ProcessInfo.processInfo.environment["ERRAND_SLOW_TESTS"] == nil ? 1 : 10
        #endif
    }

    private let beats: Int
    /// Called when the test does not end by its cancellation.
    private let abandon: @Sendable (String) -> Void

    package init(beats: Int, abandon: @escaping @Sendable (String) -> Void = Self.endProcess) {
        self.beats = beats
        self.abandon = abandon
    }

    package var isRecursive: Bool { true }

    // The scope is a single case, which does not include the wait for `limitedConcurrency`.
    package func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await withoutActuallyEscaping(function) { function in
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await function()
                    return false
                }
                group.addTask { [beats] in await Heartbeat.shared.wait(beats: beats) }
                let isHanging = try await group.next() == true
                group.cancelAll()
                guard isHanging else { return }
                Issue.record("It has not ended in half a minute.", sourceLocation: test.sourceLocation)
                let grace = Task { [beats, abandon] in
                    if await Heartbeat.shared.wait(beats: max(10, beats / 3)) { abandon(test.name) }
                }
                defer { grace.cancel() }
                try await group.waitForAll()
            }
        }
    }

    private static func endProcess(_ test: String) {
        FileHandle.standardError.write(Data("\(test) has not ended by its cancellation either.\n".utf8))
        exit(1)
    }
}

extension Trait where Self == HangLimit {
    /// For tests of promises whose break is a wait without an end.
    package static var hangLimit: Self { .standard }
}

/// Measures time by what tests can do in it: in each beat the main actor and the thread pool run several jobs.
///
/// A beat lasts 0.1 s on an idle machine.
// `lock` is held whenever `state` is read or changed. The thread sanitizer understands NSLock on Linux, and no `Mutex`.
private final class Heartbeat: @unchecked Sendable {
    static let shared = Heartbeat()

    private struct Waiter {
        let end: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var beat = 0
        var lastNumber = 0
        var waiters: [Int: Waiter] = [:]
        var isBeating = false
    }

    private static let jobs = 20

    private let lock = NSLock()
    private var state = State()

    /// Waits for a number of beats.
    ///
    /// - Returns: Whether they have passed; `false` when the task was cancelled.
    func wait(beats: Int) async -> Bool {
        let number = lock.withLock {
            state.lastNumber += 1
            return state.lastNumber
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { add($0, number, beats) }
        } onCancel: {
            remove(number)
        }
    }

    private func add(_ continuation: CheckedContinuation<Bool, Never>, _ number: Int, _ beats: Int) {
        let isFirst = lock.withLock {
            state.waiters[number] = Waiter(end: state.beat + beats, continuation: continuation)
            defer { state.isBeating = true }
            return !state.isBeating
        }
        if isFirst { Task.detached { await self.run() } }
        // Cancelled before it was added: the handler found nothing to remove.
        if Task.isCancelled { remove(number) }
    }

    private func remove(_ number: Int) {
        lock.withLock { state.waiters.removeValue(forKey: number) }?.continuation.resume(returning: false)
    }

    /// Beats while there are waiters.
    private func run() async {
        while beat() {
            try? await Task.sleep(for: .milliseconds(100))
            for _ in 0..<Self.jobs { await Self.runJob() }
        }
    }

    @MainActor private static func runJob() async {}

    /// Counts a beat, and resumes those for which it is the last.
    ///
    /// - Returns: Whether others wait.
    private func beat() -> Bool {
        let (due, isBeating) = lock.withLock {
            state.beat += 1
            let due = state.waiters.filter { $0.value.end <= state.beat }
            for number in due.keys { state.waiters[number] = nil }
            state.isBeating = !state.waiters.isEmpty
            return (due.values, state.isBeating)
        }
        for waiter in due { waiter.continuation.resume(returning: true) }
        return isBeating
    }
}
