extension Response {
    private static let piecesPerSecond: Int64 = 20

    /// Returns this response with its streams limited to this many bytes per second; 0 is unlimited.
    package func throttled(bytesPerSecond rate: Int64) -> Response {
        replacingSteps { step in
            guard case .stream(let source, let range) = step, rate > 0 else { return [step] }
            let size = max(1, rate / Self.piecesPerSecond)
            let pause = Duration.seconds(Double(size) / Double(rate))
            let pieces = stride(from: range.lowerBound, to: range.upperBound, by: Int64.Stride(size)).map { start in
                Step.stream(source, start..<min(range.upperBound, start + size))
            }
            return pieces.flatMap { [$0, .wait(pause)] }
        }
    }
}
