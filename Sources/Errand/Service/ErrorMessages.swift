/// The texts that a service shows for errors, in the user's language.
///
/// For one error the first of these counts: what ``localize`` returns, the text for its server code, the server's own
/// message, the text for its status, the text for its type, the library's English text. Servers write their message about an
/// expired login for developers: for `loginExpired` it counts after the app's texts for the status and the type. An error that an
/// app creates with a message keeps that message.
public struct ErrorMessages: Sendable {
    /// Texts by the server's business code, a number, a string or a Boolean.
    public var byCode: [ServerCode: String]
    /// Texts by HTTP status.
    public var byStatus: [Int: String]
    /// Texts by the type of the error.
    public var byType: [APIErrorType: String]
    /// Returns the text for an error, for instance from a string catalogue; `nil` for the usual one.
    ///
    /// The error has the usual text as its message. Called once for each load that fails, and for the error of
    /// ``ReloginHandler/sessionDidExpire(_:)``; on any thread.
    public var localize: (@Sendable (APIError) -> String?)?

    /// Creates texts; what is not given stays the server's or the library's.
    public init(
        byCode: [ServerCode: String] = [:],
        byStatus: [Int: String] = [:],
        byType: [APIErrorType: String] = [:],
        localize: (@Sendable (APIError) -> String?)? = nil
    ) {
        (self.byCode, self.byStatus, self.byType, self.localize) = (byCode, byStatus, byType, localize)
    }

    func message(for type: APIErrorType, status: Int?, code: ServerCode?, server: String?, standard: String) -> String {
        // Some servers send an empty message along; a blank alert is of no use.
        let server = server.flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
        if let text = code.flatMap({ byCode[$0] }) { return text }
        let own = status.flatMap { byStatus[$0] } ?? byType[type]
        return (type == .loginExpired ? own ?? server : server ?? own) ?? standard
    }
}
