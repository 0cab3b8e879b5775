/// The texts that a service shows for errors, in the user's language.
///
/// For one error the first of these counts: the text for its server code, the server's own message, the text for its
/// type, the library's English text.
public struct ErrorMessages: Sendable {
    /// Texts by the server's business code.
    public var byCode: [Int: String]
    /// Texts by the type of the error.
    public var byType: [APIErrorType: String]

    /// Creates texts; what is not given stays the server's or the library's.
    public init(byCode: [Int: String] = [:], byType: [APIErrorType: String] = [:]) {
        self.byCode = byCode
        self.byType = byType
    }

    func message(for type: APIErrorType, code: Int?, server: String?) -> String {
        // Some servers send an empty message along; a blank alert is of no use.
        let server = server.flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
        return code.flatMap { byCode[$0] } ?? server ?? byType[type] ?? type.message
    }
}

extension APIErrorType {
    var message: String {
        switch self {
        case .invalidRequest: "The request could not be made."
        case .noNetwork: "There is no network connection."
        case .timeout: "The server took too long to answer."
        case .loginExpired: "Please sign in again."
        case .server: "The server refused the request."
        case .http: "The server could not handle the request."
        case .invalidAnswer: "There is nothing to show."
        case .decoding: "The server's answer could not be understood."
        case .responseTooLarge: "The server's answer is too large."
        case .security: "The connection is not secure."
        case .storage: "A file could not be saved or read on this device."
        case .transport: "The connection to the server failed."
        case .cancelled: "The request was cancelled."
        }
    }
}
