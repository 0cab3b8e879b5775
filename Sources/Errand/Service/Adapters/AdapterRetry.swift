/// Thrown by an adapter to have the load sent again, whatever its method, at most once for each load.
///
/// The load waits by the clock of the proxy, without a place in the queue, and can be cancelled meanwhile. It is neither a retry
/// of the ``RetryPolicy`` nor the replay after a relogin. The second time in one load it is a failure: `invalidRequest` from an
/// adapter of parameters or requests, `decoding` from one of responses or data; from one of failures it is ignored.
public struct AdapterRetry: Error, Sendable {
    /// How long to wait before the load is sent again.
    public let delay: Duration

    /// Returns the error that has the load sent again after a delay, none by default.
    public static func again(after delay: Duration = .zero) -> AdapterRetry { AdapterRetry(delay: delay) }
}
