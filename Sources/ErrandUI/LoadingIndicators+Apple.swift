#if canImport(UIKit) && !os(watchOS)
public import Errand
public import UIKit

// Untested.
extension UIActivityIndicatorView: LoadingIndicator {
    /// Starts the animation with the first of the loads that share the view, with the message as its accessibility label,
    /// which it keeps.
    public func showLoading(_ message: String?) {
        if let message { accessibilityLabel = message }
        startAnimating()
    }

    /// Stops the animation with the last of the loads that share the view.
    public func hideLoading() { stopAnimating() }
}

#if !os(tvOS)
extension UIRefreshControl: LoadingIndicator {
    /// Begins refreshing with the first of the loads that share the control, unless the user has pulled it, with the message as
    /// its title, which it keeps.
    ///
    /// Does not scroll to a control that the user has not pulled.
    public func showLoading(_ message: String?) {
        if let message { attributedTitle = NSAttributedString(string: message) }
        if !isRefreshing { beginRefreshing() }
    }

    /// Ends refreshing with the last of the loads that share the control.
    public func hideLoading() { endRefreshing() }
}
#endif
#endif
