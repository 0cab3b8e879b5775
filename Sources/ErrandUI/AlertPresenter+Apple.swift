#if canImport(UIKit) && !os(watchOS)
public import Errand
public import UIKit

/// Shows the errors of failed loads as alerts over a view controller, one at a time.
///
/// Untested. Keep the presenter in a property, because a request and a proxy do not retain their ``ErrorPresenter``. The
/// presenter retains neither the view controller nor the requests. Loads that fail with the same ``APIError/message`` share an
/// alert; other messages are shown after the alert has been closed. While the view controller is in no window, nothing is shown.
@MainActor public final class AlertPresenter: ErrorPresenter {
    private weak var viewController: UIViewController?
    private weak var alert: UIAlertController?
    private let title: String?
    private let close: String
    private let retry: String?
    private var failures = PresentedFailures()
    private var waitsForTransition = false

    /// Creates a presenter.
    ///
    /// - Parameters:
    ///   - viewController: Presents the alerts, itself or through the view controller that it presents; not retained.
    ///   - title: The title of the alerts; the message of the error by default.
    ///   - close: The title of the button that closes an alert.
    ///   - retry: The title of a button that loads the failed requests again that have not been released, as
    ///     ``BaseAPIRequest/loadAgain()`` does; `nil`, the default, for no such button.
    public init(
        over viewController: UIViewController,
        title: String? = nil,
        close: String = "OK",
        retry: String? = nil
    ) {
        (self.viewController, self.title, self.close, self.retry) = (viewController, title, close, retry)
    }

    /// Shows the error, now or when the alert that is shown has been closed.
    public func presentError(_ error: APIError, of request: BaseAPIRequest) {
        // A coordinator whose transition ended while the completion was added may never call it.
        if viewController?.topmostTransition == nil { transitionDidEnd() }
        let isShown = waitsForTransition || alert?.presentingViewController != nil
        // The app has dismissed the alert, which then calls no action.
        if !isShown { failures.removeFirst() }
        failures.add(error, of: request)
        if !isShown { showFirst() }
    }

    private func showFirst() {
        guard let text = failures.first?.text, !waitsForTransition else { return }
        // UIKit presents nothing while another view controller appears or disappears.
        if let transition = viewController?.topmostTransition {
            waitsForTransition = true
            let willEnd = transition.animate(alongsideTransition: nil) { [weak self] _ in self?.transitionDidEnd() }
            guard !willEnd else { return }
            waitsForTransition = false
        }
        guard let top = viewController?.topmost, top.viewIfLoaded?.window != nil else { return failures.removeAll() }
        let alert = UIAlertController(title: title ?? text, message: title == nil ? nil : text, preferredStyle: .alert)
        alert.addAction(UIAlertAction(title: close, style: .cancel) { [weak self] _ in self?.end(loadsAgain: false) })
        if let retry {
            alert.addAction(
                UIAlertAction(title: retry, style: .default) { [weak self] _ in self?.end(loadsAgain: true) }
            )
        }
        self.alert = alert
        top.present(alert, animated: true)
    }

    private func transitionDidEnd() {
        guard waitsForTransition else { return }
        waitsForTransition = false
        showFirst()
    }

    private func end(loadsAgain: Bool) {
        let requests = failures.removeFirst()
        if loadsAgain { for request in requests { request.loadAgain() } }
        showFirst()
    }
}

extension UIViewController {
    /// The view controller that is presented last, starting at this one.
    fileprivate var topmost: UIViewController {
        guard let next = presentedViewController, !next.isBeingDismissed else { return self }
        return next.topmost
    }

    fileprivate var topmostTransition: (any UIViewControllerTransitionCoordinator)? {
        (topmost.presentedViewController ?? topmost).transitionCoordinator
    }
}
#endif
