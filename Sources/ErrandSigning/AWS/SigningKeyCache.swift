import Errand
import Foundation

/// The key of the last day for which a request was signed: four authentication codes that all requests of a day share.
///
/// It is that of one ``AWSSignature`` and its copies, whose region and service do not change.
final class SigningKeyCache: Sendable {
    private struct Entry: Sendable {
        let secret: String
        let day: Int
        let scope: String
        let key: [UInt8]
    }

    private let entry = Lock<Entry?>(nil)

    /// Returns the scope of a moment, and its key.
    func scope(
        at date: Date,
        of signature: AWSSignature,
        secret: String
    ) throws(SigningError) -> (scope: CredentialScope, key: [UInt8]) {
        let day = CredentialScope.day(of: date)
        let known = entry.withLock { $0 }
        if let known, known.day == day, known.secret.utf8.elementsEqual(secret.utf8) {
            return (CredentialScope(date, text: known.scope), known.key)
        }
        let scope = CredentialScope(date, region: signature.region, service: signature.service)
        var key = Array("AWS4\(secret)".utf8)
        for text in [String(scope.day), signature.region, signature.service, "aws4_request"] {
            key = try HMAC.sha256(of: Array(text.utf8), key: key)
        }
        let new = Entry(secret: secret, day: day, scope: scope.text, key: key)
        entry.withLock { entry in
            let old = entry
            entry = new
            return old
        }
        return (scope, key)
    }
}

extension SigningKeyCache: CustomReflectable {
    /// Nothing, because `dump` prints the key and the secret otherwise.
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
