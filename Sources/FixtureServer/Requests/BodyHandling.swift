/// How the server handles the bytes of a request body, which it always counts.
package enum BodyHandling: Sendable {
    /// Keeps the first bytes, up to a limit in bytes.
    case keep(upTo: Int)
    /// Keeps no bytes and computes their SHA-256.
    case digest
    /// Keeps no bytes.
    case discard
    /// Reads about this many bytes and no more until the test opens the gate; keeps none.
    ///
    /// The client cannot send more than the socket buffers hold. Its FIN follows what it has sent, so the server
    /// notices the end of such a connection only after the gate has opened.
    case pause(after: Int64, until: Gate)

    /// Keeps the first 16 MiB.
    package static let keep = BodyHandling.keep(upTo: 16 << 20)
}
