/// Shows that something is loading: a spinner, a bar, a line in a terminal.
///
/// Retained by a load until that has ended, so that every show has its hide.
@MainActor public protocol LoadingIndicator: AnyObject {
    /// A load has begun. Called on the main actor, inside the call that began it.
    func showLoading(_ message: String?)

    /// A load has ended, whether or not it was ever sent.
    ///
    /// Called on the main actor, before the delegate hears of it.
    ///
    /// Several loads may share an indicator: then there are as many hides as shows.
    func hideLoading()
}
