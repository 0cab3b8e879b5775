import Errand

/// Exchanges a session key.
final class WalletKeyRequest: BaseAPIRequest, APIManager {
    typealias Response = WalletKey
    let path = "/wallet/keys"
    let method = HTTPMethod.post
}
