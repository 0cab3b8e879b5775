public import Errand

/// The credentials with which requests are signed by ``AWSSignature``.
///
/// Its description and its mirror contain the access key's ID, and whether there is a session token.
public struct AWSCredentials: Sendable, Hashable {
    /// The ID of the access key, which is sent with each request and is no secret.
    public let accessKeyID: String
    /// The secret access key, which is never sent.
    public let secretAccessKey: String
    /// The token of temporary credentials, sent as `X-Amz-Security-Token`; `nil` for those of a user.
    public let sessionToken: String?

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - accessKeyID: The ID of the access key.
    ///   - secretAccessKey: The secret access key.
    ///   - sessionToken: The token of temporary credentials; `nil`, the default, for those of a user.
    public init(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
    }
}

extension AWSCredentials: RedactedDescription {
    /// The ID of the access key, and whether there is a session token.
    public var description: String {
        "AWSCredentials(\(accessKeyID)\(sessionToken == nil ? "" : ", with a session token"))"
    }
}
