/// The shop's answer to a sign-in.
struct SignedIn: Decodable, Sendable {
    let token: String
    let nickname: String
}
