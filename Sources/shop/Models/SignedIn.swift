/// The shop's response to a sign-in.
struct SignedIn: Decodable, Sendable {
    let token: String
    let nickname: String
}
