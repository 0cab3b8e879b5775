import Errand
import ErrandSigning
import Foundation

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
