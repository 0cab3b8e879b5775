import Foundation

/// An HTTP/1.1 server on loopback for tests, demos and benchmarks: one thread, no packages, no waiting by sleeping.
///
/// It is listening when ``start(_:handler:)`` returns, and it stops in ``stop(grace:)`` or when it is released.
package final class FixtureServer: Sendable {
    /// The port that the server listens on.
    package let port: UInt16
    private let reservation: Listener?
    private let inbox: Inbox
    private let requestLog: RequestLog
    private let thread: LoopThread

    /// Starts a server that responds to each request with the result of `handler`, called on the server's thread.
    ///
    /// `handler` must not block.
    ///
    /// - Throws: ``SystemError``.
    package static func start(
        _ options: ServerOptions = ServerOptions(),
        handler: @escaping Script.Handler
    ) throws -> FixtureServer {
        let script = Script.onRequest(handler)
        return try FixtureServer(options) { _, _ in script }
    }

    /// Starts a server that plays a script for each turn of each connection; `plan` is called on the server's thread.
    ///
    /// - Throws: ``SystemError``.
    package static func start(
        _ options: ServerOptions = ServerOptions(),
        plan: @escaping Script.Plan
    ) throws -> FixtureServer {
        try FixtureServer(options, plan)
    }

    private init(_ options: ServerOptions, _ plan: @escaping Script.Plan) throws {
        let (listeners, reservation) = try Listener.all(for: options)
        let poller = try Poller()
        let inbox = try Inbox()
        let requestLog = RequestLog(limit: options.recordedRequests, inbox: inbox)
        let context = ServerContext(options: options, plan: plan, requestLog: requestLog)
        port = listeners[0].port
        self.reservation = reservation
        self.inbox = inbox
        self.requestLog = requestLog
        thread = LoopThread(name: "FixtureServer") {
            EventLoop(poller: poller, inbox: inbox, context: context).run()
            requestLog.close()
        }
        inbox.post(.listen(listeners))
    }

    deinit { stop() }

    /// `http://127.0.0.1:port`.
    package var baseURL: URL { url("") }

    /// Returns a URL of this server, in which `path` follows the port unchanged.
    package func url(_ path: String, host: String = "127.0.0.1") -> URL {
        guard let url = URL(string: "http://\(host):\(port)\(path)") else { preconditionFailure("not a path: \(path)") }
        return url
    }

    /// The recorded requests, in the order of their arrival.
    package var requests: [RecordedRequest] { requestLog.read(\.requests) }

    /// The number of requests that have arrived.
    package var totalRequests: Int { requestLog.read(\.totalRequests) }

    /// The number of connections that are open now.
    package var openConnections: Int { requestLog.read(\.openConnections) }

    /// The number of connections that have been accepted.
    package var totalConnections: Int { requestLog.read(\.totalConnections) }

    /// Waits for the oldest request that this method has not returned yet.
    ///
    /// - Throws: ``NoRequest`` when none arrives in time, the task is cancelled, or the server stops.
    package func takeRequest(timeout: Duration = .seconds(300)) async throws -> RecordedRequest {
        guard let request = await requestLog.takeRequest(timeout: timeout) else { throw NoRequest() }
        return request
    }

    /// Waits until exactly this many connections are open, and returns whether that happened in time.
    package func waitForOpenConnections(_ count: Int, timeout: Duration = .seconds(300)) async -> Bool {
        await requestLog.wait(timeout) { $0.openConnections == count }
    }

    /// Waits until at least this many connections have been accepted, and returns whether that happened in time.
    package func waitForTotalConnections(_ count: Int, timeout: Duration = .seconds(300)) async -> Bool {
        await requestLog.wait(timeout) { $0.totalConnections >= count }
    }

    /// Waits until at least this many requests have arrived, and returns whether that happened in time.
    package func waitForTotalRequests(_ count: Int, timeout: Duration = .seconds(300)) async -> Bool {
        await requestLog.wait(timeout) { $0.totalRequests >= count }
    }

    /// Removes the recorded requests, returned by ``takeRequest(timeout:)`` or not.
    package func removeRecordedRequests() {
        requestLog.removeRequests()
    }

    /// Starts or stops accepting connections; those that are not accepted wait in the backlog.
    ///
    /// The change is in effect when this method returns.
    package func setAccepting(_ accepts: Bool) async {
        let taken = Gate()
        guard inbox.post(.setAccepting(accepts)), inbox.post(.run(after: .zero) { taken.open() }) else { return }
        await taken.opened()
    }

    /// Stops the server and returns when its thread has ended; a second call does nothing.
    ///
    /// Idle connections close at once. Others may finish their response within `grace`, which is zero by default. On
    /// Linux, the port refuses connections until the server is released.
    package func stop(grace: Duration = .zero) {
        inbox.post(.stop(grace: grace))
        thread.join()
    }
}

/// No request arrived in time.
package struct NoRequest: Error {}

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
