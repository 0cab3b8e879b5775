import Foundation

/// An HTTP/1.1 server on loopback for tests, demos and benchmarks: one thread, no packages, no waiting by sleeping.
///
/// It is listening when ``start(_:handler:)`` returns, and it stops in ``stop(grace:)`` or when it is released.
package final class FixtureServer: Sendable {
    /// The port that the server listens on.
    package let port: UInt16
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
        let listeners = try Listener.all(for: options)
        let poller = try Poller()
        let inbox = try Inbox()
        let requestLog = RequestLog(limit: options.recordedRequests, inbox: inbox)
        let context = ServerContext(options: options, plan: plan, requestLog: requestLog)
        port = listeners[0].port
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
    /// Idle connections close at once. Others may finish their response within `grace`, which is zero by default.
    package func stop(grace: Duration = .zero) {
        inbox.post(.stop(grace: grace))
        thread.join()
    }
}

/// No request arrived in time.
package struct NoRequest: Error {}
