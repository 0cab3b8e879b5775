import Foundation

/// The options of a ``FixtureServer``.
package struct ServerOptions: Sendable {
    /// The port; 0, the default, chooses a free one.
    package var port: UInt16 = 0
    /// Whether the server also listens on `::1`, on the same port; `false` by default.
    package var listensOnIPv6 = false
    /// The path of a Unix socket that the server also listens on; `nil` by default.
    package var unixSocket: URL?
    /// The number of connections that the kernel holds until they are accepted; 4,096 by default.
    package var backlog: Int32 = 4096
    /// The minimum number of recent requests that are recorded; 10,000 by default, 0 records none.
    package var recordedRequests = 10_000
    /// The maximum size of a request's head, in bytes; 1 MiB by default.
    package var headLimit = 1 << 20
    /// Chooses what to do with a body by its request's head; by default the first 16 MiB are kept.
    package var bodyHandling: @Sendable (RequestHead) -> BodyHandling = { _ in .keep }
    /// Whether the server responds to `Expect: 100-continue` with `100 Continue`; `true` by default.
    package var sendsContinue = true
    /// How long a connection may be idle between two requests; without a limit when `nil`, the default.
    package var keepAliveTimeout: Duration?

    /// Creates the default options.
    package init() {}
}
