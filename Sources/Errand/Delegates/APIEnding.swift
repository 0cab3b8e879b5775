/// How one load ends.
public enum APIEnding: Sendable {
    /// With an answer.
    case success
    /// With this error, which is never `cancelled`.
    case failure(APIError)
    /// By a cancel, or because it was refused before it was sent.
    case cancelled
}
