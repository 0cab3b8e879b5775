/// Counts what lenient decoders convert and skip in one response.
final class DecodingReport: Sendable {
    private struct State {
        var converted: [String: Int] = [:]
        var skipped: [String] = []
        var skippedCount = 0
    }

    /// `nil` if nothing observes it.
    @TaskLocal static var current: DecodingReport?

    private let state = Lock(State())

    /// So that a long array of bad elements does not fill the memory.
    private static let mostReasons = 100

    var event: APIEvent.Kind? {
        let state = state.withLock { $0 }
        guard !state.converted.isEmpty || !state.skipped.isEmpty else { return nil }
        let more = state.skippedCount - state.skipped.count
        let skipped = more > 0 ? state.skipped + ["\(more) more"] : state.skipped
        return .decodedLeniently(converted: state.converted, skipped: skipped)
    }

    func didConvert(at path: [any CodingKey]) {
        // All elements of an array together, so that a long one has no more entries than a short one.
        let place = path.map(DecodingError.name).reduce("") { place, name in
            name.hasPrefix("[") ? place + "[]" : place.isEmpty ? name : place + "." + name
        }
        state.withLock { $0.converted[place.isEmpty ? "the response" : place, default: 0] += 1 }
    }

    func didSkip(_ path: [any CodingKey], _ error: any Error) {
        let isListed = state.withLock { state in
            state.skippedCount += 1
            return state.skippedCount <= Self.mostReasons
        }
        guard isListed else { return }
        let unknown = DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: ""))
        let reason = (error as? DecodingError ?? unknown).place
        state.withLock { $0.skipped.append(reason) }
    }
}
