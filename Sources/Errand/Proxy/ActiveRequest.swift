/// One load that has begun and not ended, for inspection.
public struct ActiveRequest: Sendable, Identifiable {
    /// The load's name.
    public let id: RequestID
    /// The request method.
    public let method: HTTPMethod
    /// The path, or for a plain call the URL without its query.
    public let path: String
}
