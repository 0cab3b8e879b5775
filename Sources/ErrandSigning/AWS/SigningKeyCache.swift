import Errand
import Foundation
import Synchronization

/// The key of the last day for which a request was signed: four authentication codes that all requests of a day share.
final class SigningKeyCache: Sendable {
    private struct Entry: Sendable {
        let secret: String
        let scope: String
        let key: [UInt8]
    }

    private let entry = Mutex<Entry?>(nil)

    /// Returns the key for a scope.
    func key(for scope: CredentialScope, of signature: AWSSignature, secret: String) throws(SigningError) -> [UInt8] {
        let known = entry.withLock { $0 }
        if let known, known.scope == scope.text, known.secret == secret { return known.key }
        var key = Array("AWS4\(secret)".utf8)
        for text in [String(scope.day), signature.region, signature.service, "aws4_request"] {
            key = try HMAC.sha256(of: Array(text.utf8), key: key)
        }
        let new = Entry(secret: secret, scope: scope.text, key: key)
        entry.take { entry in
            let old = entry
            entry = new
            return old
        }
        return key
    }
}

extension SigningKeyCache: CustomReflectable {
    /// Nothing, because `dump` prints the key and the secret otherwise.
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
