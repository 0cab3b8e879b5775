/// Chooses the transport that suits the platform.
public enum DefaultTransport {
    /// A new transport.
    public static func make() -> any HTTPTransport {
        URLSessionTransport()
    }
}
