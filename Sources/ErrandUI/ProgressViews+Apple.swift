#if canImport(UIKit) && !os(watchOS)
public import Errand
import Observation
public import UIKit

// Untested.
extension UIProgressView {
    /// Shows the progress of the newest load of a request, until this is called again.
    ///
    /// The load reports it with `APIRequestOptions.reportsProgress`. The view shows 0 while the progress is not known,
    /// and the last progress after the load.
    ///
    /// - Parameter request: The request, which is not retained; `nil` for none.
    public func follow(_ request: BaseAPIRequest?) {
        let follower = request.map { ProgressFollower($0, for: self) }
        objc_setAssociatedObject(self, &ProgressFollower.key, follower, .OBJC_ASSOCIATION_RETAIN_NONATOMIC)
        follower?.update()
    }
}

/// Retained by its view until that follows another request.
@MainActor private final class ProgressFollower {
    static var key: UInt8 = 0
    private weak var request: BaseAPIRequest?
    private weak var view: UIProgressView?

    init(_ request: BaseAPIRequest, for view: UIProgressView) { (self.request, self.view) = (request, view) }

    func update() {
        let fraction = withObservationTracking {
            request?.progress?.fractionCompleted
        } onChange: { [weak self] in
            // The value changes when this has returned.
            Task { @MainActor in self?.update() }
        }
        view?.setProgress(Float(fraction ?? 0), animated: fraction != nil)
    }
}
#endif
