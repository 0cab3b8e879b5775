/// The reason why a request could not be signed or sealed, or a response could not be verified or opened.
///
/// The error contains no key, no nonce and nothing of a body, so it is safe to log. A load that fails because of it ends with an
/// `APIError` whose `underlying` is this error.
public struct SigningError: Error, Sendable, Hashable {
    /// What kind of failure it is.
    public enum Kind: String, Sendable, CaseIterable {
        /// The cryptographic library of the platform is missing, too old, or does not have the algorithm.
        ///
        /// Only on Linux, where libcrypto of OpenSSL 1.1.1 or later is required; ``SigningError/reason`` names what was
        /// searched for.
        case libraryUnavailable
        /// A key has a length that the algorithm does not accept.
        case invalidKey
        /// A nonce has a length that the algorithm or the platform does not accept.
        case invalidNonce
        /// A tag or a signature does not match the received data, which was changed on the way, or created with another key.
        case notAuthentic
        /// A sealed body is not in the documented format.
        case malformedBody
        /// A response is not sealed although it must be.
        case notSealed
        /// A request cannot be signed or sealed, for example because its body is a stream.
        case unsupportedRequest
        /// A signature, a key or a timestamp is too old.
        case stale
        /// The exchange of a session key has failed.
        case keyExchangeFailed
        /// The cryptographic library has reported another failure.
        case libraryFailed
    }

    /// What kind of failure it is.
    public let kind: Kind
    /// What happened, for the developer; free of secrets.
    public let reason: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - kind: What kind of failure it is.
    ///   - reason: What happened, for the developer; free of secrets.
    public init(_ kind: Kind, reason: String) {
        self.kind = kind
        self.reason = reason
    }
}

extension SigningError: CustomStringConvertible {
    /// The kind and the reason.
    public var description: String { "\(kind.rawValue): \(reason)" }
}
