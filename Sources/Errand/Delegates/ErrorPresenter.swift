/// Shows the errors of failed loads, for example as a banner or an alert, for all screens of an app or for one request.
///
/// Not retained.
///
/// A load uses the presenter of its request (``BaseAPIRequest/errorPresenter``), or else that of its proxy
/// (``APIProxy/errorPresenter``). If ``APIRequestOptions/presentsErrors`` is false, it uses none.
@MainActor public protocol ErrorPresenter: AnyObject {
    /// A load has failed.
    ///
    /// Called once for each load that fails, on the main actor, however often its request was sent. At this time,
    /// ``BaseAPIRequest/error`` is set, unless a newer load has ended, and the loading indicator is hidden; the delegate or the
    /// closure receives the error afterwards. Several loads may fail one after the other for the same reason, such as a missing
    /// network.
    ///
    /// Not called for:
    /// - a load that was cancelled, or whose request has been released,
    /// - a load that `loadData` has not joined and that an async call has begun, such as ``APIManager/value(params:progress:)`` or
    ///   ``APIManager/pages(params:)``, because that call throws the error, and
    /// - the requests of a group: an ``APIBatch`` or ``APIChain`` that ``APIGroup/start(indicator:message:)`` has begun presents one
    ///   error when it fails; see ``APIGroup``.
    func presentError(_ error: APIError, of request: BaseAPIRequest)
}

extension APIProxy {
    /// Shows the errors of failed loads whose request has no ``BaseAPIRequest/errorPresenter``; `nil` by default.
    ///
    /// Not retained.
    @MainActor public var errorPresenter: (any ErrorPresenter)? {
        get { presenter as? any ErrorPresenter }
        set { presenter = newValue }
    }
}

extension BaseAPIRequest {
    func present(_ error: APIError, to receiver: EndingReceiver) {
        switch receiver {
        case .delegate, .closure: present(error)
        case .caller(let groups):
            // By the first of the groups that share this request to end with the failure.
            var isPresented = false
            let present = { (error: APIError) in if !exchange(&isPresented, with: true) { self.present(error) } }
            for group in groups { group.recordFailure(error, present) }
        }
    }

    func present(_ error: APIError) {
        (errorPresenter ?? proxy.errorPresenter)?.presentError(error, of: self)
    }
}
