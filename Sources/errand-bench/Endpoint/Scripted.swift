import Errand
import ErrandTesting
import Foundation

/// The endpoint without a network, so that only the cost of the layer is measured.
enum Scripted {
    /// The service of the scripted endpoint.
    static let service: APIService = {
        guard let url = URL(string: "http://shop.test") else { preconditionFailure("a literal is a URL") }
        return APIService(baseURL: url)
    }()

    /// The list of goods.
    static let goods = HTTPResponse(
        status: 200,
        headers: ["Content-Type": "application/json"],
        body: Data(Goods.responseBytes)
    )

    /// A small response, whose decoding costs almost nothing.
    static let nothing = HTTPResponse.json(#"{"errcode":200}"#)
}

/// A request whose response has no data.
final class NothingRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/nothing"
    let method = HTTPMethod.get
}
