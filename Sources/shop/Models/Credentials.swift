/// What a customer signs in with.
struct Credentials: Encodable, Sendable {
    let account: String
    let password: String
}
