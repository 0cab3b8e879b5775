import Errand
import ErrandSigning
import FixtureServer
import Foundation
import Synchronization

/// Agrees with the shop on session keys, which both derive from a secret that they share.
final class WalletKeys: KeyExchange {
    private let proxy: APIProxy
    private let latest = Mutex<String?>(nil)

    /// Creates an exchange whose requests are sent by `proxy`.
    init(proxy: APIProxy) {
        self.proxy = proxy
    }

    /// The ID of the latest key.
    var latestID: String? { latest.withLock { $0 } }

    func sessionKey() async throws -> SessionKey {
        let nonce = UUID().uuidString
        let response = try await WalletKeyRequest(proxy: proxy).value(params: ["nonce": nonce])
        let bytes = SHA256.hmac(of: "\(nonce)|\(response.nonce)".utf8, key: ShopSessionKey.secret.utf8)
        latest.withLock { $0 = response.id }
        return SessionKey(id: response.id, bytes: Data(bytes))
    }
}
