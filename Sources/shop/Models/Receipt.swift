/// The receipt of a payment.
struct Receipt: Decodable, Sendable {
    let order: Int
    let amount: String
    let receipt: String
}
