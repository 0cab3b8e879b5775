import Testing

/// Waits until `condition` holds, for five minutes at most; for changes that cannot be awaited.
func until(_ condition: () throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let end = ContinuousClock.now + .seconds(300)
    while try !condition() {
        try #require(ContinuousClock.now < end, sourceLocation: sourceLocation)
        try await Task.sleep(for: .milliseconds(2))
    }
}
