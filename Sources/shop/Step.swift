/// One part of the walk.
struct Step {
    let name: String
    private let body: @MainActor () async throws -> Void

    /// Creates a step; `body` acts as a customer and throws when a result is wrong.
    init(_ name: String, _ body: @escaping @MainActor () async throws -> Void) {
        self.name = name
        self.body = body
    }

    /// Runs the step; cancels it after `limit` or when the calling task is cancelled.
    @MainActor func run(within limit: Duration) async throws {
        let work = Task { try await body() }
        let watchdog = Task {
            try await Task.sleep(for: limit)
            work.cancel()
        }
        defer { watchdog.cancel() }
        do {
            try await withTaskCancellationHandler {
                try await work.value
            } onCancel: {
                work.cancel()
            }
        } catch {
            guard work.isCancelled, !Task.isCancelled else { throw error }
            throw StepFailure("it did not end within \(limit)")
        }
    }
}
