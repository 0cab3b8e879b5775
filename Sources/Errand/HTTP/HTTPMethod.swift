/// A request method (RFC 9110 section 9).
public struct HTTPMethod: RawRepresentable, Hashable, Sendable {
    /// The method's token, which is case-sensitive.
    public let rawValue: String

    /// Creates a method from its token, which is validated before the request is sent.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Reads a resource.
    public static let get = HTTPMethod(rawValue: "GET")
    /// Reads only the headers of a resource.
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// Sends a body to a resource.
    public static let post = HTTPMethod(rawValue: "POST")
    /// Replaces a resource.
    public static let put = HTTPMethod(rawValue: "PUT")
    /// Changes a resource in part (RFC 5789).
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// Removes a resource.
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// Requests the methods that a resource supports.
    public static let options = HTTPMethod(rawValue: "OPTIONS")

    /// Whether it changes nothing on the server (RFC 9110 section 9.2.1).
    var isSafe: Bool { [.get, .head, .options, Self(rawValue: "TRACE")].contains(self) }

    /// RFC 9110 section 9.2.2.
    package var isIdempotent: Bool { isSafe || self == .put || self == .delete }

    var encodesParamsInQuery: Bool {
        [.get, .head, .delete].contains(self)
    }
}

extension HTTPMethod: CustomStringConvertible {
    /// The method's token.
    public var description: String { rawValue }
}
