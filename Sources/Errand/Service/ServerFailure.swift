/// The failure that a ``FailureReader`` finds in a response.
///
/// The description contains no text of the server except a code that is a plain identifier.
public struct ServerFailure: Sendable {
    /// The business code.
    public var code: ServerCode?
    /// The message for the user; ``ErrorMessages`` decides which text is shown.
    public var message: String?
    /// The messages for the fields of a form, by the name of the field; a nested one is `address.street` or `items.0.name`.
    public var fieldMessages: [String: [String]]
    /// The type of the error, such as `loginExpired`, which starts a relogin; `nil` derives the type from status and code.
    ///
    /// `cancelled` has the same effect as `nil`.
    public var type: APIErrorType?

    /// Creates a failure.
    public init(
        code: ServerCode? = nil,
        message: String? = nil,
        fieldMessages: [String: [String]] = [:],
        type: APIErrorType? = nil
    ) {
        self.code = code
        self.message = message
        self.fieldMessages = fieldMessages
        self.type = type
    }

    var isEmpty: Bool { code == nil && message == nil && fieldMessages.isEmpty && type == nil }
}

extension ServerFailure: RedactedDescription {
    /// The type and the code, `*` if that is not a plain identifier.
    public var description: String {
        (["ServerFailure"] + [type?.rawValue, code.map { "code \($0)" }].compactMap { $0 }).joined(separator: ", ")
    }
}
