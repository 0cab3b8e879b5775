import Errand
import ErrandSigning
import Foundation

extension APIService {
    /// The shop's API for payments, whose bodies are sealed.
    static func wallet(at baseURL: URL, keys: WalletKeys, _ line: StartingLine) -> APIService {
        var service = APIService(baseURL: baseURL)
        service.seal(with: TrafficSealing(cipher: .aesGCM, keyExchange: keys, expiredCodes: [41_001]))
        service.requestAdapters.append(line)
        return service
    }
}
