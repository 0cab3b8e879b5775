import Synchronization

/// The transport that suits the platform; what a proxy gets unless it is given another.
public enum DefaultTransport {
    /// Makes one with connections of its own: libcurl's on Linux, where the process has a usable one, URLSession's
    /// everywhere else.
    ///
    /// For an app's own transport that adds something to it, such as a log, and leaves the rest to it. When the process
    /// has no descriptors or memory left for libcurl's transport, its requests fail with
    /// ``TransportError/Kind/cannotConnect`` until there are some.
    public static func make() -> any HTTPTransport {
        #if os(Linux)
        if CurlTransport.unavailableReason == nil { return (try? CurlTransport()) ?? DeferredCurlTransport() }
        #endif
        return URLSessionTransport()
    }
}

#if os(Linux)
/// Makes libcurl's transport when a request finds the resources for it.
private final class DeferredCurlTransport: HTTPTransport {
    private let made = Mutex<CurlTransport?>(nil)

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        try await transport().send(request, progress: progress)
    }

    private func transport() throws(TransportError) -> CurlTransport {
        if let transport = made.withLock(\.self) { return transport }
        let new = try CurlTransport()
        return made.withLock { transport in
            // Another request may have been faster; its transport stays.
            if let transport { return transport }
            transport = new
            return new
        }
    }
}
#endif
