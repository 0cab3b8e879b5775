/// The shop's part of a session key.
struct WalletKey: Decodable, Sendable {
    let id: String
    let nonce: String
}
