/// How the shop says that a session is over.
package enum SessionExpiryStyle: String, Sendable {
    /// HTTP status 401.
    case http
    /// HTTP status 200 and `errcode` 11010.
    case envelope
}

/// One sign-in, known by a cookie or by a token.
struct ShopSession: Sendable {
    let id = randomName()
    let token = randomName()
    let account: String
    /// How many more calls it is good for; `nil` is any number.
    var callsLeft: Int?
    /// How its end is told.
    var style = SessionExpiryStyle.http
    /// How many orders were placed in it; nobody else sees them.
    var placedOrders = 0
    /// How many more pages of orders it gets before one fails; `nil` is any number.
    var pagesLeft: Int?

    init(account: String) {
        self.account = account
    }

    private static func randomName() -> String {
        String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
    }
}

/// What a request shows to prove who it is.
struct ShopCredentials {
    private let ids: [String]
    private let token: String?

    init(_ request: RecordedRequest) {
        ids = request.cookies.filter { $0.name == "sid" }.map(\.value)
        token = request.header("X-Token")
    }

    /// Whether they are those of `session`.
    func fit(_ session: ShopSession) -> Bool {
        ids.contains(session.id) || token == session.token
    }
}
