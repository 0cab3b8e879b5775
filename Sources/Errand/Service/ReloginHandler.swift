/// Signs the user in again when a service says that the login has expired.
///
/// One relogin runs at a time for a service, however many requests need it. They wait for it, and so does every request
/// that starts meanwhile; afterwards each of them is sent once more, with the headers, parameters and cookies of then.
public protocol ReloginHandler: Sendable {
    /// Gets new credentials and puts them where the service's common headers or cookies come from.
    ///
    /// Called when a load needs it, one call at a time, and at most 5 times in 30 s: what comes above that fails at once.
    /// Requests made in here must have ``BaseAPIRequest/isLoginRequest``, or they would wait for themselves until
    /// ``APIService/reloginTimeout``. The task is cancelled at that deadline and by ``APIProxy/logout(from:)``; what comes
    /// after changes nothing. What it throws becomes the underlying error of every waiter's `loginExpired`.
    @MainActor func relogin() async throws

    /// Tells that the session has expired and could not be renewed, before the loads that wait for it fail.
    ///
    /// The place to show the sign-in screen. Called once for each session: not again, however often a relogin fails, until
    /// a relogin or a login request has succeeded or the account has changed. Does nothing by default.
    @MainActor func sessionDidExpire(_ error: APIError)
}

extension ReloginHandler {
    /// Does nothing.
    @MainActor public func sessionDidExpire(_ error: APIError) {}
}
