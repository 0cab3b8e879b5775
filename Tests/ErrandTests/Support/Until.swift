import Testing

/// Waits until `condition` holds, for half a minute at most, which is longer while the machine is busy; for changes that
/// cannot be awaited.
func until(_ condition: () throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let end = ContinuousClock.now + .seconds(30)
    var turns = 0
    while try !condition() {
        try #require(turns < 10_000 || ContinuousClock.now < end, sourceLocation: sourceLocation)
        turns += 1
        try await Task.sleep(for: .milliseconds(2))
    }
}
