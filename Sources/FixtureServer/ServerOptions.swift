import Foundation

/// How a ``FixtureServer`` listens, reads and records.
package struct ServerOptions: Sendable {
    /// The port, or 0 for a free one.
    package var port: UInt16 = 0
    /// Whether `::1` is listened to as well, on the same port.
    package var listensOnIPv6 = false
    /// A path for a Unix socket that is listened to as well.
    package var unixSocket: URL?
    /// How many connections the kernel holds that were not accepted yet.
    package var backlog: Int32 = 4096
    /// How many of the last requests are kept at least; 0 keeps none.
    package var recordedRequests = 10_000
    /// How many bytes a request's head may have.
    package var headLimit = 1 << 20
    /// What is done with a body, by its request's head.
    package var bodyHandling: @Sendable (RequestHead) -> BodyHandling = { _ in .keep }
    /// Whether `Expect: 100-continue` is answered with `100 Continue`.
    package var sendsContinue = true
    /// How long a connection may be idle between two requests; `nil` is for ever.
    package var keepAliveTimeout: Duration?

    /// Creates the default options.
    package init() {}
}
