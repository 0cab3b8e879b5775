import Synchronization

extension APIProxy {
    /// Ends a session on this side: for signing out, and before another account signs in.
    ///
    /// Call this on the main actor, and forget the credentials that the service's common headers read right after it, before
    /// anything else has a turn there: no load is sent in between, because all have ended and none can begin.
    ///
    /// Every load of the service that has begun ends as cancelled, wherever it is: queued, under way, in a back-off, waiting
    /// for a relogin. A relogin that runs is cancelled and counts no more, and ``ReloginHandler/sessionDidExpire(_:)`` is not
    /// called for it. The cookies are cleared, also from their file, and an answer that comes late brings none back. Loads
    /// that begin afterwards belong to the next session.
    ///
    /// Plain calls of ``send(_:progress:)`` belong to no session and go on. Blocks as ``CookieJar/clear()`` does, after all
    /// loads have ended.
    ///
    /// - Parameter service: The backend; `nil` is the default service.
    public func logout(from service: APIService? = nil) {
        let jar = jar(for: service ?? defaultService)
        jar.clearInMemory()
        endSession(of: service)
        // Once more, for a load of the old session whose turn came in between, and then the disk, which takes its time.
        jar.clear()
    }

    /// Changes the account: ends the session as ``logout(from:)`` does, but keeps the cookies of the old account.
    ///
    /// Call this on the main actor, and put the credentials of the new account where the service's common headers read them
    /// right after it; earlier, a load of the old account might still be sent with them.
    ///
    /// From then on the cookies of `jar` are sent and stored for every service that has no jar of its own; the old jar is
    /// saved, and an answer that comes late changes nothing but that. Blocks as ``CookieJar/flush()`` does; what prevents
    /// saving goes to ``onError``, and the old jar goes on trying as long as somebody holds it.
    ///
    /// - Parameters:
    ///   - service: The backend; `nil` is the default service.
    ///   - jar: The cookies of the new account.
    /// - Returns: The old jar.
    @discardableResult
    public func switchAccount(of service: APIService? = nil, to jar: CookieJar) -> CookieJar {
        let old = switchCookies(to: jar)
        endSession(of: service)
        return old
    }

    /// Only after the cookies are those of the next session: a load that begins in between ends with this one.
    private func endSession(of service: APIService?) {
        guard let service = service ?? defaultService else { return }
        service.relogin.startNewSession()
        cancelRequests(of: service.session)
    }
}
