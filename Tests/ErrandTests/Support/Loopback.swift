import FixtureServer
import Foundation

/// The addresses and names of the loopback interface that not every system has.
enum Loopback {
    /// Whether there is `::1`.
    static let hasIPv6: Bool = {
        var options = ServerOptions()
        options.listensOnIPv6 = true
        return (try? FixtureServer.start(options) { _ in .status(200) }) != nil
    }()

    /// Whether names below `localhost` have its address, which RFC 6761 recommends.
    ///
    /// On Linux, libcurl resolves them itself.
    static let hasSubdomains: Bool = {
        #if os(Linux)
        true
        #else
        var addresses: UnsafeMutablePointer<addrinfo>?
        defer { if addresses != nil { freeaddrinfo(addresses) } }
        return getaddrinfo("shop.localhost", nil, nil, &addresses) == 0
        #endif
    }()
}
