/// What the server says it was asked for.
struct ServerLog: Decodable, Sendable {
    let logins: Int
    let refused: Int
    /// How often each path was asked for.
    let hits: [String: Int]
}

extension ServerLog {
    /// What happened after `earlier`.
    func since(_ earlier: ServerLog) -> ServerLog {
        ServerLog(
            logins: logins - earlier.logins,
            refused: refused - earlier.refused,
            hits: hits.merging(earlier.hits, uniquingKeysWith: -).filter { $0.value != 0 }
        )
    }
}
