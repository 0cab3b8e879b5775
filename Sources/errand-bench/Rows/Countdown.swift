import Synchronization

/// A number of requests that several tasks share.
final class Countdown: Sendable {
    private let rest: Atomic<Int>

    init(_ count: Int) {
        rest = Atomic(count)
    }

    /// Takes one, unless there are none left.
    func take() -> Bool {
        rest.subtract(1, ordering: .relaxed).oldValue > 0
    }

    /// Does `work` once for each, in so many tasks at a time.
    func share(among tasks: Int, _ work: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks {
                group.addTask { while self.take() { try await work() } }
            }
            try await group.waitForAll()
        }
    }
}
