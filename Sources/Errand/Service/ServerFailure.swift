/// What a ``FailureReader`` finds in a response.
///
/// Its description contains no text of the server other than a code that is a plain identifier.
public struct ServerFailure: Sendable {
    /// The business code.
    public var code: ServerCode?
    /// The message that is meant for the user; see ``ErrorMessages`` for what is shown.
    public var message: String?
    /// The messages for the fields of a form, by the name of the field; a nested one is `address.street` or `items.0.name`.
    public var fieldMessages: [String: [String]]
    /// The type of the error, such as `loginExpired`, which starts a relogin; `nil` for what follows from status and code.
    ///
    /// `cancelled` is like `nil`.
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
