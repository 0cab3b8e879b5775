#if os(Linux)
/// What a loop has learned of the hosts that it connects to, by origin; used on the loop's thread.
struct CurlHosts {
    private static let limit = 1_000
    private var hosts: [String: CurlHost] = [:]

    /// The host of an origin.
    subscript(origin: String) -> CurlHost {
        mutating get {
            if let host = hosts[origin] { return host }
            // What is forgotten is learned again with the next answer.
            if hosts.count >= Self.limit { hosts = [:] }
            let host = CurlHost()
            hosts[origin] = host
            return host
        }
    }
}

/// What is known of one host.
final class CurlHost {
    /// Whether the host's last answer came over HTTP/2.
    var isMultiplexed = false
    /// The earliest time at which another exchange stops waiting for a connection that an earlier one opens.
    var nextConnection: CurlClock.Instant = 0
}
#endif
