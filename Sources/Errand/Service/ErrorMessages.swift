/// The texts that a service shows for errors, in the user's language.
///
/// The text of an error is the first of these that exists: the text that ``localize`` returns, the text for its server code, the
/// server's own message, the text for its status, the text for its type, and the library's English text. For `loginExpired`, the
/// server's message comes after the texts for the status and the type, because servers usually write it for developers. An error
/// that an app creates with a message keeps that message.
public struct ErrorMessages: Sendable {
    /// Texts by the server's business code, a number, a string or a Boolean.
    public var byCode: [ServerCode: String]
    /// Texts by HTTP status.
    public var byStatus: [Int: String]
    /// Texts by the type of the error.
    public var byType: [APIErrorType: String]
    /// Returns the text for an error, for instance from a string catalogue, or `nil` to use the text that is chosen without this
    /// closure.
    ///
    /// The message of the error is the text that is chosen without this closure. Called on any thread, for each load that fails or
    /// is cancelled, unless an app has given the error a message, for each failure that ``Adapters/failure`` or
    /// ``RetryPolicy/decide`` sees, and for the error of ``ReloginHandler/sessionDidExpire(_:)``.
    public var localize: (@Sendable (APIError) -> String?)?

    /// Creates texts; for errors without a given text, the server's or the library's text is used.
    public init(
        byCode: [ServerCode: String] = [:],
        byStatus: [Int: String] = [:],
        byType: [APIErrorType: String] = [:],
        localize: (@Sendable (APIError) -> String?)? = nil
    ) {
        (self.byCode, self.byStatus, self.byType, self.localize) = (byCode, byStatus, byType, localize)
    }

    func text(for error: APIError, server: String?) -> String {
        // Some servers send an empty message along; a blank alert is of no use.
        let server = server.flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
        if let text = error.code.flatMap({ byCode[$0] }) { return text }
        let own = error.status.flatMap { byStatus[$0] } ?? byType[error.type]
        return (error.type == .loginExpired ? own ?? server : server ?? own) ?? error.message
    }
}
