import Errand
import ErrandSigning
import Foundation

extension APIService {
    /// The shop's API for payments, whose bodies are sealed.
    static func wallet(at baseURL: URL, keys: WalletKeys) -> APIService {
        var service = APIService(baseURL: baseURL)
        service.seal(with: TrafficSealing(cipher: .aesGCM, keyExchange: keys, expiredCodes: [41_001]))
        return service
    }
}
