/// Shows that a request is loading, for example with a spinner or a line in a terminal.
///
/// Retained by a load until it has ended, so that each call of ``showLoading(_:)`` is followed by one of ``hideLoading()``.
/// Several loads may share an indicator.
@MainActor public protocol LoadingIndicator: AnyObject {
    /// A load has begun. Called once for each load, on the main actor, inside the call that began it.
    func showLoading(_ message: String?)

    /// A load has ended, sent or not. Called once for each load, on the main actor, before the delegate receives the ending.
    func hideLoading()
}
