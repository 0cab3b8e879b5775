/// A key for sealed calls, which both sides derive from a secret that they share and from two nonces.
package struct ShopSessionKey: Sendable {
    /// The secret that the shop and its apps share.
    package static let secret = "wallet-secret-1"
    /// How long a key is accepted.
    static let lifetime = Duration.seconds(3_600)

    let id = randomName()
    let nonce = randomName()
    /// The 32 bytes of the key.
    let bytes: [UInt8]
    let expiry = ContinuousClock.now + lifetime

    /// Creates a key for the app that has sent this nonce.
    init(clientNonce: String) {
        bytes = SHA256.hmac(of: "\(clientNonce)|\(nonce)".utf8, key: Self.secret.utf8)
    }
}
