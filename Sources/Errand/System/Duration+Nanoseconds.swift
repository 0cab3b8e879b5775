extension Duration {
    /// The whole nanoseconds from 0 to a hundred years, so that sums with a clock do not overflow.
    var clampedNanoseconds: Int64 {
        let limit = Duration.seconds(100 * 365 * 86_400)
        let (seconds, attoseconds) = Swift.min(Swift.max(self, .zero), limit).components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
