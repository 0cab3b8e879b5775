import Dispatch
import Testing

/// Runs a test on a separate thread, so that it does not measure the load of the threads that tests share.
struct SeparateThreadTrait: TestTrait, TestScoping {
    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(Executor()) { try await function() }
    }

    private final class Executor: TaskExecutor {
        private let queue = DispatchQueue(label: "separate thread")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
}

extension Trait where Self == SeparateThreadTrait {
    /// Runs the test on a separate thread.
    static var separateThread: SeparateThreadTrait { SeparateThreadTrait() }
}
