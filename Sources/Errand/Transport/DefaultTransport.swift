/// The transport that suits the platform; what a proxy gets unless it is given another.
public enum DefaultTransport {
    /// Makes one with connections of its own: libcurl's on Linux, where the process has a usable one, URLSession's
    /// everywhere else.
    ///
    /// For a transport of one's own that adds something to it, such as a log, and leaves the rest to it.
    public static func make() -> any HTTPTransport {
        #if os(Linux)
        if let transport = try? CurlTransport() { return transport }
        #endif
        return URLSessionTransport()
    }
}
