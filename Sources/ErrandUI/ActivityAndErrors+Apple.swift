#if canImport(SwiftUI)
public import Errand
import Observation
public import SwiftUI

extension View {
    /// Shows a progress view over this view while a request loads, and an alert when a load of it has failed.
    ///
    /// Untested.
    ///
    /// The modifier is the ``BaseAPIRequest/errorPresenter`` of the request, so it shows the errors that an ``ErrorPresenter``
    /// receives: not those of cancelled loads, nor those that an async call throws. An error that occurs while an alert is shown
    /// is not shown. Of a list, the loads of all pages count.
    ///
    /// - Parameters:
    ///   - request: The request; keep it in the view's state.
    ///   - title: The title of the alert; the message of the error by default.
    ///   - close: The title of the button that closes the alert.
    ///   - retry: The title of a button that loads again, as ``BaseAPIRequest/loadAgain()`` does; `nil`, the default, for no such
    ///     button.
    /// - Returns: This view with the overlay and the alert.
    public func activityAndErrors(
        of request: BaseAPIRequest,
        title: String? = nil,
        close: String = "OK",
        retry: String? = nil
    ) -> some View {
        modifier(ActivityAndErrors(request: request, title: title, close: close, retry: retry))
    }
}

private struct ActivityAndErrors: ViewModifier {
    let request: BaseAPIRequest
    let title: String?
    let close: String
    let retry: String?
    @State private var failure = ShownFailure()

    func body(content: Content) -> some View {
        content
            .overlay { if request.isLoading { ProgressView() } }
            .onChange(of: request, initial: true) { previous, request in
                previous.errorPresenter = nil
                request.errorPresenter = failure
            }
            .alert(title ?? failure.text, isPresented: $failure.isShown) {
                Button(close, role: .cancel) {}
                if let retry { Button(retry) { request.loadAgain() } }
            } message: {
                if title != nil { Text(failure.text) }
            }
    }
}

/// The newest failure, whose text remains while its alert disappears.
@MainActor @Observable private final class ShownFailure: ErrorPresenter {
    var isShown = false
    private(set) var text = ""

    func presentError(_ error: APIError, of request: BaseAPIRequest) {
        guard !isShown else { return }
        (text, isShown) = (error.message, true)
    }
}
#endif
