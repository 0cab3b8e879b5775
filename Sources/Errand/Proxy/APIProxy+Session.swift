import Synchronization

extension APIProxy {
    /// Ends a session on this side: for signing out, and before another account signs in.
    ///
    /// First forget the credentials that the service's common headers read, then call this. Every load of the service that
    /// has begun ends as cancelled, wherever it is: queued, under way, in a back-off, waiting for a relogin. A relogin that
    /// runs is cancelled and counts no more, and ``ReloginHandler/sessionDidExpire(_:)`` is not called for it. The cookies
    /// are cleared, also from their file, and an answer that comes late brings none back. Loads that begin afterwards
    /// belong to the next session.
    ///
    /// Callable from any thread. Plain calls of ``send(_:progress:)`` belong to no session and go on.
    ///
    /// - Parameter service: The backend; `nil` is the default service.
    public func logout(from service: APIService? = nil) {
        cookies.clear()
        endSession(of: service)
    }

    func endSession(of service: APIService?) {
        guard let relogin = (service ?? defaultService)?.relogin else { return }
        relogin.startNewSession()
        let session = ObjectIdentifier(relogin)
        let ids = state.withLock { state in
            state.loads.values.filter { $0.session == session }.map(\.summary.id)
        }
        cancelRequests(ids.sorted())
    }
}
