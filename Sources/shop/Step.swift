/// One part of the walk.
struct Step {
    let name: String
    private let body: @MainActor () async throws -> Void

    /// Creates a step that does what a customer would do, and throws when anything is not as it should be.
    init(_ name: String, _ body: @escaping @MainActor () async throws -> Void) {
        self.name = name
        self.body = body
    }

    /// Takes the step, and gives it up when it takes longer than `limit` or the calling task is cancelled.
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
