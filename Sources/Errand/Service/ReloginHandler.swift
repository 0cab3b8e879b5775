public import Foundation

/// Signs the user in again when a service reports that the login has expired, or before that.
///
/// One relogin runs at a time for a service, however many requests need it. They wait for it and are sent once more afterwards,
/// with the headers, parameters and cookies of the new login; a request that begins meanwhile waits as well, and is sent then:
/// by priority, and then in the order in which they began. A request that was sent with an older login and is refused after the
/// relogin is sent once more without another relogin. Headers that are made while a relogin begins are made again.
///
/// A request that is refused again, with a login with which no other has succeeded before, fails: a new login does not help. If
/// others have, the login may have expired while the request queued; then one request may need up to five relogins. No request
/// is sent again with a login that the service has refused it.
///
/// All members are called on the main actor, to which a class that adopts this protocol is isolated, with the environment that
/// needs the login as ``APIEnvironment/current``. Retained by ``APIService/reloginHandler``.
@MainActor public protocol ReloginHandler: AnyObject, Sendable {
    /// Gets new credentials and stores them where the service's common headers or cookies read them.
    ///
    /// Called when loads were refused, at most 5 times in 30 s: a load that needs it once more fails at once. Calls that
    /// ``loginRenewalDate`` starts are not counted, nor are calls that have not reached the server once a login has succeeded.
    /// Calls never overlap. The next one begins when this one has returned, even if this one has passed
    /// ``APIService/reloginTimeout`` or its session has ended; meanwhile the loads that wait for the next one wait no longer than
    /// its own `reloginTimeout`.
    ///
    /// A load of the same service that begins in here is a login request, as if it had ``BaseAPIRequest/isLoginRequest``: it is
    /// sent at once and fails with `http` if it is refused. That holds for child tasks, for `Task { }`, for batches and chains
    /// that begin in here, and for callbacks of such loads. A load that begins in a detached task or on a dispatch queue
    /// waits for the relogin unless its class has `isLoginRequest`. Do not wait for such a load: it ends only when the relogin
    /// passes its `reloginTimeout`, which the error's reason explains.
    ///
    /// A request that names neither a service nor a proxy has those of the loads that need the login, so that credentials are sent
    /// to the backend that they are for.
    ///
    /// The task is cancelled after `reloginTimeout` and by ``APIProxy/logout(from:)``. The result is ignored then, but credentials
    /// that are stored then are used: check `Task.isCancelled` before storing them.
    ///
    /// If the user signs in meanwhile, by a request with `isLoginRequest` that does not begin in here, a failure is ignored, and
    /// the waiting loads are sent again.
    ///
    /// An error ends the session: every waiting load fails with `loginExpired`, whose underlying error it is. But a login
    /// server that cannot be reached has refused nothing: an ``APIError`` with the type `noNetwork`, `timeout` or
    /// `transport`, or with a status 5xx or 429, fails the waiting loads with that type, and the next load that is refused
    /// calls this again. A login that passes ``APIService/reloginTimeout`` ends the session: give its request a shorter
    /// ``BaseAPIRequest/timeout`` to prevent that. To keep the session after an error of another library, throw such an `APIError`.
    func relogin() async throws

    /// The date from which the login is renewed before a request is sent, usually a little before it expires; `nil`, the
    /// default, is never.
    ///
    /// Read when a load begins, before a renewal, and after each ``relogin()``. From this date on, by the clock of the proxy,
    /// the next request starts one relogin before it is sent; that request and all that begin meanwhile wait for it. If it
    /// fails, the login is used until the service refuses it: only loads that were refused meanwhile make it a relogin whose
    /// failure is theirs. Each date starts one relogin, and a date that has passed when a relogin begins or returns starts no
    /// other.
    var loginRenewalDate: Date? { get }

    /// Called when the session has expired and its renewal was refused, before the loads that wait for it fail.
    ///
    /// The place to show the sign-in screen. Called once for each session: not again, however often a relogin fails, until
    /// a relogin or a login request has succeeded or the account has changed. Not called when a load is refused once more after a
    /// relogin that has succeeded: it may be the only one that is refused, and fails with `loginExpired` alone, until 5 logins in
    /// 30 s have not helped. Does nothing by default.
    func sessionDidExpire(_ error: APIError)
}

extension ReloginHandler {
    /// Returns `nil`: the login is not renewed before it expires.
    public var loginRenewalDate: Date? { nil }

    /// Does nothing.
    public func sessionDidExpire(_ error: APIError) {}
}
