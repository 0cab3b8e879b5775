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
    let capacity = TransportCapacity(of: TransportConfiguration())
    private let made = Mutex<CurlTransport?>(nil)

    func send(
        _ request: HTTPRequest,
        progress: TransferProgress.Handler?
    ) async throws(TransportError) -> HTTPResponse {
        try await transport().send(request, progress: progress)
    }

    private func transport() throws(TransportError) -> CurlTransport {
        // Made under the lock: requests that each made one would take the descriptors from each other.
        try made.withLock { (made) throws(TransportError) in
            if let made { return made }
            let transport = try CurlTransport()
            made = transport
            return transport
        }
    }
}
#endif
