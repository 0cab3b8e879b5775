import Testing

/// Waits until `condition` holds, for five minutes at most; for changes that cannot be awaited.
func until(
    _ condition: () throws -> Bool,
    _ comment: @autoclosure () throws -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let end = ContinuousClock.now + .seconds(300)
    while try !condition() {
        let isInTime = ContinuousClock.now < end
        let reason = isInTime ? nil : try comment()
        try #require(isInTime, reason, sourceLocation: sourceLocation)
        try await Task.sleep(for: .milliseconds(2))
    }
}
