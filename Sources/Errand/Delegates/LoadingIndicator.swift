/// Shows that a request is loading, for example with a spinner or a line in a terminal.
///
/// A load retains its indicator until the load has ended, so every call of ``showLoading(_:)`` is followed by a call of
/// ``hideLoading()``. Several loads may share an indicator.
@MainActor public protocol LoadingIndicator: AnyObject {
    /// A load has begun. Called once for each load, on the main actor, inside the call that began it.
    func showLoading(_ message: String?)

    /// A load has ended, whether or not it was sent. Called once for each load, on the main actor, before the delegate receives
    /// the ending.
    func hideLoading()
}
