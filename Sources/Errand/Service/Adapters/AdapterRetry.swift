/// An error that an adapter throws to have the load sent again, whatever its method, at most once for each load.
///
/// The load waits by the clock of the proxy, without a place in the queue, and can be cancelled meanwhile. The new attempt counts
/// neither as a retry of the ``RetryPolicy`` nor as the attempt after a relogin. Thrown a second time in one load, this error
/// fails the load: with `invalidRequest` from an adapter of parameters or requests, with `decoding` from an adapter of responses
/// or data. From an adapter of failures, it is then ignored.
public struct AdapterRetry: Error, Sendable {
    /// How long to wait before the load is sent again.
    package let delay: Duration

    /// Returns the error that has the load sent again after a delay; without delay by default.
    public static func again(after delay: Duration = .zero) -> AdapterRetry { AdapterRetry(delay: delay) }
}
