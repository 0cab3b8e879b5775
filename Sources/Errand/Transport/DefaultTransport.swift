/// Chooses the transport that suits the platform.
enum DefaultTransport {
    /// libcurl on Linux, where the process has a usable one; URLSession everywhere else.
    static func make() -> any HTTPTransport {
        #if os(Linux)
        if let transport = try? CurlTransport() { return transport }
        #endif
        return URLSessionTransport()
    }
}
