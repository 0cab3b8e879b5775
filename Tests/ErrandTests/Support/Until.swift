import Testing

/// Waits until `condition` holds, half a minute at most; for what nobody tells.
func until(_ condition: () throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let end = ContinuousClock.now + .seconds(30)
    while try !condition() {
        try #require(ContinuousClock.now < end, sourceLocation: sourceLocation)
        try await Task.sleep(for: .milliseconds(2))
    }
}
