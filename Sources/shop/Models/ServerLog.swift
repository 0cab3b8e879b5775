/// The counts of calls in the server's log.
struct ServerLog: Decodable, Sendable {
    let logins: Int
    let refused: Int
    let keyExchanges: Int
    let keyRefusals: Int
    /// The number of calls by path.
    let hits: [String: Int]
}

extension ServerLog {
    /// Returns the difference from `earlier`.
    func since(_ earlier: ServerLog) -> ServerLog {
        ServerLog(
            logins: logins - earlier.logins,
            refused: refused - earlier.refused,
            keyExchanges: keyExchanges - earlier.keyExchanges,
            keyRefusals: keyRefusals - earlier.keyRefusals,
            hits: hits.merging(earlier.hits, uniquingKeysWith: -).filter { $0.value != 0 }
        )
    }
}
