/// Which redirects are followed (RFC 9110 section 15.4).
///
/// If the policy refuses a redirect, or if `Location` is empty or only a fragment, the redirect is the response of the request,
/// with its status and its `Location`.
///
/// If the number of redirects exceeds the limit, the request fails with ``TransportError/Kind/badResponse``. A redirect to a URL
/// that was already requested with the same method and body fails in the same way at once, because the server would redirect it
/// again; but a `GET`, `HEAD` or `OPTIONS` is sent again if its cookies have changed, as after a login.
///
/// Whatever the policy, a redirect from `https` to `http`, or one that would send a body to another origin, fails with
/// ``TransportError/Kind/security``, and another origin receives no secret header.
public struct RedirectPolicy: Sendable {
    package typealias Decision = @Sendable (_ response: HTTPResponse, _ next: HTTPRequest) -> Bool

    let limit: Int
    let isFollowing: Bool
    let decision: Decision?

    private init(limit: Int, isFollowing: Bool = true, decision: Decision? = nil) {
        self.limit = max(0, limit)
        self.isFollowing = isFollowing
        self.decision = decision
    }

    /// Follows at most 20 redirects; the default.
    public static let follow = follow(limit: 20)

    /// Follows no redirect.
    public static let refuse = RedirectPolicy(limit: 0, isFollowing: false)

    /// Follows at most `limit` redirects; with 0, the first redirect fails the request, whereas ``refuse`` returns it as the
    /// response.
    public static func follow(limit: Int) -> RedirectPolicy { RedirectPolicy(limit: limit) }

    /// `decision` is called once for each redirect that may be followed, on any thread; it must not block.
    package static func decide(limit: Int = 20, _ decision: @escaping Decision) -> RedirectPolicy {
        RedirectPolicy(limit: limit, decision: decision)
    }
}
