import Synchronization

/// A number of requests that several tasks execute.
final class Countdown: Sendable {
    private let rest: Atomic<Int>

    init(_ count: Int) {
        rest = Atomic(count)
    }

    /// Takes one request, and returns whether one was left.
    func take() -> Bool {
        rest.subtract(1, ordering: .relaxed).oldValue > 0
    }

    /// Calls `work` once for each request, in this many concurrent tasks.
    func share(among tasks: Int, _ work: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks {
                group.addTask { while self.take() { try await work() } }
            }
            try await group.waitForAll()
        }
    }
}
