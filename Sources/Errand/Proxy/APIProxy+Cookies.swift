import Synchronization

extension APIProxy: CookieJarOwner {
    /// The cookies of every request whose service has no jar of its own (``APIService/cookies``).
    public var cookies: CookieJar { state.withLock(\.cookies) }

    /// Hears of what goes wrong where no load can tell of it: problems with the files of the cookie jars in use.
    ///
    /// Called with a ``CookieFileError`` once for each kind of problem, until it has ended and comes again, on the thread
    /// that found it or any other; never under a lock. Problems from before the hook was set are told when it is set, or
    /// with the next load of the service whose jar has them. A jar with a hook of its own tells that one alone, and one
    /// that several proxies use tells the first of them. `nil` by default.
    public var onError: (@Sendable (any Error) -> Void)? {
        get { state.withLock(\.onError) }
        set {
            state.take { Swift.exchange(&$0.onError, with: newValue) }
            cookies.reportProblems()
        }
    }

    /// Puts `jar` in the place of the proxy's, which is saved; loads that have begun stay with the old one.
    @discardableResult
    func switchCookies(to jar: CookieJar) -> CookieJar {
        let old = state.take { Swift.exchange(&$0.cookies, with: jar) }
        jar.attach(to: self)
        try? old.flush()
        return old
    }

    /// The jar of a load: the service's own, or else the proxy's.
    func jar(for service: APIService?) -> CookieJar {
        guard let jar = service?.cookies else { return cookies }
        jar.attach(to: self)
        return jar
    }
}
