/// Why a `Set-Cookie` was not stored (RFC 6265bis sections 5.6 and 5.7).
public enum CookieRefusal: Error, Sendable, Equatable {
    /// The URL is not `http` or `https`, or has no host.
    case unsupportedURL
    /// A control character other than TAB stands in the line.
    case controlCharacter
    /// Neither a name nor a value.
    case empty
    /// Name and value are longer than 4,096 bytes together.
    case tooLong
    /// The `Domain` is neither the host of the request nor above it.
    case foreignDomain
    /// The `Domain` is one under which anybody may register a name.
    case publicSuffix
    /// A `Secure` cookie over a connection that is not.
    case insecureConnection
    /// An insecure cookie that would stand before a secure one of the same name.
    case shadowsSecureCookie
    /// `SameSite=None` without `Secure`.
    case sameSiteNoneWithoutSecure
    /// A name that begins with `__Secure-` or `__Host-` without what that promises.
    case prefix
    /// The jar was cleared after the request was sent.
    case cleared
}
