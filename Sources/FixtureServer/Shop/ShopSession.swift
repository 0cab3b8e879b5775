/// How the shop responds to a call whose session has expired.
package enum SessionExpiryStyle: String, Sendable {
    /// HTTP status 401.
    case http
    /// HTTP status 200 and `errcode` 11010.
    case envelope
}

/// One session, identified by a cookie or a token.
struct ShopSession: Sendable {
    let id = randomName()
    let token = randomName()
    let account: String
    /// The number of calls until the session expires; `nil` is unlimited.
    var callsLeft: Int?
    /// How the shop responds after the session has expired.
    var style = SessionExpiryStyle.http
    /// The number of orders that were placed in the session; no other session includes them.
    var placedOrders = 0
    /// The number of pages of orders until one fails; `nil` is unlimited.
    var pagesLeft: Int?

    init(account: String) {
        self.account = account
    }
}

/// Returns a name that is not used twice and cannot be guessed.
func randomName() -> String {
    String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
}

/// The session's cookies and the token of a request.
struct ShopCredentials {
    private let ids: [String]
    private let token: String?

    init(_ request: RecordedRequest) {
        ids = request.cookies.filter { $0.name == "sid" }.map(\.value)
        token = request.header("X-Token")
    }

    /// Returns whether the credentials are those of `session`.
    func fit(_ session: ShopSession) -> Bool {
        ids.contains(session.id) || token == session.token
    }
}
