public import Foundation

/// Signs the user in again after or before a login expires.
///
/// A service runs one relogin at a time, however many requests need it. Refused requests wait for the relogin and are then sent
/// once more with the headers, parameters and cookies of the new login. Requests that begin meanwhile wait as well. All of them
/// are sent by priority, then in the order in which they began. If a request that was sent with the old login is refused only
/// after the relogin, it is sent once more without another relogin. Headers that were being created when a relogin began are
/// created again.
///
/// If a request is refused again and no other request has succeeded with the new login, the request fails, because another login
/// would not help. If other requests have succeeded with it, the login may have expired while the request was queued; one request
/// may then need up to five relogins. A request is never sent twice with a login for which the service has refused it.
///
/// All members are called on the main actor, with the environment that needs the login as ``APIEnvironment/current``. A class
/// that adopts this protocol is isolated to the main actor. Retained by ``APIService/reloginHandler``.
@MainActor public protocol ReloginHandler: AnyObject, Sendable {
    /// Gets new credentials and stores them where the service's common headers or cookies use them.
    ///
    /// Called after loads were refused, within 30 s at most 5 times without helping them, and at most 30 times in all; a load that
    /// needs one more relogin in this time fails at once. Calls whose loads were cancelled, or have failed for another reason,
    /// count only as the latter. Calls because of ``loginRenewalDate`` do not count. Calls that did not reach the server no longer
    /// count once a login has succeeded.
    ///
    /// Calls for one service and environment never overlap; a handler of several of them must not use one refresh token for two
    /// calls. The next call begins when this one has returned, even if this one has exceeded
    /// ``APIService/reloginTimeout`` or its session has ended. The loads that wait for the next call wait no longer than the
    /// `reloginTimeout` of that call.
    ///
    /// A load of the same service that begins inside this method is a login request, as if it had
    /// ``BaseAPIRequest/isLoginRequest``: it is sent at once, and fails with `http` if it is refused. The same applies to loads
    /// that begin in child tasks, in `Task { }`, in batches and chains that begin inside this method, and in callbacks of such
    /// loads. A load that begins in a detached task or on a dispatch queue waits for the relogin unless its class has
    /// `isLoginRequest`. Do not wait for such a load here: both would wait for each other until `reloginTimeout` has passed,
    /// which the error's reason explains.
    ///
    /// A request that is made inside this method, and names neither a service nor a proxy, uses those of the loads that need the
    /// login, so that credentials are sent only to their own backend. One that was made before has a proxy already. After a change
    /// of the account, the loads that begin inside this method go on with the cookies of the old one, which are no longer those of
    /// ``APIProxy/cookies``; after a logout, they begin without cookies, and share what they receive with each other alone.
    ///
    /// The task is cancelled after `reloginTimeout` and by ``APIProxy/logout(from:)``. The result is then ignored, but stored
    /// credentials would still be used: check `Task.isCancelled` before storing them.
    ///
    /// If the user signs in meanwhile with an `isLoginRequest` request that begins outside this method, a failure of this method
    /// is ignored, and the waiting loads are sent again.
    ///
    /// Throwing an error ends the session: every waiting load fails with `loginExpired`, with the thrown error as its underlying
    /// error. An error that shows only that the login server is unavailable does not end the session: after an ``APIError`` with
    /// the type `noNetwork`, `timeout`, `transport` or `security`, or with a status 5xx, 408, 425, 426 or 429, the waiting loads
    /// fail with that type, and the next refused load calls this method again. To keep the session after an error of another
    /// library, throw such an `APIError`. A relogin that exceeds ``APIService/reloginTimeout`` does not end the session either: the
    /// waiting loads fail with `timeout`. A request inside this method does not wait for a network, nor for a `Retry-After` longer
    /// than a quarter of that time.
    func relogin() async throws

    /// The date from which the login is renewed before the next request is sent, usually shortly before the login expires; `nil`,
    /// the default, never renews it in advance.
    ///
    /// Read when a load begins, before a renewal, and after each ``relogin()`` that has succeeded. When the clock of the proxy has
    /// reached this date, the next request starts a relogin; that request and all that begin meanwhile wait for the relogin before
    /// they are sent. If the relogin fails, the waiting requests are sent with the old login, which remains in use until the
    /// service refuses it. But if the service refuses a load while the relogin runs, a failure is treated like that of any other
    /// relogin. Each date starts one relogin; a date that has already passed when a relogin begins or returns starts no other.
    var loginRenewalDate: Date? { get }

    /// Called when the session has expired and could not be renewed, before the loads that wait for the relogin fail.
    ///
    /// Show the sign-in screen here. Called once for each session, however often a relogin fails; called again only after a relogin
    /// or a login request has succeeded or the account has changed. Not called when a load is refused again after a successful
    /// relogin, because other loads may succeed with the new login: only the refused load fails with `loginExpired`. If loads are
    /// still refused after 5 relogins in 30 s that have not helped, or after 30 in all, the session counts as expired. Does nothing
    /// by default.
    func sessionDidExpire(_ error: APIError)
}

extension ReloginHandler {
    /// Returns `nil`: the login is not renewed before it expires.
    public var loginRenewalDate: Date? { nil }

    /// Does nothing.
    public func sessionDidExpire(_ error: APIError) {}
}
