import Errand
import ErrandTesting
import Foundation

/// The endpoint without a network: what is left is the layer's own cost.
enum Scripted {
    /// The backend.
    static let service: APIService = {
        guard let url = URL(string: "http://shop.test") else { preconditionFailure("a literal is a URL") }
        return APIService(baseURL: url)
    }()

    /// The list of goods.
    static let goods = HTTPResponse(
        status: 200,
        headers: ["Content-Type": "application/json"],
        body: Data(Goods.answerBytes)
    )

    /// A small answer, whose decoding costs next to nothing.
    static let nothing = HTTPResponse.json(#"{"errcode":200}"#)
}

/// A request whose answer says nothing.
final class NothingRequest: BaseAPIRequest, APIManager {
    typealias Response = Void
    let path = "/nothing"
    let method = HTTPMethod.get
}
