/// What a customer signs in with.
struct Credentials: Encodable, Sendable {
    let account: String
    let password: String
}

extension Credentials {
    /// A customer that the shop's data knows.
    static let demo = Credentials(account: "lin", password: "errand-1")
}
