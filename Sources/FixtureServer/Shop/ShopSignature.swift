import Foundation

/// The signature of a call's parameters, as many partners of a shop compute it.
///
/// Among the parameters are `timestamp`, the seconds since 1970; `nonce`, a text that no other call has; and `sign`, the
/// HMAC-SHA-256 in hexadecimal of all the others as `name=value`, sorted by name and joined by `&`.
package struct ShopSignature: Sendable {
    /// The key of the signatures.
    package static let secret = "partner-secret-1"
    /// How far a timestamp may be from the server's clock, in seconds.
    static let tolerance = 300

    let timestamp: Int
    let nonce: String

    /// Verifies the signature and the timestamp of a call; the nonce must be checked by ``ShopStore/use(_:)``.
    ///
    /// - Throws: ``ShopRefusal``.
    init(_ inputs: ShopInputs) throws(ShopRefusal) {
        guard let nonce = inputs["nonce"], !nonce.isEmpty, inputs["sign"] == Self.signature(of: inputs) else {
            throw .wrongSignature
        }
        self.nonce = nonce
        timestamp = try inputs.integer("timestamp", in: 0...Int.max)
        guard abs(timestamp - time(nil)) <= Self.tolerance else { throw .staleTimestamp }
    }

    private static func signature(of inputs: ShopInputs) -> String {
        let signed = inputs.values.filter { $0.key != "sign" }.sorted { $0.key < $1.key }
        let text = signed.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
        return SHA256.hexadecimal(SHA256.hmac(of: text.utf8, key: secret.utf8))
    }
}
