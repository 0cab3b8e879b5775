/// Signs the user in again when a service says that the login has expired.
///
/// One relogin runs at a time for a service, however many requests need it. They wait for it, and so does every request
/// that starts meanwhile; afterwards each of them is sent once more, with the headers, parameters and cookies of then.
public protocol ReloginHandler: Sendable {
    /// Gets new credentials and puts them where the service's common headers or cookies come from.
    ///
    /// Called once for each expired login. Requests made in here must have ``BaseAPIRequest/isLoginRequest``, or they
    /// would wait for themselves until ``APIService/reloginTimeout``. What it throws becomes the underlying error of every
    /// waiter's `loginExpired`.
    @MainActor func relogin() async throws

    /// Tells that a relogin has failed, once for each failed relogin, before its waiters fail.
    ///
    /// The place to show the sign-in screen. Does nothing by default.
    @MainActor func sessionDidExpire(_ error: APIError)
}

extension ReloginHandler {
    /// Does nothing.
    @MainActor public func sessionDidExpire(_ error: APIError) {}
}
