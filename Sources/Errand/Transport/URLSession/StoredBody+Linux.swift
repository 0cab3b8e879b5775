#if canImport(FoundationNetworking)
extension StoredBody {
    /// Stores each stream in a file.
    mutating func storeParts(of body: HTTPBody, _ progress: StoringProgress) async throws(TransportError) {
        for piece in body.pieces {
            if piece.isStream { try await store(HTTPBody([piece]), progress) } else { append(piece) }
        }
    }
}
#endif
