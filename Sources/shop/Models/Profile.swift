/// The profile of the signed-in customer.
struct Profile: Decodable, Sendable {
    let account: String
    let nickname: String
}
