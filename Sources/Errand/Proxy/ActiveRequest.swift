/// A load that has begun and has not ended, for inspection.
public struct ActiveRequest: Sendable, Identifiable {
    /// The load's ID.
    public let id: RequestID
    /// The request method.
    public let method: HTTPMethod
    /// The path with `{name}` for its parameters; for a plain call the URL without user, password, query and fragment.
    public let path: String
}
