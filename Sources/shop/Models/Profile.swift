/// Who is signed in.
struct Profile: Decodable, Sendable {
    let account: String
    let nickname: String
}
