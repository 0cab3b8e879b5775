import Errand
import ErrandSigning
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

/// The session keys of the scripted endpoint, and its side of sealed traffic.
struct ScriptedKeys: KeyExchange {
    private static let bytes = Data((0..<32).map { UInt8($0) })

    func sessionKey() async throws -> SessionKey { Self.key("1") }

    /// Returns the key with this name; all have the same bytes.
    static func key(_ id: String) -> SessionKey { SessionKey(id: id, bytes: bytes) }

    /// Returns the list of goods, sealed as the response to a request.
    static func goods(for request: HTTPRequest) throws -> HTTPResponse {
        let id = request.headers["X-Key-ID"] ?? ""
        let nonce = request.headers["X-Sealed-Nonce"] ?? ""
        let type = "application/json"
        let lines = "response\n\(request.method.rawValue)\n\(request.url.path)\n\(id)\n\(nonce)\n\(type)\n200"
        let body = try SealingCipher.aesGCM.seal(
            Data(Goods.responseBytes),
            key: bytes,
            nonce: Data(count: SealingCipher.nonceCount),
            authenticating: Data(lines.utf8)
        )
        let headers: HTTPHeaders = ["Content-Type": "application/x-sealed", "X-Sealed-Content-Type": type]
        return HTTPResponse(status: 200, headers: headers, body: body)
    }
}
