/// A request method (RFC 9110 section 9).
public struct HTTPMethod: RawRepresentable, Hashable, Sendable {
    /// The method's token as it stands on the request line; case matters.
    public let rawValue: String

    /// Creates a method from its token, which is checked before the request is sent.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Reads a resource.
    public static let get = HTTPMethod(rawValue: "GET")
    /// Reads a resource's headers alone.
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// Hands a body to a resource.
    public static let post = HTTPMethod(rawValue: "POST")
    /// Replaces a resource.
    public static let put = HTTPMethod(rawValue: "PUT")
    /// Changes a resource in part (RFC 5789).
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// Removes a resource.
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// Asks what a resource allows.
    public static let options = HTTPMethod(rawValue: "OPTIONS")

    /// Whether sending it twice has the effect of sending it once (RFC 9110 section 9.2.2).
    public var isIdempotent: Bool {
        [.get, .head, .put, .delete, .options].contains(self)
    }

    /// Whether parameters go to the query (`GET`, `HEAD`, `DELETE`) rather than to the body.
    public var encodesParamsInQuery: Bool {
        [.get, .head, .delete].contains(self)
    }
}

extension HTTPMethod: CustomStringConvertible {
    /// The method's token.
    public var description: String { rawValue }
}
