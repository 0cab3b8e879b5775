/// The credentials of a customer.
struct Credentials: Encodable, Sendable {
    let account: String
    let password: String
}

extension Credentials {
    /// The credentials of a customer in the shop's data.
    static let demo = Credentials(account: "lin", password: "errand-1")
}
