/// What the server does with the bytes of a request body; it always counts them.
package enum BodyHandling: Sendable {
    /// Keeps the first bytes up to a limit.
    case keep(upTo: Int)
    /// Keeps none and computes their SHA-256.
    case digest
    /// Keeps none.
    case discard
    /// Reads this many bytes and then no more, so that the client's sending comes to a halt.
    case stall(after: Int64)

    /// Keeps the first 16 MiB.
    package static let keep = BodyHandling.keep(upTo: 16 << 20)
}
