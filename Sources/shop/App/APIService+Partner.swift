import Errand
import ErrandSigning
import FixtureServer
import Foundation

extension APIService {
    /// The shop's API for partners, who sign their requests; the server's date may correct the clock of the device.
    static func partner(at baseURL: URL, correctsClock: Bool) -> APIService {
        var signing = ParamSigning(secret: ShopSignature.secret, algorithm: .hmacSHA256, into: .parameter("sign"))
        if correctsClock { signing.clockCorrection = .onCodes([40_002]) }
        var service = APIService(baseURL: baseURL)
        service.sign(with: signing)
        return service
    }
}
