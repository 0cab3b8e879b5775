/// What the server does with the bytes of a request body; it always counts them.
package enum BodyHandling: Sendable {
    /// Keeps the first bytes up to a limit.
    case keep(upTo: Int)
    /// Keeps none and computes their SHA-256.
    case digest
    /// Keeps none.
    case discard
    /// Reads about this many bytes and then no more until the test opens the gate; keeps none.
    ///
    /// The client's sending comes to a halt. Its FIN stands behind what it has sent, so the end of such a connection is
    /// only seen behind the open gate.
    case pause(after: Int64, until: Gate)

    /// Keeps the first 16 MiB.
    package static let keep = BodyHandling.keep(upTo: 16 << 20)
}
